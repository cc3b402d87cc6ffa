// SPDX-License-Identifier: MIT
// Copyright (c) 2026 Stepwise contributors

public import Foundation

/// The body of a request.
public enum HTTPTransferBody: Sendable {
  /// Returns the next piece of a body, or nil at its end; suspends until it is there.
  ///
  /// An error ends the transfer, which throws it as ``HTTPError/request(underlying:)``.
  public typealias Source = @Sendable () async throws -> Data?

  /// No body. A `POST`, `PUT` or `PATCH` says that its length is zero.
  case none

  /// Bytes in memory.
  case bytes(Data)

  /// The content of a file, which is read as it is sent. Its length is the file's when the transfer begins.
  case file(URL)

  /// Pieces that are pulled one after the other, each when the network has taken the one before.
  ///
  /// - Parameters:
  ///   - length: The number of bytes, if it is known; without one the body is sent in the protocol's own pieces. A source
  ///     that ends earlier fails the transfer, and what it returns beyond that is not sent.
  ///   - open: Begins at the first piece. It is called once for each time that the body is sent: again after a redirect that
  ///     takes the body along, or when a kept-alive connection turns out to be closed. A source that can be read once only
  ///     throws the second time.
  case chunks(length: Int64?, open: @Sendable () throws -> Source)
}
