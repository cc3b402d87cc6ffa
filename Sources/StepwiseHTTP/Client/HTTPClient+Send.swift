// SPDX-License-Identifier: MIT
// Copyright (c) 2026 Stepwise contributors

import Foundation
public import Stepwise

extension HTTPClient {
  /// Sends a request, and suspends until the whole response has arrived.
  ///
  /// What the request leaves open, such as its credentials and deadlines, is the client's.
  ///
  /// - Parameter request: The request. Its URL may be a path below the base URL, or an absolute URL. One of another
  ///   origin gets neither the client's headers nor its credentials.
  /// - Returns: The response, whatever its status.
  /// - Throws: ``HTTPError``; `CancellationError` when the task is cancelled. Never for a status.
  public func send(_ request: HTTPRequest) async throws -> HTTPResponse {
    let limit = request.bodyLimit ?? session.bodyLimit
    return try await perform(prepared(request)) { response in try await response.collected(upTo: limit) }
  }

  /// Returns the request with what it leaves open, checked.
  func prepared(_ request: HTTPRequest) throws(HTTPError) -> HTTPRequest {
    var request = request
    if origin != nil, request.url.scheme == nil { request.url = try url(request.url.relativeString) }
    if let origin, HTTPRequest.origin(of: request.url) == origin {
      if request.credentials == nil, request.headers["Authorization"] == nil { request.credentials = credentials }
      request.headers = headers.merging(request.headers)
    }
    request.deadlines = request.deadlines ?? deadlines
    request.redirects = request.redirects ?? redirects
    return try request.checked()
  }

  /// Sends a prepared request through the interceptors, as often as ``retry`` allows, and receives its response.
  ///
  /// `change` returns the request of the next attempt. Errors of `receive` count as those of the attempt.
  func perform<Value>(
    _ request: HTTPRequest,
    change: (HTTPRequest) -> HTTPRequest = { $0 },
    _ receive: (HTTPResponseStream) async throws -> Value
  ) async throws -> Value {
    defer { request.upload?.close() }
    guard let retry else { return try await receive(open(change(request), interceptors[...])) }
    let request = retry.prepared(request)
    var attempts = Attempts(retry.effectivePolicy, clock: request.deadlines?.clock ?? ContinuousClock())
    repeat {
      do {
        let response = try await open(change(request), interceptors[...])
        let failure = HTTPStatusError(response: response.response())
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
  private func open(
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
    response.decoder = ownDecoder
    return response
  }
}

extension HTTPRequest {
  /// Returns the request with the rules of the request that an interceptor has received.
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
public typealias HTTPSend = @concurrent @Sendable (HTTPRequest) async throws -> HTTPResponseStream

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
  @concurrent @Sendable (
    _ request: HTTPRequest, _ send: @escaping HTTPSend
  ) async throws -> HTTPResponseStream

/// Retries the failed requests of a client that are safe to send again.
///
/// Use it when your server is sometimes busy, or your user's connection breaks.
///
/// ```swift
/// client.retry = HTTPRetry()
/// ```
///
/// Only a request that may arrive twice is repeated: one whose method is idempotent (`GET`, `HEAD`,
/// `OPTIONS`, `PUT`, `DELETE`, `TRACE`), or one with the header `Idempotency-Key`. A request whose body can be read
/// once is not repeated. A request is repeated
///
/// - after one of ``statuses``, when the server's `Retry-After` has passed, or without one the policy's wait;
/// - when the connection was refused, could not be opened or was lost, and after each deadline but
///   `total`.
///
/// After the last attempt its response is returned, or its error is thrown. Cancellation ends the wait at once.
public struct HTTPRetry: Sendable {
  /// The number of attempts, and the wait between them.
  ///
  /// Waits are measured by the clock of the request's deadlines.
  public var policy: RetryPolicy

  /// The statuses after which a request is repeated.
  public var statuses: Set<Int>

  /// The maximum wait that a server may request; with a longer `Retry-After` its response is returned.
  public var longestWait: Duration

  /// A Boolean value that indicates whether requests that are not idempotent get an `Idempotency-Key`.
  ///
  /// All attempts have the same one. The server has to support it; otherwise it may process a request twice.
  public var addsIdempotencyKey: Bool

  /// Creates retry rules.
  public init(
    policy: RetryPolicy = RetryPolicy(
      maxAttempts: 4,
      backoff: .exponential(from: .milliseconds(250), cap: .seconds(10))
    ),
    statuses: Set<Int> = [429, 503],
    longestWait: Duration = .seconds(60),
    addsIdempotencyKey: Bool = false
  ) {
    self.policy = policy
    self.statuses = statuses
    self.longestWait = longestWait
    self.addsIdempotencyKey = addsIdempotencyKey
  }

  /// The policy, in which the server's `Retry-After` precedes the backoff.
  var effectivePolicy: RetryPolicy {
    var result = policy
    result.delay = { [own = policy.delay] error, attempt in
      (error as? HTTPStatusError)?.retryAfter ?? own?(error, attempt)
    }
    return result
  }

  /// Returns the request with a new key if it needs one.
  func prepared(_ request: HTTPRequest) -> HTTPRequest {
    var request = request
    if addsIdempotencyKey, !request.isIdempotent { request.headers["Idempotency-Key"] = UUID().uuidString }
    return request
  }

  /// Returns whether a request is sent again after an error.
  func repeats(_ request: HTTPRequest, after error: any Error) -> Bool {
    guard request.isIdempotent, request.body?.isRepeatable ?? true else { return false }
    if let error = error as? HTTPStatusError { return (error.retryAfter ?? .zero) <= longestWait }
    switch error as? HTTPError {
    case .connectionRefused, .connectionFailed, .connectionLost: return true
    case .timedOut(let deadline): return deadline != .total
    default: return false
    }
  }
}
