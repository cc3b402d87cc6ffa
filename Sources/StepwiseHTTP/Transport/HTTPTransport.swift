// SPDX-License-Identifier: MIT
// Copyright (c) 2026 Stepwise contributors

public import Foundation
import Stepwise

/// A type that carries requests to servers: URLSession, libcurl, or a stub in a test.
///
/// A transport only sends requests over the network. An ``HTTPSession`` on top of it follows redirects, stores cookies,
/// enforces deadlines, limits bodies and adds credentials: these work in the same way with each transport. A transport
/// therefore
///
/// - returns every response unchanged: a redirect, a 401 and a 407 are responses;
/// - sends exactly the header fields of the request, and adds only what the protocol needs: `Host`, `Content-Length` or
///   `Transfer-Encoding`, `Connection`, `Accept-Encoding`, and an `Accept` and a `User-Agent` when there are none;
/// - stores no cookies, caches nothing, and has no deadlines;
/// - decompresses the body and leaves the header fields unchanged;
/// - throws ``HTTPError``, which contains no URL, header value or password.
///
/// To use your own transport, pass it to ``HTTPSession/init(transport:cookies:bodyLimit:)``.
public protocol HTTPTransport: Sendable {
  /// Creates the transfer of one request; does nothing until its ``HTTPTransfer/head()`` is called.
  ///
  /// The request is checked: it has an absolute URL of `http` or `https` without user name, password and fragment, and
  /// cookies and credentials in its headers. Of its rules, only the `connect` deadline is for the transport.
  func transfer(_ request: HTTPRequest) -> any HTTPTransfer

  /// Shuts down after in-flight transfers complete.
  ///
  /// A transfer that starts later throws ``HTTPError/refused(reason:)``. May be called any number of times.
  func invalidate()
}

/// One request to a server, and its response.
///
/// One consumer calls ``head()`` once, then ``chunk()`` until that returns nil. You can call ``cancel()`` from
/// anywhere at any time. A consumer that does not read to the end calls ``cancel()``.
public protocol HTTPTransfer: Sendable {
  /// Sends the request, and suspends until the head of the final response has arrived.
  ///
  /// Responses of status 100 to 199 are skipped, except for 101. Cancelling the task has no effect: call ``cancel()``.
  ///
  /// - Throws: ``HTTPError``; `CancellationError` after ``cancel()``, also when that was called before. After an error
  ///   there is nothing more to read.
  func head() async throws -> HTTPResponseHead

  /// Returns the next piece of the body, decompressed and not empty, or nil at its end; suspends until it has arrived.
  ///
  /// The transport reads ahead a bounded amount, and then makes the server wait until the consumer calls again. The
  /// transport chooses the amount and the size of a piece, up to some hundred kilobytes.
  ///
  /// - Throws: ``HTTPError``; `CancellationError` after ``cancel()``.
  func chunk() async throws -> Data?

  /// Cancels the transfer and closes its connection, unless the response is complete.
  ///
  /// A suspended call throws `CancellationError` immediately, without waiting for the network, and so does a later one.
  /// May be called any number of times, from any thread; does not block.
  func cancel()
}

/// The trust settings and the client certificate of a session.
///
/// You need them for a server with a certificate of your company, a pinned key, or a client certificate. On Linux they
/// need libcurl: where it cannot be loaded, every request of a session with such settings is refused.
///
/// This prints the pin of a server's public key:
/// ```sh
/// openssl s_client -connect example.org:443 < /dev/null | openssl x509 -pubkey -noout |
///   openssl pkey -pubin -outform der | openssl dgst -sha256 -binary | base64
/// ```
public struct HTTPTLSSettings: Sendable {
  /// A file with a certificate and its private key.
  public struct ClientCertificate: Sendable, HTTPConcealed {
    /// A PKCS #12 file.
    let file: URL
    let password: String

