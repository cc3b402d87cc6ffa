// SPDX-License-Identifier: MIT
// Copyright (c) 2026 Stepwise contributors

import Foundation
import Loopback

#if canImport(FoundationNetworking)
  import FoundationNetworking
#endif

/// Talks to a server: through URLSession, and by bare bytes on a thread of its own.
enum LoopbackClient {
  private static let withoutProxy: Void = LoopbackServer.bypassProxy()

  /// A session that reaches the server directly.
  static let session: URLSession = {
    withoutProxy
    return URLSession(configuration: .ephemeral)
  }()

  /// Fetches with a GET through the callback API.
  static func fetch(_ address: String) async throws -> (body: [UInt8], response: HTTPURLResponse) {
    withoutProxy
    guard let url = URL(string: address) else { throw URLError(.badURL) }
    return try await withCheckedThrowingContinuation { continuation in
      let configuration = URLSessionConfiguration.ephemeral
      let session = URLSession(configuration: configuration)
      let task = session.dataTask(with: url) { data, response, error in
        if let error {
          continuation.resume(throwing: error)
        } else if let response = response as? HTTPURLResponse {
          continuation.resume(returning: ([UInt8](data ?? Data()), response))
        } else {
          continuation.resume(throwing: URLError(.badServerResponse))
        }
      }
      task.resume()
      session.finishTasksAndInvalidate()
    }
  }

  /// Sends bytes over one connection and gives what came back until its end; nil when there is no connection.
  static func exchange(_ text: String, port: UInt16, reading limit: Int = .max) async -> String? {
    await onThread {
      guard let socket = Socket.connected(port: port) else { return nil }
      defer { socket.close() }
      guard socket.send(Array(text.utf8)[...]) else { return nil }
      var received: [UInt8] = []
      while received.count < limit, let bytes = socket.receive() { received += bytes }
      return String(decoding: received, as: UTF8.self)
    }
  }

  /// Runs something that blocks away from the cooperative threads.
  static func onThread<Value: Sendable>(_ body: @escaping @Sendable () -> Value) async -> Value {
    await withCheckedContinuation { continuation in
      Thread.detachNewThread { continuation.resume(returning: body()) }
    }
  }
}
