// SPDX-License-Identifier: MIT
// Copyright (c) 2026 Stepwise contributors

public import Foundation

#if canImport(FoundationNetworking)
  public import FoundationNetworking
#endif

/// Requests to one place, with headers and credentials that all of them have.
///
/// It asks for JSON. Everything else is as with ``HTTP``: see there for how requests end.
public struct HTTPClient: Sendable {
  /// Where the paths of requests begin; it has no name and password.
  public let baseURL: URL

  /// The headers of every request, unless it has others of the same name.
  public var headers: HTTPHeaders = ["Accept": "application/json"]

  /// Who asks, unless a request says otherwise.
  public var credentials: HTTPCredentials?

  /// How long each request may take, unless the request says otherwise.
  public var deadlines: HTTPDeadlines

  /// The encoder of the `json` of every request.
  public var encoder = JSONEncoder()

  /// The decoder that ``HTTPResponse/decoded(as:using:)`` uses for the responses of this client.
  public var decoder = JSONDecoder()

  /// The connections.
  public let session: HTTPSession

  /// Creates a client.
  ///
  /// - Parameters:
  ///   - baseURL: Where the paths of requests begin. A name and password in it become the credentials.
  ///   - session: The connections.
  ///   - headers: Further headers of every request.
  ///   - credentials: Who asks.
  ///   - deadlines: How long each request may take.
  public init(
    baseURL: URL,
    session: HTTPSession = .shared,
    headers: HTTPHeaders = [:],
    credentials: HTTPCredentials? = nil,
    deadlines: HTTPDeadlines = .standard
  ) {
    var parts = URLComponents(url: baseURL, resolvingAgainstBaseURL: true)
    let embedded = parts?.user.map { HTTPCredentials.basic(user: $0, password: parts?.password ?? "") }
    parts?.user = nil
    parts?.password = nil
    self.baseURL = parts?.url ?? baseURL
    self.session = session
    self.headers = self.headers.merging(headers)
    self.credentials = credentials ?? embedded
    self.deadlines = deadlines
  }

  /// Creates a client with connections of its own, that are set up as those of a session of URLSession.
  ///
  /// Only the session's configuration is used: requests do not go through the session itself, so its delegate is not
  /// asked, and it may have been invalidated.
  ///
  /// - Parameters:
  ///   - baseURL: Where the paths of requests begin.
  ///   - session: The session whose configuration is used.
  public init(baseURL: URL, session: URLSession) {
    self.init(baseURL: baseURL, session: HTTPSession(configuration: session.configuration))
  }

  /// Makes the name and password the credentials of every further request.
  ///
  /// - Parameters:
  ///   - user: The name.
  ///   - password: The password.
  public mutating func setCredentials(user: String, password: String) {
    credentials = .basic(user: user, password: password)
  }

  func request(
    _ method: String,
    _ path: String,
    _ query: HTTPParameters,
    _ headers: HTTPHeaders,
    _ content: RequestContent?,
    _ credentials: HTTPCredentials?
  ) throws -> OutgoingRequest {
    let own = headers["Authorization"] == nil ? self.credentials : nil
    return try OutgoingRequest(
      method,
      url(path),
      query,
      self.headers.merging(headers),
      content,
      credentials ?? own
    )
  }
}

extension HTTPClient: CustomStringConvertible, CustomReflectable {
  /// The base of the addresses.
  public var description: String { "HTTPClient(\(baseURL.host ?? ""))" }

  /// Shows the base of the addresses alone.
  public var customMirror: Mirror { Mirror(self, children: ["baseURL": baseURL.absoluteString]) }
}
