// SPDX-License-Identifier: MIT
// Copyright (c) 2026 Stepwise contributors

import Foundation
import StepwiseCheckpoints
import StepwiseHTTP

#if canImport(FoundationNetworking)
  import FoundationNetworking
#endif

/// Why a file could not be downloaded.
struct DownloadFailure: Error, CustomStringConvertible {
  /// Why, in a few words.
  let reason: String
  /// Whether the same request may succeed later.
  let isWorthAnotherAttempt: Bool
  /// Whether there is nothing that a later download could go on from.
  let leavesNothing: Bool

  private init(_ reason: String, isWorthAnotherAttempt: Bool = false, leavesNothing: Bool = false) {
    self.reason = reason
    self.isWorthAnotherAttempt = isWorthAnotherAttempt
    self.leavesNothing = leavesNothing
  }

  var description: String { reason }

  /// What a status other than 200 to 299 means.
  ///
  /// A GET may be repeated; these statuses say that it may help.
  static func status(_ status: Int) -> DownloadFailure {
    let words = HTTPURLResponse.localizedString(forStatusCode: status).lowercased()
    return DownloadFailure(
      "the server answered \(status) (\(words))",
      isWorthAnotherAttempt: [408, 425, 429, 500, 502, 503, 504].contains(status)
    )
  }

  /// What an error of a request means.
  init(_ error: HTTPError) {
    switch error {
    case .offline, .timedOut, .connectionRefused, .connectionFailed, .connectionLost, .proxy, .protocolError:
      self.init("\(error)", isWorthAnotherAttempt: true)
    case .invalidURL: self.init("\(error)", leavesNothing: true)
    case .hostNotFound, .tls, .headersTooLarge, .bodyTooLarge, .tooManyRedirects, .refused: self.init("\(error)")
    case .checksumMismatch(_, let found): self = .wrongDigest(found)
    // What the file system says will not be another thing in a moment; what the network says may be.
    case .request(let error as POSIXError): self.init("cannot write: \(FileError.words(for: error.code.rawValue))")
    case .request(let error): self.init(error.localizedDescription, isWorthAnotherAttempt: true)
    }
  }

  static func wrongDigest(_ found: String) -> DownloadFailure {
    DownloadFailure("its SHA-256 is \(found), which is not the one it has to have", leavesNothing: true)
  }

  /// Standard output takes no more.
  static func output(_ code: Int32) -> DownloadFailure {
    DownloadFailure("cannot write to standard output: \(FileError.words(for: code))")
  }

  /// What an error of a checkpoint means.
  init(_ error: CheckpointError) {
    switch error {
    case .held(_, _, let process?): self.init("process \(process) is downloading it")
    case .held: self.init("another process is downloading it")
    default: self.init("\(error)")
    }
  }
}
