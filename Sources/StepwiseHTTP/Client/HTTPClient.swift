// SPDX-License-Identifier: MIT
// Copyright (c) 2026 Stepwise contributors

public import Foundation

#if canImport(FoundationNetworking)
  public import FoundationNetworking
#endif

/// Calls one server: a base URL with the headers, credentials and rules that all requests below it share.
///
/// Create one for each server that your app talks to. It is a value: change a copy for a single request. It requests
/// JSON. Everything else, such as how requests end, is the same as with ``HTTP``.
///
/// ```swift
/// var client = HTTPClient(baseURL: base)
/// client.credentials = .basic(user: "prince", password: password)
/// let created = try await client.post("tracks", json: ["title": "Kiss"])
/// ```
public struct HTTPClient: Sendable, HTTPConcealed {
  /// The URL that the paths of requests are relative to, without a user name and password.
  public let baseURL: URL

  /// The origin of the base URL; nil for the client of ``HTTP``, whose requests are not relative.
  let origin: String?

  /// The header fields of every request, unless the request has its own of the same name.
  public var headers: HTTPHeaders = ["Accept": "application/json"]

  /// The credentials of every request, unless the request has its own.
  public var credentials: HTTPCredentials?

  /// How long each request may take, unless the request specifies it.
  public var deadlines: HTTPDeadlines

  /// Which redirects are followed, unless the request specifies it.
  public var redirects = HTTPRedirects.follow

  /// The closures around each request, stream and download; the first one is outermost.
  ///
  /// Each attempt of ``retry`` passes through them.
  public var interceptors: [HTTPInterceptor] = []

  /// The only interceptor; setting it replaces all ``interceptors``.
  public var interceptor: HTTPInterceptor? {
    get { interceptors.first }
    set { interceptors = newValue.map { [$0] } ?? [] }
  }

  /// Which requests are sent again when they fail; nil for none.
  ///
  /// A repeated download requests only the rest.
  public var retry: HTTPRetry?

  /// The encoder of the `json` of every request.
  ///
  /// A copy of the client has separate settings.
  public var encoder: JSONEncoder {
    mutating get {
      if !isKnownUniquelyReferenced(&ownEncoder) { ownEncoder = ownEncoder.copied() }
      return ownEncoder
    }
    set { ownEncoder = newValue }
  }

  /// The decoder that ``HTTPResponse/decoded(as:using:)`` uses for the responses of this client.
  ///
  /// A copy of the client has separate settings.
  public var decoder: JSONDecoder {
    mutating get {
      if !isKnownUniquelyReferenced(&ownDecoder) { ownDecoder = ownDecoder.copied() }
      return ownDecoder
    }
    set { ownDecoder = newValue }
  }

  private(set) var ownEncoder = JSONEncoder()
  private(set) var ownDecoder = JSONDecoder()

  /// The session that sends the requests.
  public let session: HTTPSession

  /// Creates a client, whose credentials may also be a user name and password in the base URL.
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
    origin = HTTPRequest.origin(of: self.baseURL)
    self.session = session
    self.headers = self.headers.merging(headers)
    self.credentials = credentials ?? embedded
    self.deadlines = deadlines
  }

  /// Creates a client with a separate session that has the configuration of a `URLSession`.
  ///
  /// Requests do not pass through the `URLSession` itself, so its delegate is not called.
  public init(baseURL: URL, session: URLSession) {
    self.init(baseURL: baseURL, session: HTTPSession(configuration: session.configuration))
  }

  /// Sets the credentials of every further request to Basic authentication.
  public mutating func setCredentials(user: String, password: String) {
    credentials = .basic(user: user, password: password)
  }

  /// Creates the client of ``HTTP``, which adds nothing to requests.
  init() {
    baseURL = URL(filePath: "/")
    origin = nil
    session = .shared
    headers = [:]
    deadlines = .standard
  }

  /// Requests a resource; a body is refused.
  public var get: HTTPMethod { method("GET") }
  /// Sends a body for the resource to process.
  public var post: HTTPMethod { method("POST") }
  /// Creates or replaces a resource.
  public var put: HTTPMethod { method("PUT") }
  /// Deletes a resource.
  public var delete: HTTPMethod { method("DELETE") }
  /// Changes a resource.
  public var patch: HTTPMethod { method("PATCH") }
  /// Requests the status and headers of a resource; a body is refused.
  public var head: HTTPMethod { method("HEAD") }
  /// Requests the methods that a resource supports.
  public var options: HTTPMethod { method("OPTIONS") }

  /// Returns a method by its name, as ``HTTP/method(_:)`` does.
  public func method(_ name: String) -> HTTPMethod { HTTPMethod(name: name, client: self) }

  /// Sends a request, and receives the body of the response as it is read.
  public var stream: HTTPStreaming { HTTPStreaming(client: self) }

  /// Downloads to a file, in constant memory, and resumes where an earlier attempt ended.
  public var download: HTTPDownloading { HTTPDownloading(client: self) }

  /// The host of the base URL.
  public var description: String { "HTTPClient(\(baseURL.host ?? ""))" }
}

