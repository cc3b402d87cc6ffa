// SPDX-License-Identifier: MIT
// Copyright (c) 2026 Stepwise contributors

import Foundation
import StepwiseCheckpoints
import StepwiseHTTP

#if canImport(FoundationNetworking)
  import FoundationNetworking
#endif

/// An error of a download.
struct DownloadFailure: Error, CustomStringConvertible {
  /// The reason, in a few words.
  let reason: String
  /// Whether the same request may succeed later.
  let isWorthAnotherAttempt: Bool
  /// Whether there is nothing that a later download could resume.
  let leavesNothing: Bool

  private init(_ reason: String, isWorthAnotherAttempt: Bool = false, leavesNothing: Bool = false) {
    self.reason = reason
    self.isWorthAnotherAttempt = isWorthAnotherAttempt
    self.leavesNothing = leavesNothing
  }

  var description: String { reason }

  /// Returns the failure for a status other than 200 to 299.
  ///
  /// A GET may be repeated; these statuses indicate that a retry may help.
  static func status(_ status: Int) -> DownloadFailure {
    let words = HTTPURLResponse.localizedString(forStatusCode: status).lowercased()
    return DownloadFailure(
      "the server answered \(status) (\(words))",
      isWorthAnotherAttempt: [408, 425, 429, 500, 502, 503, 504].contains(status)
    )
  }

  /// Creates the failure for an error of a request.
  init(_ error: HTTPError) {
    switch error {
    case .offline, .timedOut, .connectionRefused, .connectionFailed, .connectionLost, .proxy, .protocolError:
      self.init("\(error)", isWorthAnotherAttempt: true)
    case .invalidURL: self.init("\(error)", leavesNothing: true)
    case .hostNotFound, .tls, .headersTooLarge, .bodyTooLarge, .tooManyRedirects, .refused: self.init("\(error)")
    case .checksumMismatch(_, let found): self = .wrongDigest(found)
    // An error of the file system is permanent for now; an error of the network may be temporary.
    case .request(let error as POSIXError): self.init("cannot write: \(FileError.words(for: error.code.rawValue))")
    case .request(let error): self.init(error.localizedDescription, isWorthAnotherAttempt: true)
    }
  }

  static func wrongDigest(_ found: String) -> DownloadFailure {
    DownloadFailure("its SHA-256 is \(found), which is not the one it has to have", leavesNothing: true)
  }

  /// Returns the failure for standard output that accepts no more.
  static func output(_ code: Int32) -> DownloadFailure {
    DownloadFailure("cannot write to standard output: \(FileError.words(for: code))")
  }

  /// Creates the failure for an error of a checkpoint.
  init(_ error: CheckpointError) {
    switch error {
    case .held(_, _, let process?): self.init("process \(process) is downloading it")
    case .held: self.init("another process is downloading it")
    default: self.init("\(error)")
    }
  }
}
