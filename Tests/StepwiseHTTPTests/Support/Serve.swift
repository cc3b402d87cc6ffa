// SPDX-License-Identifier: MIT
// Copyright (c) 2026 Stepwise contributors

import Foundation
import Loopback
import Testing

@testable import StepwiseHTTP

typealias Reply = LoopbackServer.Reply
typealias Request = LoopbackServer.Request

let withoutProxy: Void = LoopbackServer.bypassProxy()

/// Starts a server on this machine that this process reaches directly.
func serve(_ handler: @escaping LoopbackServer.Handler) throws -> LoopbackServer {
  withoutProxy
  return try LoopbackServer(handler)
}

extension LoopbackServer {
  /// An address on the server.
  func url(_ path: String = "/") throws -> URL { try #require(URL(string: address + path)) }
}

/// Runs a body with a directory of its own.
func inFolder(_ body: (URL) async throws -> Void) async throws {
  let folder = FileManager.default.temporaryDirectory.appendingPathComponent("http-\(UUID().uuidString)")
  try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
  defer { try? FileManager.default.removeItem(at: folder) }
  try await body(folder)
}

/// The rounds of tests that need many: `STEPWISE_ROUNDS` in the environment, or 1,000.
let rounds = ProcessInfo.processInfo.environment["STEPWISE_ROUNDS"].flatMap(Int.init) ?? 1_000

/// A request as it is sent.
func checked(
  _ method: String,
  _ url: URL,
  _ query: HTTPParameters = [:],
  _ headers: HTTPHeaders = [:],
  _ body: HTTPBody? = nil,
  _ credentials: HTTPCredentials? = nil
) throws -> HTTPRequest {
  try HTTPRequest(method: method, url: url, query: query, headers: headers, body: body, credentials: credentials)
    .checked()
}