    /// Creates a client certificate from a PKCS #12 file (`.p12`, `.pfx`) and the password that encrypts it.
    public init(pkcs12 file: URL, password: String) {
      self.file = file
      self.password = password
    }

    /// A text without the certificate.
    public var description: String { "ClientCertificate(hidden)" }
  }

  /// A PEM file of certificate authorities, which are trusted instead of the system's; nil for the system's.
  public var certificateAuthorities: URL?

  /// The allowed public keys of servers, each the Base64 of the SHA-256 of its `SubjectPublicKeyInfo`; empty for any.
  ///
  /// Pins are checked in addition to the certificate.
  public var pinnedPublicKeys: Set<String>

  /// The certificate for servers that request one.
  public var clientCertificate: ClientCertificate?

  /// Creates settings; without arguments they are the system's.
  public init(
    certificateAuthorities: URL? = nil,
    pinnedPublicKeys: Set<String> = [],
    clientCertificate: ClientCertificate? = nil
  ) {
    self.certificateAuthorities = certificateAuthorities
    self.pinnedPublicKeys = pinnedPublicKeys
    self.clientCertificate = clientCertificate
  }
}

/// The proxy of a session.
///
/// Requests use that of the system unless you choose another.
public struct HTTPProxy: Sendable, HTTPConcealed {
  enum Kind: Sendable {
    case system
    case none
    case server(URL, bypassing: [String])
  }

  let kind: Kind

  /// The system's proxy: the variables `http_proxy`, `https_proxy`, `all_proxy` and `no_proxy` on Linux, interpreted
  /// like curl does, and the network settings on Apple's platforms.
  public static var system: HTTPProxy { HTTPProxy(kind: .system) }

  /// No proxy, regardless of the system's settings.
  public static var none: HTTPProxy { HTTPProxy(kind: .none) }

  /// A proxy, such as `http://proxy.example:3128`, whose user name and password are sent only to it.
  ///
  /// The user name and password cannot contain control characters.
  /// The hosts of the list, including their subdomains, are reached without the proxy.
  public static func server(_ url: URL, bypassing hosts: [String] = []) -> HTTPProxy {
    HTTPProxy(kind: .server(url, bypassing: hosts))
  }

  /// The kind, without the URL, which may contain a password.
  public var description: String {
    switch kind {
    case .system: "HTTPProxy(system)"
    case .none: "HTTPProxy(none)"
    case .server: "HTTPProxy(server)"
    }
  }
}

/// The received parts of a response: the network adds them, one consumer waits for them.
package final class Inbox: Sendable {
  private typealias Waiter = UnsafeContinuation<InboxMachine.Part, any Error>

  private struct State {
    var machine: InboxMachine
    var waiter: Waiter?
  }

  private let state: Lock<State>

  /// Creates an inbox.
  ///
  /// - Parameter capacity: The number of bytes from which the network has to wait.
  package init(capacity: Int) { state = Lock(State(machine: InboxMachine(capacity: capacity))) }

  package var isEnded: Bool { state.withLock { $0.machine.isEnded } }

  /// Whether the network has to wait.
  var isHeld: Bool { state.withLock { $0.machine.isHeld } }

  /// Changes the contents, and resumes the consumer if the part that it waits for has arrived.
  @discardableResult
  package func update<Result>(_ change: (inout sending InboxMachine) -> sending Result) -> sending Result {
    let result = updateWithoutWaking(change)
    wake()
    return result
  }

  /// Changes the contents without waking the consumer; ``wake()`` has to follow.
  func updateWithoutWaking<Result>(_ change: (inout sending InboxMachine) -> sending Result) -> sending Result {
    state.withLock { state in change(&state.machine) }
  }

  /// Resumes the consumer if the part that it waits for has arrived; returns whether the network may continue.
  @discardableResult
  func wake() -> Bool {
    let (waiter, delivery) = state.withLock { state in
      let delivery = state.waiter == nil ? nil : state.machine.take()
      return (delivery == nil ? nil : state.waiter.take(), delivery)
    }
    guard let waiter, let delivery else { return false }
    state.resuming { waiter.resume(with: delivery.part) }
    return delivery.releasesNetwork
  }

  /// Waits for the head.
  package func head() async throws -> HTTPResponseHead {
    guard case .head(let head) = try await next(release: {}) else { throw HTTPError.noAnswer }
    return head
  }

  /// Waits for the next piece of the body; nil at its end.
  ///
  /// Calls `release` when the network was waiting and may continue.
  package func chunk(release: () -> Void) async throws -> Data? {
    guard case .chunk(let data) = try await next(release: release) else { return nil }
    return data
  }

  private func next(release: () -> Void) async throws -> InboxMachine.Part {
    if let delivery = state.withLock({ $0.machine.take() }) {
      if delivery.releasesNetwork { release() }
      return try delivery.part.get()
    }
    #if TSAN
      defer { state.waitForResumptions() }
    #endif
    return try await withUnsafeThrowingContinuation { (continuation: Waiter) in
      state.withLock { $0.waiter = continuation }
      if wake() { release() }
    }
  }
}

