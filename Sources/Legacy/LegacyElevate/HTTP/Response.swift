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

  init(_ response: HTTPResponse) {
    modern = response
    let type = response.headers["Content-Type"]?.split(separator: ";").first.map(String.init) ?? ""
    let name = type.trimmingCharacters(in: .whitespaces).lowercased()
    let isJSON = name == "application/json" || name == "text/json" || name.hasSuffix("+json")
    guard isJSON, !response.body.isEmpty else {
      json = nil
      return
    }
    json = Result {
      Parsed(value: try JSONSerialization.jsonObject(with: response.body, options: .fragmentsAllowed))
    }
  }

  /// What the JSON says, when the answer is of that type; otherwise its bytes, as `Data`.
  @available(*, deprecated, message: "Use decoded(as:) of HTTPResponse, or body, which is the bytes")
  public var body: Any { (try? json?.get().value) ?? modern.body }

  /// The bytes.
  @available(*, deprecated, renamed: "body", message: "Use body of HTTPResponse")
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
  @available(*, deprecated, renamed: "status")
  public var statusCode: Int { modern.status }

  /// Where the answer came from, after redirects.
  @available(*, deprecated, message: "Use url of HTTPResponse, which is a URL")
  public var url: String { modern.url.absoluteString }

  /// Why the body is not what its type says, when it says JSON and is none; a request that has no answer throws.
  @available(*, deprecated, message: "Catch what decoded(as:) of HTTPResponse throws")
  public var error: (any Error)? {
    if case .failure(let error) = json { error } else { nil }
  }
}
