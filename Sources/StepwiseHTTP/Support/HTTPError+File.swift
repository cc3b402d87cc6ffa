// SPDX-License-Identifier: MIT
// Copyright (c) 2026 Stepwise contributors

import Foundation
import StepwiseFiles

extension HTTPError {
  /// Creates the error of a file that cannot be used, with the system's error and without the path.
  init(_ failure: FileFailure) {
    self = .request(underlying: POSIXError(POSIXError.Code(rawValue: failure.code) ?? .EIO))
  }

  /// Runs calls on a file, whose errors become those of a request.
  static func naming<Value>(_ body: () throws(FileFailure) -> Value) throws(HTTPError) -> Value {
    do { return try body() } catch { throw HTTPError(error) }
  }
}
