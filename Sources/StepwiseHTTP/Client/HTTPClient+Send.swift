// SPDX-License-Identifier: MIT
// Copyright (c) 2026 Stepwise contributors

import Foundation
import Stepwise

extension HTTPClient {
  /// Sends a request, and suspends until the whole response has arrived.
  ///
  /// What the request leaves open, such as its credentials and deadlines, is the client's.
  ///
  /// - Parameter request: The request. Its URL may be a path below the base URL, or an absolute URL. One of another
  ///   origin gets neither the client's headers nor its credentials.
  /// - Returns: The response, whatever its status.
  /// - Throws: ``HTTPError``; `CancellationError` when the task is cancelled. Never for a status.
  public nonisolated(nonsending) func send(_ request: HTTPRequest) async throws -> HTTPResponse {
    let limit = request.bodyLimit ?? session.bodyLimit
    return try await perform(prepared(request)) { response in try await response.collected(upTo: limit) }
  }

  /// Returns the request with what it leaves open, checked.
  func prepared(_ request: HTTPRequest) throws(HTTPError) -> HTTPRequest {
    var request = request
    if request.url.scheme == nil, hasBaseURL { request.url = try url(request.url.relativeString) }
    if isOwn(request.url) {
      if request.credentials == nil, request.headers["Authorization"] == nil { request.credentials = credentials }
      request.headers = headers.merging(request.headers)
    }
    request.deadlines = request.deadlines ?? deadlines
    request.redirects = request.redirects ?? redirects
    return try request.checked()
  }

  /// Sends a prepared request through the interceptors, as often as ``retry`` allows, and receives its response.
  ///
  /// - Parameters:
  ///   - request: The request.
  ///   - change: Returns the request of the next attempt.
  ///   - receive: Receives the response; its errors count as those of the attempt.
  /// - Returns: What `receive` has returned.
  /// - Throws: The error of the last attempt; `CancellationError`.
  nonisolated(nonsending) func perform<Value>(
    _ request: HTTPRequest,
    change: (HTTPRequest) -> HTTPRequest = { $0 },
    _ receive: nonisolated(nonsending) (HTTPResponseStream) async throws -> Value
  ) async throws -> Value {
    defer { request.upload?.close() }
    guard let retry else { return try await receive(open(change(request), interceptors[...])) }
    let request = retry.prepared(request)
    var attempts = Attempts(retry.effectivePolicy, clock: request.deadlines?.clock ?? ContinuousClock())
    repeat {
      do {
        let response = try await open(change(request), interceptors[...])
        let failure = HTTPStatusError(response: response.response(body: Data()))
        guard retry.statuses.contains(response.status),
          await attempts.allowAnother(after: failure, if: { error in retry.repeats(request, after: error) })
        else { return try await receive(response) }
        // The connection is reused where only a little of the body remains.
        _ = try? await response.collected(upTo: HTTPResponseStream.errorBody)
      } catch {
        guard await attempts.allowAnother(after: error, if: { error in retry.repeats(request, after: error) }) else {
          throw error
        }
      }
    } while await attempts.waitForNext()
    throw CancellationError()
  }

  /// Sends a request through the interceptors, the first one outermost, and waits for the head of the response.
  private nonisolated(nonsending) func open(
    _ request: HTTPRequest,
    _ interceptors: ArraySlice<HTTPInterceptor>
  ) async throws -> HTTPResponseStream {
    var response: HTTPResponseStream
    if let first = interceptors.first {
      response = try await first(request) { [self] changed in
        try await open(changed.completed(by: request), interceptors.dropFirst())
      }
    } else {
      response = try await session.open(self.interceptors.isEmpty ? request : request.checked())
    }
    response.coders = coders
    return response
  }
}

extension HTTPRequest {
  /// Returns the request with the rules of the one that an interceptor has received.
  fileprivate func completed(by request: HTTPRequest) -> HTTPRequest {
    var next = self
    next.deadlines = deadlines ?? request.deadlines
    next.redirects = redirects ?? request.redirects
    next.upload = upload ?? request.upload
    next.onFailure = onFailure ?? request.onFailure
    return next
  }
}

/// Sends a request, and suspends until the head of the response has arrived.
///
/// - Throws: ``HTTPError``; `CancellationError` when the Task is cancelled.
public typealias HTTPSend = @Sendable (HTTPRequest) async throws -> HTTPResponseStream

/// A closure around the requests of a client: it changes a request, sends it any number of times, and changes the
/// response.
///
/// ```swift
/// client.interceptor = { request, send in
///   var request = request
///   request.headers["X-Request-ID"] = UUID().uuidString
///   return try await send(request)
/// }
/// ```
///
/// Each call of `send` has the deadlines of the client's request and follows redirects; these do not pass through the
/// interceptor. Releasing a response without reading its body ends its request. <doc:Interceptors> has examples.
public typealias HTTPInterceptor =
  @Sendable (
    _ request: HTTPRequest, _ send: @escaping HTTPSend
  ) async throws -> HTTPResponseStream
