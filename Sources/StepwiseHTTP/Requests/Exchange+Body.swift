// SPDX-License-Identifier: MIT
// Copyright (c) 2026 Stepwise contributors

import Foundation

extension Exchange {
  /// Receives the rest of the response.
  ///
  /// - Throws: ``HTTPError/bodyTooLarge(limit:)`` as soon as there is more than allowed; what `chunk()` throws.
  nonisolated(nonsending) func response(_ head: HTTPResponseHead) async throws -> HTTPResponse {
    let limit = bodyLimit
    var body = Data()
    while let piece = try await chunk() {
      guard piece.count <= limit - body.count else {
        let error = HTTPError.bodyTooLarge(limit: limit)
        stop(with: error)
        throw error
      }
      // One that is whole in its first piece is not copied.
      if body.isEmpty { body = piece } else { body.append(piece) }
    }
    return HTTPResponse(status: head.status, headers: head.headers, body: body, url: url)
  }
}