/// The parts of a response that have arrived and were not consumed yet, as a value.
///
/// After an end nothing more arrives. Bytes that arrived before a failure are delivered before it; after a cancellation
/// nothing is delivered.
package struct InboxMachine {
  enum Part {
    case head(HTTPResponseHead)
    /// A piece of the body; nil for its end.
    case chunk(Data?)
  }

  /// What the consumer receives, and whether the network may continue.
  typealias Delivery = (part: Result<Part, any Error>, releasesNetwork: Bool)

  /// The number of bytes from which the network has to wait.
  private let capacity: Int
  private var head: HTTPResponseHead?
  private var hasHead = false
  private var bytes = Data()
  private var end: Result<Void, any Error>?
  /// Whether the network has to wait.
  private(set) var isHeld = false

  package init(capacity: Int) { self.capacity = capacity }

  package var isEnded: Bool { end != nil }

  package mutating func receive(_ head: HTTPResponseHead) {
    if end == nil, !hasHead { (self.head, hasHead) = (head, true) }
  }

  /// Adds the bytes, unless there are too many already; returns whether it did.
  ///
  /// Bytes after the end are accepted and dropped.
  mutating func offer(_ bytes: UnsafeRawBufferPointer) -> Bool {
    guard end == nil, hasHead else { return true }
    guard self.bytes.isEmpty || self.bytes.count + bytes.count <= capacity else {
      isHeld = true
      return false
    }
    self.bytes.append(contentsOf: bytes)
    return true
  }

  /// Adds the bytes, however many there are.
  package mutating func receive(_ bytes: Data) {
    guard end == nil, hasHead else { return }
    self.bytes.append(bytes)
    isHeld = isHeld || self.bytes.count >= capacity
  }

  package mutating func complete(_ failure: (any Error)?) {
    guard end == nil else { return }
    let error = failure ?? (hasHead ? nil : HTTPError.noAnswer)
    (end, isHeld) = (error.map { .failure($0) } ?? .success(()), false)
  }

  /// Returns whether there was anything left to cancel.
  package mutating func cancel() -> Bool {
    let wasOpen = end == nil
    if case .success = end, bytes.isEmpty { return false }
    (end, isHeld, head, bytes) = (.failure(CancellationError()), false, nil, Data())
    return wasOpen
  }

  /// Removes the head, or else the bytes, and returns the end after them; nil when the consumer has to wait.
  mutating func take() -> Delivery? {
    if let head = head.take() { return (.success(.head(head)), false) }
    guard bytes.isEmpty else {
      return (.success(.chunk(exchange(&bytes, with: Data()))), exchange(&isHeld, with: false))
    }
    return end.map { end in (end.map { .chunk(nil) }, false) }
  }
}
