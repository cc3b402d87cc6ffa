// SPDX-License-Identifier: MIT
// Copyright (c) 2026 Stepwise contributors

internal import Foundation
internal import Stepwise
public import StepwiseHTTP

/// Requests to one place, as one user, which ask for JSON.
@available(*, deprecated, message: "Use HTTPClient(baseURL:) of StepwiseHTTP")
public final class HTTPClient: Sendable {
  private let base: String
  private let user = Lock<[String: String]?>(nil)

  /// The client as one of StepwiseHTTP, which appends a path to its base also when that begins with a slash.
  @available(*, deprecated, message: "Make it an HTTPClient of StepwiseHTTP when its last old caller has moved")
  public var modern: StepwiseHTTP.HTTPClient {
    var client = StepwiseHTTP.HTTPClient(baseURL: (try? base.httpURL()) ?? URL(fileURLWithPath: "/"))
    if let credentials {
      client.setCredentials(user: credentials["username"] ?? "", password: credentials["password"] ?? "")
    }
    return client
  }

  /// Creates a client.
  ///
  /// - Parameter baseURL: The URL that paths are resolved against. A malformed one makes every request throw.
  @available(*, deprecated, message: "Use HTTPClient(baseURL:) of StepwiseHTTP, which takes a URL")
  public init(_ baseURL: String) {
    base = baseURL
  }

  /// Makes a name and a password those of every further request.
  ///
  /// - Parameters:
  ///   - username: The name.
  ///   - password: The password.
  @available(*, deprecated, message: "Use setCredentials(user:password:) of HTTPClient in StepwiseHTTP")
  public func setCredentials(username: String, password: String) {
    user.withLock { $0 = ["username": username, "password": password] }
  }

  var credentials: [String: String]? { user.withLock { $0 } }

  func address(_ path: String) throws -> String { try RequestParts.address(path, below: base) }

  /// The header fields of a request, which asks for JSON unless it says otherwise.
  func headers(_ headers: [String: String]) -> [String: String] {
    let isSet = headers.keys.contains { $0.lowercased() == "accept" }
    return isSet ? headers : headers.merging(["Accept": "application/json"]) { old, _ in old }
  }
}
