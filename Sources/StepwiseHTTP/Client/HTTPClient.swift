// SPDX-License-Identifier: MIT
// Copyright (c) 2026 Stepwise contributors

public import Foundation
public import Stepwise

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
  private(set) var origin: String?

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
    self.init(baseURL: URL(filePath: "/"))
    (origin, headers) = (nil, [:])
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

  /// Returns the URL of a request: a text is a path below the base URL.
  func url(of address: some HTTPAddress) throws(HTTPError) -> URL {
    guard origin != nil, let path = address as? String else { return try address.httpURL() }
    return try url(path)
  }

  /// Returns the URL of a path below the base URL, even if the path starts with a slash.
  ///
  /// Dot segments are resolved here, because the transport would resolve them against the base's own path.
  ///
  /// - Throws: ``HTTPError/refused(reason:)`` when the path leads above the base, for any server.
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
      if name == "..", kept.popLast() == nil { throw leadsAboveBase }
      if !isFolder { kept.append(segment) }
    }
    let path = (isFolder ? kept + [""] : kept).joined(separator: "/")
    guard !mayLeadAbove(path) else { throw leadsAboveBase }
    return path
  }

  private static var leadsAboveBase: HTTPError {
    .refused(reason: "the path leads above the client's base URL; use a client with a shorter base URL")
  }

  /// Returns whether a server may read a path as one that leads above its start.
  ///
  /// Servers decode a path before they resolve it, some of them more than once. There are those that take a backslash for
  /// a slash, several slashes for one, and that drop what follows a semicolon.
  private static func mayLeadAbove(_ path: String) -> Bool {
    var decoded: [UInt8] = []
    for byte in path.utf8 {
      decoded.append(byte)
      // Again, as what it stands for may end another code.
      while decoded.count > 2, decoded[decoded.count - 3] == UInt8(ascii: "%"),
        let code = UInt8(String(decoding: decoded.suffix(2), as: UTF8.self), radix: 16)
      {
        decoded.replaceSubrange((decoded.count - 3)..., with: [code])
      }
    }
    var depth = 0
    for segment in decoded.split(whereSeparator: { $0 == UInt8(ascii: "/") || $0 == UInt8(ascii: "\\") }) {
      switch String(decoding: segment.prefix { $0 != UInt8(ascii: ";") }, as: UTF8.self) {
      case ".": continue
      case "..": depth -= 1
      default: depth += 1
      }
      if depth < 0 { return true }
    }
    return false
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

extension HTTPClient {
  /// Sends a request, and suspends until the whole response has arrived.
  ///
  /// What the request leaves open, such as its credentials and deadlines, is the client's.
  ///
  /// - Parameter request: The request. Its URL may be a path below the base URL, or an absolute URL. One of another
  ///   origin gets neither the client's headers nor its credentials.
  /// - Returns: The response, whatever its status.
  /// - Throws: ``HTTPError``; `CancellationError` when the task is cancelled. Never for a status.
  public func send(_ request: HTTPRequest) async throws -> HTTPResponse {
    let limit = request.bodyLimit ?? session.bodyLimit
    return try await perform(prepared(request)) { response in try await response.collected(upTo: limit) }
  }

  /// Returns the request with what it leaves open, checked.
  func prepared(_ request: HTTPRequest) throws(HTTPError) -> HTTPRequest {
    var request = request
    if origin != nil, request.url.scheme == nil { request.url = try url(request.url.relativeString) }
    if let origin, HTTPRequest.origin(of: request.url) == origin {
      if request.credentials == nil, request.headers["Authorization"] == nil { request.credentials = credentials }
      request.headers = headers.merging(request.headers)
    }
    request.deadlines = request.deadlines ?? deadlines
    request.redirects = request.redirects ?? redirects
    return try request.checked()
  }

  /// Sends a prepared request through the interceptors, as often as ``retry`` allows, and receives its response.
  ///
  /// `change` returns the request of the next attempt. Errors of `receive` count as those of the attempt.
  func perform<Value>(
    _ request: HTTPRequest,
    using use: HTTPSessionUse? = nil,
    change: (HTTPRequest) -> HTTPRequest = { $0 },
    _ receive: (HTTPResponseStream) async throws -> Value
  ) async throws -> Value {
    defer { request.upload?.close() }
    let use = try use ?? session.use()
    guard let retry else { return try await receive(open(change(request), interceptors[...], use)) }
    var request = request
    if retry.addsIdempotencyKey, !request.isIdempotent { request.headers["Idempotency-Key"] = UUID().uuidString }
    let repeats = { (error: any Error) in retry.repeats(request, after: error) }
    var policy = retry.policy
    // The server's `Retry-After` precedes the backoff.
    policy.delay = { error, attempt in (error as? HTTPStatusError)?.retryAfter ?? retry.policy.delay?(error, attempt) }
    var attempts = Attempts(policy, clock: request.deadlines?.clock ?? ContinuousClock())
    repeat {
      do {
        let response = try await open(change(request), interceptors[...], use)
        let failure = HTTPStatusError(response: response.response())
        guard retry.statuses.contains(response.status), await attempts.allowAnother(after: failure, if: repeats)
        else { return try await receive(response) }
        // The connection is reused where only a little of the body remains.
        _ = try? await response.collected(upTo: HTTPResponseStream.errorBody)
      } catch {
        guard await attempts.allowAnother(after: error, if: repeats) else { throw error }
      }
    } while await attempts.waitForNext()
    throw CancellationError()
  }

  /// Sends a request through the interceptors, the first one outermost, and waits for the head of the response.
  private func open(
    _ request: HTTPRequest,
    _ interceptors: ArraySlice<HTTPInterceptor>,
    _ use: HTTPSessionUse
  ) async throws -> HTTPResponseStream {
    var response: HTTPResponseStream
    if let first = interceptors.first {
      response = try await first(request) { [self] changed in
        try await open(changed.completed(by: request), interceptors.dropFirst(), use)
      }
    } else {
      response = try await session.open(self.interceptors.isEmpty ? request : request.checked(), use)
    }
    response.decoder = ownDecoder
    return response
  }
}

extension HTTPRequest {
  /// Returns the request with the rules of the request that an interceptor has received.
  fileprivate func completed(by request: HTTPRequest) -> HTTPRequest {
    var next = self
    next.deadlines = deadlines ?? request.deadlines
    next.redirects = redirects ?? request.redirects
    next.upload = upload ?? request.upload
    next.onFailure = onFailure ?? request.onFailure
    return next
  }
}

/// Sends a request, and suspends until the head of the response has arrived.
///
/// - Throws: ``HTTPError``; `CancellationError` when the Task is cancelled.
public typealias HTTPSend = @concurrent @Sendable (HTTPRequest) async throws -> HTTPResponseStream

/// A closure around the requests of a client: it changes a request, sends it any number of times, and changes the
/// response.
///
/// ```swift
/// client.interceptor = { request, send in
///   var request = request
///   request.headers["X-Request-ID"] = UUID().uuidString
///   return try await send(request)
/// }
/// ```
///
/// Each call of `send` has the deadlines of the client's request and follows redirects; these do not pass through the
/// interceptor. Releasing a response without reading its body ends its request. <doc:Interceptors> has examples.
public typealias HTTPInterceptor =
  @concurrent @Sendable (_ request: HTTPRequest, _ send: @escaping HTTPSend) async throws -> HTTPResponseStream

/// Retries the failed requests of a client that are safe to send again.
///
/// Use it when your server is sometimes busy, or your user's connection breaks.
///
/// ```swift
/// client.retry = HTTPRetry()
/// ```
///
/// Only a request that may arrive twice is repeated: one whose method is idempotent (`GET`, `HEAD`,
/// `OPTIONS`, `PUT`, `DELETE`, `TRACE`), or one with the header `Idempotency-Key`. A request whose body can be read
/// once is not repeated. A request is repeated
///
/// - after one of ``statuses``, when the server's `Retry-After` has passed, or without one the policy's wait;
/// - when the connection was refused, could not be opened or was lost, and after each deadline but
///   `total`.
///
/// After the last attempt its response is returned, or its error is thrown. Cancellation ends the wait at once.
public struct HTTPRetry: Sendable {
  /// The number of attempts, and the wait between them.
  ///
  /// Waits are measured by the clock of the request's deadlines.
  public var policy: RetryPolicy

  /// The statuses after which a request is repeated.
  public var statuses: Set<Int>

  /// The maximum wait that a server may request; with a longer `Retry-After` its response is returned.
  public var longestWait: Duration

  /// A Boolean value that indicates whether requests that are not idempotent get an `Idempotency-Key`.
  ///
  /// All attempts have the same one. The server has to support it; otherwise it may process a request twice.
  public var addsIdempotencyKey: Bool

  /// Creates retry rules.
  public init(
    policy: RetryPolicy = RetryPolicy(
      maxAttempts: 4,
      backoff: .exponential(from: .milliseconds(250), cap: .seconds(10))
    ),
    statuses: Set<Int> = [429, 503],
    longestWait: Duration = .seconds(60),
    addsIdempotencyKey: Bool = false
  ) {
    self.policy = policy
    self.statuses = statuses
    self.longestWait = longestWait
    self.addsIdempotencyKey = addsIdempotencyKey
  }

  /// Returns whether a request is sent again after an error.
  func repeats(_ request: HTTPRequest, after error: any Error) -> Bool {
    guard request.isIdempotent, request.body?.isRepeatable ?? true else { return false }
    if let error = error as? HTTPStatusError { return (error.retryAfter ?? .zero) <= longestWait }
    switch error as? HTTPError {
    case .connectionRefused, .connectionFailed, .connectionLost: return true
    case .timedOut(let deadline): return deadline != .total
    default: return false
    }
  }
}
