// SPDX-License-Identifier: MIT
// Copyright (c) 2026 Stepwise contributors

internal import Foundation
internal import Stepwise
public import StepwiseHTTP

/// Requests to one place, as one user, which ask for JSON.
@available(*, deprecated, message: "Use HTTPClient(baseURL:) of StepwiseHTTP")
public final class HTTPClient: Sendable {
  private let client: Lock<StepwiseHTTP.HTTPClient>

  /// The client of the new world, as it is now.
  @available(*, deprecated, message: "Make it an HTTPClient of StepwiseHTTP when its last old caller has moved")
  public var modern: StepwiseHTTP.HTTPClient { client.withLock { $0 } }

  /// Creates a client.
  ///
  /// - Parameter baseURL: Where the paths of requests begin. One that is no address makes every request fail.
  @available(*, deprecated, message: "Use HTTPClient(baseURL:) of StepwiseHTTP, which takes a URL")
  public init(_ baseURL: String) {
    let url = (try? baseURL.httpURL()) ?? URL(fileURLWithPath: "/")
    client = Lock(StepwiseHTTP.HTTPClient(baseURL: url))
  }

  /// Makes a name and a password those of every further request.
  ///
  /// - Parameters:
  ///   - username: The name.
  ///   - password: The password.
  @available(*, deprecated, message: "Use setCredentials(user:password:) of HTTPClient in StepwiseHTTP")
  public func setCredentials(username: String, password: String) {
    client.withLock { $0.setCredentials(user: username, password: password) }
  }
}
