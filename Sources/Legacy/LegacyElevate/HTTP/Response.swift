// SPDX-License-Identifier: MIT
// Copyright (c) 2026 Stepwise contributors

public import Foundation
public import StepwiseHTTP

/// The answer to a request, whatever its status.
@available(*, deprecated, message: "Use HTTPResponse of StepwiseHTTP")
public struct Response: Sendable {
  /// The answer as one of the new world.
  @available(*, deprecated, message: "Use what the functions of HTTP in StepwiseHTTP return")
  public let modern: HTTPResponse
  private let json: Result<Parsed, any Error>?

  // Safety: the content consists of immutable strings, numbers, arrays and dictionaries.
  private struct Parsed: @unchecked Sendable {
    let value: Any
  }

  private let failure: (any Error)?

  init(_ response: HTTPResponse) {
    modern = response
    failure = nil
    guard response.headers["Content-Type"]?.contains("application/json") == true, !response.body.isEmpty else {
      json = nil
      return
    }
    json = Result {
      Parsed(value: try JSONSerialization.jsonObject(with: response.body, options: .fragmentsAllowed))
    }
  }

  /// Creates a response to a request that has none: its status is 0.
  init(failed error: any Error, address: String) {
    modern = HTTPResponse(status: 0, url: (try? address.httpURL()) ?? URL(fileURLWithPath: "/"))
    json = nil
    failure = ElevateErrors.old(error)
  }

  /// What the JSON says, when the type is `application/json`; otherwise the bytes, as `Data`.
  @available(*, deprecated, message: "Use decoded(as:) of HTTPResponse, or body, which is the bytes")
  public var body: Any { (try? json?.get().value) ?? modern.body }

  /// The bytes.
  @available(*, deprecated, message: "Use body of HTTPResponse")
  public var rawBody: Data { modern.body }

  /// The header fields; several of one name are joined by commas.
  @available(*, deprecated, message: "Use headers of HTTPResponse, which ignores the case of names")
  public var headers: [String: String] {
    var headers: [String: String] = [:]
    for field in modern.headers.fields {
      headers[field.name] = headers[field.name].map { "\($0), \(field.value)" } ?? field.value
    }
    return headers
  }

  /// The status, such as 200 or 404.
  @available(*, deprecated, message: "Use status of HTTPResponse")
  public var statusCode: Int { modern.status }

  /// Where the answer came from, after redirects.
  @available(*, deprecated, message: "Use url of HTTPResponse, which is a URL")
  public var url: String { modern.url.absoluteString }

  /// Why there is no response, for a `Request`; or why the body is not the JSON that its type says.
  @available(*, deprecated, message: "Catch what decoded(as:) of HTTPResponse throws")
  public var error: (any Error)? {
    if case .failure(let error) = json { error } else { failure }
  }

  /// The value of a name, when the body is a JSON dictionary that has one.
  @available(*, deprecated, message: "Use decoded(as:) of HTTPResponse")
  public subscript(name: String) -> Any? { (body as? [String: Any])?[name] }

  /// The element at an index, when the body is a JSON array that has one.
  @available(*, deprecated, message: "Use decoded(as:) of HTTPResponse")
  public subscript(index: Int) -> Any? {
    guard let elements = body as? [Any], elements.indices.contains(index) else { return nil }
    return elements[index]
  }

  /// The number of elements of a body that is a JSON array or dictionary; 0 for another.
  @available(*, deprecated, message: "Use decoded(as:) of HTTPResponse")
  public var length: Int { (body as? [Any])?.count ?? (body as? [String: Any])?.count ?? 0 }
}
