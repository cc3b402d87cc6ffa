// SPDX-License-Identifier: MIT
// Copyright (c) 2026 Stepwise contributors

public import Foundation

/// Sends single requests, to absolute URLs, without a client.
///
/// ```swift
/// let response = try await HTTP.get("https://swift.org", query: ["page": "1"])
/// ```
///
/// Each method is called as a function, and all have the same parameters: see ``HTTPMethod``.
public enum HTTP: Sendable {
  private static let client = HTTPClient()

  /// The number of requests in flight in this process.
  public static var activity: HTTPActivity { HTTPActivity() }

  /// Requests a resource; a body is refused.
  public static var get: HTTPMethod { client.get }
  /// Sends a body for the resource to process.
  public static var post: HTTPMethod { client.post }
  /// Creates or replaces a resource.
  public static var put: HTTPMethod { client.put }
  /// Deletes a resource.
  public static var delete: HTTPMethod { client.delete }
  /// Changes a resource.
  public static var patch: HTTPMethod { client.patch }
  /// Requests the status and headers of a resource; a body is refused.
  public static var head: HTTPMethod { client.head }
  /// Requests the methods that a resource supports.
  public static var options: HTTPMethod { client.options }

  /// Sends a request, and receives the body of the response as it is read.
  public static var stream: HTTPStreaming { client.stream }

  /// Downloads to a file, in constant memory, and resumes where an earlier attempt ended.
  public static var download: HTTPDownloading { client.download }

  /// Returns a method by its name, such as `PROPFIND`.
  ///
  /// ```swift
  /// let listing = try await HTTP.method("PROPFIND")(folder, headers: ["Depth": "1"])
  /// ```
  ///
  /// The name is sent as it is: methods are case-sensitive. A name that is not a token of HTTP, and `CONNECT`, make each
  /// request throw ``HTTPError/refused(reason:)``.
  public static func method(_ name: String) -> HTTPMethod { client.method(name) }

  /// Sends a request with an absolute URL, as ``HTTPClient/send(_:)`` does.
  public static func send(_ request: HTTPRequest) async throws -> HTTPResponse { try await client.send(request) }
}

/// A method of ``HTTP`` or of a client, such as `HTTP.get` and `client.post`, that is called as a function.
///
/// The request fails immediately if its task is cancelled or a deadline passes. At most ten redirects are followed. A
/// user name and password in the URL are sent as Basic authentication, unless there are other credentials.
public struct HTTPMethod: Sendable {
  let name: String
  let client: HTTPClient

  /// Sends a request, and suspends until the whole response has arrived.
  ///
  /// You can pass at most one of `json`, `form` and `body`. For parameters that are nil, see ``HTTPRequest``.
  ///
  /// - Parameters:
  ///   - address: The destination, as a `URL` or a `String`. A client reads a `String` as a path below its base URL.
  ///   - query: Items that are added to the query of the URL.
  ///   - headers: Header fields, in place of the client's of the same name.
  ///   - json: A value to send as JSON.
  ///   - form: Names and values to send as a form.
  ///   - body: Another body: bytes, a file, a sequence or a form with files.
  ///   - credentials: The credentials for this request.
  ///   - deadlines: How long the request may take.
  ///   - redirects: Which redirects are followed.
  ///   - bodyLimit: The maximum number of bytes of the response's body.
  ///   - progress: Called as the body is sent: see ``HTTPRequest/onSend(_:)``.
  /// - Returns: The response, whatever its status.
  /// - Throws: ``HTTPError``; `CancellationError` when the task is cancelled; `EncodingError` of `json`. Never for a
  ///   status.
  public func callAsFunction(
    _ address: some HTTPAddress = "",
    query: HTTPParameters = [:],
    headers: HTTPHeaders = [:],
    json: (any Encodable)? = nil,
    form: HTTPParameters? = nil,
    body: HTTPBody? = nil,
    credentials: HTTPCredentials? = nil,
    deadlines: HTTPDeadlines? = nil,
    redirects: HTTPRedirects? = nil,
    bodyLimit: Int? = nil,
    progress: (@Sendable (HTTPUploadProgress) -> Void)? = nil
  ) async throws -> HTTPResponse {
    guard [json != nil, form != nil, body != nil].count(where: { $0 }) <= 1 else {
      throw HTTPError.refused(reason: "it has more than one of json, form and body")
    }
    let content = try json.map { try .json($0, encoder: client.ownEncoder) } ?? form.map { .form($0) } ?? body
    let url = try client.url(of: address)
    var request = HTTPRequest(method: name, url: url, query: query, headers: headers, body: content)
    (request.credentials, request.deadlines) = (credentials, deadlines)
    (request.redirects, request.bodyLimit) = (redirects, bodyLimit)
    request.onSend(progress)
    return try await client.send(request)
  }

  /// Sends a request with bytes as its body, and suspends until the whole response has arrived.
  ///
  /// - Returns: The response, whatever its status.
  /// - Throws: ``HTTPError``; `CancellationError` when the task is cancelled. Never for a status.
  public func callAsFunction(
    _ address: some HTTPAddress = "",
    query: HTTPParameters = [:],
    headers: HTTPHeaders = [:],
    body: Data,
    credentials: HTTPCredentials? = nil,
    deadlines: HTTPDeadlines? = nil
  ) async throws -> HTTPResponse {
    let url = try client.url(of: address)
    var request = HTTPRequest(method: name, url: url, query: query, headers: headers, body: .bytes(body))
    (request.credentials, request.deadlines) = (credentials, deadlines)
    return try await client.send(request)
  }
}

/// A request whose response is received as it is read: `HTTP.stream` and `client.stream`, called as a function.
///
/// Use it for a response that you want to handle while it arrives, such as a log or a stream of events. The body of the
/// response is neither limited nor kept in memory. Leaving the loop, cancelling its task, or releasing the response
/// without reading it ends the request.
public struct HTTPStreaming: Sendable {
  let client: HTTPClient

  /// Requests a resource, suspends until the head of the response has arrived, and receives the body as it is read.
  ///
  /// ```swift
  /// let response = try await HTTP.stream(url)
  /// for try await chunk in response.body { try write(chunk) }
  /// ```
  ///
  /// - Parameters:
  ///   - address: The source, as a `URL` or a `String`. A client reads a `String` as a path below its base URL.
  ///   - headers: Header fields, in place of the client's of the same name.
  ///   - deadlines: How long the request may take; nil for the client's. The `idle` deadline counts while the loop waits
  ///     for a chunk.
  /// - Returns: The response, whatever its status.
  /// - Throws: ``HTTPError``; `CancellationError` when the task is cancelled. Never for a status.
  public func callAsFunction(
    _ address: some HTTPAddress = "",
    headers: HTTPHeaders = [:],
    deadlines: HTTPDeadlines? = nil
  ) async throws -> HTTPResponseStream {
    var request = HTTPRequest(url: try client.url(of: address), headers: headers)
    request.deadlines = deadlines
    return try await self(request)
  }

  /// Sends a request of any method, with its body, and receives the body of the response as it is read.
  ///
  /// - Parameter request: The request.
  /// - Returns: The response, whatever its status.
  /// - Throws: ``HTTPError``; `CancellationError` when the task is cancelled. Never for a status.
  public func callAsFunction(_ request: HTTPRequest) async throws -> HTTPResponseStream {
    try await client.perform(client.prepared(request)) { response in response }
  }
}
