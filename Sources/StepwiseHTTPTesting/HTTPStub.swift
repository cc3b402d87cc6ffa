// SPDX-License-Identifier: MIT
// Copyright (c) 2026 Stepwise contributors

import Foundation
import Stepwise
public import StepwiseHTTP

/// Replaces the network in tests of code that sends HTTP requests.
///
/// Your tests need no server, and see exactly what your code sends.
///
/// ```swift
/// let stub = HTTPStub()
/// stub.on("GET", "/tracks/*") { _ in try .json(["title": "Kiss"]) }
/// let client = HTTPClient(baseURL: URL(string: "https://example.org")!, session: stub.session)
///
/// let titles = try await client.get("tracks/1").decoded(as: [String: String].self)
/// #expect(stub.requests.map(\.url.path) == ["/tracks/1"])
/// ```
///
/// A session on it follows redirects, stores cookies, enforces deadlines and limits bodies as on any other transport.
/// Delays are measured by the stub's clock: with a `ManualClock`, pass the same one to `HTTPDeadlines`.
public final class HTTPStub: Sendable {
  /// A function that answers a request.
  ///
  /// It runs in a separate task, which is cancelled with the request. An error that it throws is thrown by the request:
  /// an `HTTPError` unchanged, any other as `HTTPError/request(underlyingError:)`.
  public typealias Handler = @Sendable (HTTPStubRequest) async throws -> HTTPStubResponse

  private struct State {
    var routes: [(method: String, path: String, handler: Handler)] = []
    var requests: [HTTPStubRequest] = []
    /// The number of requests so far of each method and path.
    var counts: [String: Int] = [:]
  }

  let clock: any Clock<Duration>
  let faults: HTTPStubFaults?
  private let state = Lock(State())

  /// Creates a stub without routes.
  ///
  /// - Parameters:
  ///   - clock: The clock of the delays of responses.
  ///   - faults: The faults of the network; nil for none.
  public init(clock: any Clock<Duration> = ContinuousClock(), faults: HTTPStubFaults? = nil) {
    self.clock = clock
    self.faults = faults
  }

  /// Creates a session that sends its requests to this stub.
  public var session: HTTPSession { HTTPSession(transport: transport) }

  /// Creates a transport to this stub, for `HTTPSession/init(transport:cookies:bodyLimit:)`.
  public var transport: any HTTPTransport { HTTPStubTransport(self) }

  /// The requests so far, in order of arrival, redirects and repeated attempts included.
  public var requests: [HTTPStubRequest] { state.withLock { $0.requests } }

  /// Adds a route.
  ///
  /// The route that was added last takes precedence. A request without a route fails with
  /// ``HTTPStubError/noRoute(method:path:)`` as the underlying error.
  ///
  /// - Parameters:
  ///   - method: The method; `*` for any.
  ///   - path: The decoded path, in which `*` stands for any characters, of any host.
  ///   - handler: Returns the response; called once per request, concurrently for concurrent requests.
  public func on(_ method: String, _ path: String, _ handler: @escaping Handler) {
    state.withLock { $0.routes.append((method, path, handler)) }
  }

  /// Records a request, and returns its route and its fault.
  func record(_ request: HTTPStubRequest) throws(HTTPStubError) -> (handler: Handler, fault: HTTPStubFaults.Fault?) {
    let path = request.url.path(percentEncoded: false)
    let (handler, count) = state.withLock { state in
      state.requests.append(request)
      let count = state.counts["\(request.method) \(path)", default: 0]
      state.counts["\(request.method) \(path)"] = count + 1
      let route = state.routes.last {
        ($0.method == "*" || $0.method == request.method) && Self.matches($0.path, path)
      }
      return (route?.handler, count)
    }
    guard let handler else { throw .noRoute(method: request.method, path: path) }
    return (handler, faults?.fault(of: "\(request.method) \(path)", count: count))
  }

  /// Returns whether a path matches a pattern, in which `*` stands for any characters.
  static func matches(_ pattern: String, _ path: String) -> Bool {
    let parts = pattern.split(separator: "*", omittingEmptySubsequences: false)
    guard let first = parts.first, let last = parts.last, parts.count > 1 else { return pattern == path }
    guard path.hasPrefix(first), path.dropFirst(first.count).hasSuffix(last) else { return false }
    var rest = path.dropFirst(first.count).dropLast(last.count)
    // The shortest match of each part leaves the most for the following ones.
    for part in parts.dropFirst().dropLast() where !part.isEmpty {
      guard let found = rest.firstRange(of: part) else { return false }
      rest = rest[found.upperBound...]
    }
    return true
  }
}

/// An error in the use of a stub.
///
/// You see it when your code sends a request that your test did not expect. Further cases may be added, so end a
/// `switch` over it with `default`.
public enum HTTPStubError: Error, Sendable, Hashable, CustomStringConvertible {
  /// No route matches the request.
  case noRoute(method: String, path: String)

  /// What went wrong and how to fix it, in one line.
  public var description: String {
    switch self {
    case .noRoute(let method, let path): "the stub has no route for \(method) \(path); add one with `on`"
    }
  }
}