extension HTTPClient {
  /// Returns the URL of a request: a text is a path below the base URL.
  func url(of address: some HTTPAddress) throws(HTTPError) -> URL {
    guard origin != nil, let path = address as? String else { return try address.httpURL() }
    return try url(path)
  }

  /// Returns the URL of a path below the base URL, even if the path starts with a slash.
  ///
  /// Dot segments are resolved here, because the transport would resolve them against the base's own path.
  ///
  /// - Throws: ``HTTPError/refused(reason:)`` when the path leads above the base.
  func url(_ path: String) throws(HTTPError) -> URL {
    guard var parts = URLComponents(url: baseURL, resolvingAgainstBaseURL: true) else { throw .invalidURL }
    let pieces = path.split(separator: "?", maxSplits: 1, omittingEmptySubsequences: false)
    if let name = pieces.first?.drop(while: { $0 == "/" }), !name.isEmpty {
      let base = parts.percentEncodedPath
      let resolved = try Self.withoutDotSegments(Self.encoded(name, .urlPathAllowed))
      parts.percentEncodedPath = (base.hasSuffix("/") ? base : base + "/") + resolved
    }
    if pieces.count > 1 {
      let before = parts.percentEncodedQuery.map { $0 + "&" } ?? ""
      parts.percentEncodedQuery = before + Self.encoded(pieces[1], .urlQueryAllowed)
    }
    guard let url = parts.url else { throw .invalidURL }
    return url
  }

  /// Resolves `.` and `..` as RFC 3986, section 5.2.4, defines, even if they are percent-encoded.
  private static func withoutDotSegments(_ path: String) throws(HTTPError) -> String {
    var kept: [Substring] = []
    var isFolder = false
    for segment in path.split(separator: "/", omittingEmptySubsequences: false) {
      let name = segment.lowercased().replacing("%2e", with: ".")
      isFolder = name == "." || name == ".."
      if name == "..", kept.popLast() == nil {
        throw .refused(reason: "the path leads above the client's base URL; use a client with a shorter base URL")
      }
      if !isFolder { kept.append(segment) }
    }
    return (isFolder ? kept + [""] : kept).joined(separator: "/")
  }

  /// Encodes what is not encoded yet; a percent sign that encodes nothing represents itself.
  private static func encoded(_ text: Substring, _ allowed: CharacterSet) -> String {
    // Foundation also encodes a colon in a possible first segment; here no segment is the first.
    let allowed = allowed.union(CharacterSet(charactersIn: ":%"))
    // By scalars: with an accent, a percent sign is another character.
    let hasSign = text.utf8.contains(UInt8(ascii: "%"))
    let signs = hasSign ? text.replacing(/%(?![0-9A-Fa-f]{2})/.matchingSemantics(.unicodeScalar), with: "%25") : text
    return signs.addingPercentEncoding(withAllowedCharacters: allowed) ?? ""
  }
}
