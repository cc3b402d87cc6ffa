// SPDX-License-Identifier: MIT
// Copyright (c) 2026 Stepwise contributors

/// Requests without a client of one's own.
///
/// ```swift
/// let response = try await HTTP.get("https://swift.org", query: ["page": 1])
/// ```
///
/// Each method is called as a function is, and all take the same: ``HTTPMethod/callAsFunction(_:query:headers:json:encoder:form:body:credentials:deadlines:)``.
public enum HTTP: Sendable {
  /// The number of requests in flight in this process.
  public static var activity: HTTPActivity { HTTPActivity() }

  /// Gets what is there; a body is refused.
  public static let get = HTTPMethod("GET")

  /// Sends something to be dealt with.
  public static let post = HTTPMethod("POST")

  /// Puts something there.
  public static let put = HTTPMethod("PUT")

  /// Removes what is there.
  public static let delete = HTTPMethod("DELETE")

  /// Changes what is there.
  public static let patch = HTTPMethod("PATCH")

  /// Gets the status and headers of what is there; a body is refused.
  public static let head = HTTPMethod("HEAD")

  /// Asks what can be done there.
  public static let options = HTTPMethod("OPTIONS")

  /// Returns a method by its name, such as `PROPFIND`.
  ///
  /// ```swift
  /// let listing = try await HTTP.method("PROPFIND")(folder, headers: ["Depth": "1"])
  /// ```
  ///
  /// - Parameter name: The name, which is sent as it is: methods are case-sensitive. A name that is not a token of HTTP, and
  ///   `CONNECT`, make each request throw ``HTTPError/refused(reason:)``.
  /// - Returns: The method, to be called as ``get`` is.
  public static func method(_ name: String) -> HTTPMethod { HTTPMethod(name) }
}
