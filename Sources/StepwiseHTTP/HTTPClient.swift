// SPDX-License-Identifier: MIT
// Copyright (c) 2026 Stepwise contributors

public import Foundation

#if canImport(FoundationNetworking)
  public import FoundationNetworking
#endif

/// A base URL with the headers, credentials and rules that all requests below it share.
///
/// It requests JSON. Everything else, such as how requests end, is the same as with ``HTTP``.
public struct HTTPClient: Sendable {
  /// The URL that the paths of requests are relative to, without a user name and password.
  public let baseURL: URL

  /// The header fields of every request, unless the request has its own of the same name.
  public var headers: HTTPHeaders = ["Accept": "application/json"]

  /// The credentials of every request, unless the request has its own.
  public var credentials: HTTPCredentials?

  /// How long each request may take, unless the request specifies it.
  public var deadlines: HTTPDeadlines

  /// Which redirects are followed, unless the request specifies it.
  public var redirects = HTTPRedirects.follow

  /// A closure around each request and stream; nil for none.
  ///
  /// Each attempt of ``retry`` passes through it.
  public var interceptor: HTTPInterceptor?

  /// Which requests and streams are sent again when they fail; nil for none.
  ///
  /// Downloads are not: the next call resumes them.
  public var retry: HTTPRetry?

  /// The encoder of the `json` of every request.
  public var encoder = JSONEncoder()

  /// The decoder that ``HTTPResponse/decoded(as:using:)`` uses for the responses of this client.
  public var decoder = JSONDecoder()

  /// The session that sends the requests.
  public let session: HTTPSession

  /// Creates a client.
  ///
  /// - Parameters:
  ///   - baseURL: The URL that the paths of requests are relative to. A user name and password in it become the
  ///     credentials.
  ///   - session: The session that sends the requests.
  ///   - headers: Further header fields of every request.
  ///   - credentials: The credentials of every request.
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

  /// Creates a client with a session of its own that has the configuration of a `URLSession`.
  ///
  /// Only the configuration is used: requests do not pass through the `URLSession` itself, so its delegate is not
  /// called, and it may have been invalidated.
  ///
  /// - Parameters:
  ///   - baseURL: The URL that the paths of requests are relative to.
  ///   - session: The session whose configuration is used.
  public init(baseURL: URL, session: URLSession) {
    self.init(baseURL: baseURL, session: HTTPSession(configuration: session.configuration))
  }

  /// Sets the credentials of every further request to Basic authentication.
  ///
  /// - Parameters:
  ///   - user: The user name.
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
    _ credentials: HTTPCredentials?,
    redirects: HTTPRedirects?,
    bodyLimit: Int? = nil
  ) throws -> OutgoingRequest {
    let own = headers["Authorization"] == nil ? self.credentials : nil
    return try OutgoingRequest(
      method,
      url(path),
      query,
      self.headers.merging(headers),
      content,
      credentials ?? own,
      redirects: redirects ?? self.redirects,
      bodyLimit: bodyLimit
    )
  }
}

extension HTTPClient: CustomStringConvertible, CustomReflectable {
  /// The host of the base URL.
  public var description: String { "HTTPClient(\(baseURL.host ?? ""))" }

  /// A mirror that contains only the base URL.
  public var customMirror: Mirror { Mirror(self, children: ["baseURL": baseURL.absoluteString]) }
}
