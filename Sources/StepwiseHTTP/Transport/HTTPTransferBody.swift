// SPDX-License-Identifier: MIT
// Copyright (c) 2026 Stepwise contributors

public import Foundation

/// The body of a request.
public enum HTTPTransferBody: Sendable {
  /// Returns the next piece of a body, or nil at its end; suspends until it is available.
  ///
  /// An error ends the transfer, which throws it as ``HTTPError/request(underlying:)``.
  public typealias Source = @Sendable () async throws -> Data?

  /// No body. A `POST`, `PUT` or `PATCH` declares a length of zero.
  case none

  /// Bytes in memory.
  case bytes(Data)

  /// The content of a file, which is read as it is sent. Its length is that of the file when the transfer starts.
  case file(URL)

  /// Pieces that are requested one after the other, each when the network has accepted the previous one.
  ///
  /// - Parameters:
  ///   - length: The number of bytes, if it is known; without it the body is sent in chunks. A source that ends earlier
  ///     fails the transfer; bytes beyond the length are not sent.
  ///   - open: Starts at the first piece; called each time the body is sent: also after a redirect that keeps the body,
  ///     or when a reused connection turns out to be closed. A source that can be read only once throws the second
  ///     time.
  case chunks(length: Int64?, open: @Sendable () throws -> Source)
}

extension HTTPTransferBody {
  var isNone: Bool {
    if case .none = self { true } else { false }
  }

  /// The number of bytes, if it is known.
  var length: Int64? {
    switch self {
    case .none: 0
    case .bytes(let data): Int64(data.count)
    case .file(let file): MultipartSource.length(of: file)
    case .chunks(let length, _): length
    }
  }
}
