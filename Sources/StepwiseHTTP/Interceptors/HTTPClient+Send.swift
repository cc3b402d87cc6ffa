// SPDX-License-Identifier: MIT
// Copyright (c) 2026 Stepwise contributors

import Foundation

/// A response that may be discarded for another attempt.
protocol RepeatableResponse {
  var status: Int { get }
  var headers: HTTPHeaders { get }

  /// Ends the request; its connection is reused where only a little of the body remains.
  nonisolated(nonsending) func discard() async
}

extension HTTPResponse: RepeatableResponse {
  nonisolated(nonsending) func discard() async {}
}

extension HTTPResponseStream: RepeatableResponse {
  nonisolated(nonsending) func discard() async { _ = try? await collected(upTo: Self.errorBody) }
}

extension HTTPClient {
  /// Sends a request through the interceptor, with its retries, and receives the response.
  nonisolated(nonsending) func response(
    to request: OutgoingRequest,
    deadlines: HTTPDeadlines
  ) async throws -> HTTPResponse {
    var response = try await repeating(request, deadlines) { request in
      guard interceptor != nil else { return try await session.response(to: request, deadlines: deadlines) }
      let response = try await intercepted(request, deadlines)
      return try await response.collected(upTo: request.bodyLimit ?? session.bodyLimit)
    }
    response.decoder = decoder
    return response
  }

  /// Sends a request through the interceptor, with its retries, and waits for the head of the response.
  nonisolated(nonsending) func open(
    _ request: OutgoingRequest,
    deadlines: HTTPDeadlines
  ) async throws -> HTTPResponseStream {
    try await repeating(request, deadlines) { try await intercepted($0, deadlines) }
  }

  private nonisolated(nonsending) func intercepted(
    _ request: OutgoingRequest,
    _ deadlines: HTTPDeadlines
  ) async throws -> HTTPResponseStream {
    guard let interceptor else { return try await session.open(request, deadlines: deadlines) }
    return try await interceptor(HTTPRequest(request)) { [session] changed in
      try await session.open(request.replaced(by: changed), deadlines: deadlines)
    }
  }

  private nonisolated(nonsending) func repeating<Response: RepeatableResponse>(
    _ request: OutgoingRequest,
    _ deadlines: HTTPDeadlines,
    _ attempt: nonisolated(nonsending) (OutgoingRequest) async throws -> Response
  ) async throws -> Response {
    guard let retry else { return try await attempt(request) }
    var schedule = RetrySchedule(retry, request)
    let stopwatch = Stopwatch(deadlines.clock)
    while true {
      let wait: Duration
      do {
        let response = try await attempt(schedule.request)
        let elapsed = stopwatch.elapsed()
        guard let found = schedule.wait(after: response.status, response.headers, elapsed: elapsed) else {
          return response
        }
        await response.discard()
        wait = found
      } catch {
        guard let found = schedule.wait(after: error, elapsed: stopwatch.elapsed()) else { throw error }
        wait = found
      }
      try await stopwatch.sleep(stopwatch.elapsed() + wait)
    }
  }
}
