// SPDX-License-Identifier: MIT
// Copyright (c) 2026 Stepwise contributors

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
  /// - Parameter name: The name, which is sent as it is: methods are case-sensitive. A name that is not a token of
  ///   HTTP, and `CONNECT`, make each request throw ``HTTPError/refused(reason:)``.
  /// - Returns: The method, to be called as ``get`` is.
  public static func method(_ name: String) -> HTTPMethod { client.method(name) }

  /// Sends a request, and suspends until the whole response has arrived.
  ///
  /// - Parameter request: The request, with an absolute URL.
  /// - Returns: The response, whatever its status.
  /// - Throws: ``HTTPError``; `CancellationError` when the task is cancelled. Never for a status.
  public nonisolated(nonsending) static func send(_ request: HTTPRequest) async throws -> HTTPResponse {
    try await client.send(request)
  }
}
