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

  /// How long each request may take.
  public var deadlines: HTTPDeadlines

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

  /// The address of a path, which is below the base's, also when it begins with a slash.
  func url(_ path: String) throws(HTTPError) -> URL {
    guard var parts = URLComponents(url: baseURL, resolvingAgainstBaseURL: true) else { throw .invalidURL }
    let pieces = path.split(separator: "?", maxSplits: 1, omittingEmptySubsequences: false)
    if let name = pieces.first?.drop(while: { $0 == "/" }), !name.isEmpty {
      let base = parts.percentEncodedPath
      parts.percentEncodedPath = (base.hasSuffix("/") ? base : base + "/") + Self.encoded(name, .urlPathAllowed)
    }
    if pieces.count > 1 {
      let before = parts.percentEncodedQuery.map { $0 + "&" } ?? ""
      parts.percentEncodedQuery = before + Self.encoded(pieces[1], .urlQueryAllowed)
    }
    guard let url = parts.url else { throw .invalidURL }
    return url
  }

  /// Encodes what is not encoded yet; a percent sign that encodes nothing stands for itself.
  private static func encoded(_ text: Substring, _ allowed: CharacterSet) -> String {
    // Foundation encodes a colon in what could be the first part of a path; here it never is.
    let allowed = allowed.union(CharacterSet(charactersIn: ":"))
    func encode(_ text: Substring) -> String { text.addingPercentEncoding(withAllowedCharacters: allowed) ?? "" }
    let pieces = text.split(separator: "%", omittingEmptySubsequences: false)
    return pieces.dropFirst().reduce(encode(pieces.first ?? "")) { before, piece in
      let digits = piece.prefix(2)
      let isEncoded = digits.count == 2 && digits.allSatisfy { $0.isASCII && $0.isHexDigit }
      return before + (isEncoded ? "%" : "%25") + encode(piece)
    }
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

  /// Downloads what is at a path to a file, as ``HTTP/download(_:to:query:headers:credentials:deadlines:progress:)`` does.
  ///
  /// - Parameters:
  ///   - path: Where from, below the base.
  ///   - file: The file to make, or to replace.
  ///   - query: What is added to the query of the address.
  ///   - headers: Header fields.
  ///   - credentials: Who asks.
  ///   - progress: Is told how far it is, on the session's thread.
  /// - Returns: The answer, whatever its status; with an empty body when it was written to the file.
  /// - Throws: ``HTTPError``; `CancellationError` when the Task is cancelled. Never for a status.
  public nonisolated(nonsending) func download(
    _ path: String,
    to file: URL,
    query: HTTPParameters = [:],
    headers: HTTPHeaders = [:],
    credentials: HTTPCredentials? = nil,
    progress: (@Sendable (HTTPDownloadProgress) -> Void)? = nil
  ) async throws -> HTTPResponse {
    let request = try request("GET", path, query, headers, nil, credentials)
    return try await session.download(request, to: file, deadlines: deadlines, progress: progress)
  }
}

extension HTTPClient: CustomStringConvertible, CustomReflectable {
  /// The base of the addresses.
  public var description: String { "HTTPClient(\(baseURL.host ?? ""))" }

  /// Shows the base of the addresses alone.
  public var customMirror: Mirror { Mirror(self, children: ["baseURL": baseURL.absoluteString]) }
}
