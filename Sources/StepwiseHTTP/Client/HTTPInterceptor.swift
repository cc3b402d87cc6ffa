// SPDX-License-Identifier: MIT
// Copyright (c) 2026 Stepwise contributors

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
