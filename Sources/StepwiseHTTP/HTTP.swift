// SPDX-License-Identifier: MIT
// Copyright (c) 2026 Stepwise contributors

/// Requests to absolute URLs, without a client.
///
/// ```swift
/// let response = try await HTTP.get("https://swift.org", query: ["page": 1])
/// ```
///
/// Each method is called as a function, and all have the same parameters:
/// ``HTTPMethod/callAsFunction(_:query:headers:json:encoder:form:body:credentials:deadlines:redirects:bodyLimit:)``.
public enum HTTP: Sendable {
  /// The number of requests in flight in this process.
  public static var activity: HTTPActivity { HTTPActivity() }

  /// Requests a resource; a body is refused.
  public static let get = HTTPMethod("GET")

  /// Sends a body for the resource to process.
  public static let post = HTTPMethod("POST")

  /// Creates or replaces a resource.
  public static let put = HTTPMethod("PUT")

  /// Deletes a resource.
  public static let delete = HTTPMethod("DELETE")

  /// Changes a resource.
  public static let patch = HTTPMethod("PATCH")

  /// Requests the status and headers of a resource; a body is refused.
  public static let head = HTTPMethod("HEAD")

  /// Requests the methods that a resource supports.
  public static let options = HTTPMethod("OPTIONS")

  /// Returns a method by its name, such as `PROPFIND`.
  ///
  /// ```swift
  /// let listing = try await HTTP.method("PROPFIND")(folder, headers: ["Depth": "1"])
  /// ```
  ///
  /// - Parameter name: The name, which is sent as it is: methods are case-sensitive. A name that is not a token of
  ///   HTTP, and `CONNECT`, make each request throw ``HTTPError/refused(reason:)``.
  /// - Returns: The method, to be called as ``get`` is.
  public static func method(_ name: String) -> HTTPMethod { HTTPMethod(name) }
}
