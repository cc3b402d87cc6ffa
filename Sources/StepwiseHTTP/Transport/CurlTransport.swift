// SPDX-License-Identifier: MIT
// Copyright (c) 2026 Stepwise contributors

#if os(Linux) || os(Android)
  import CurlShim
  import Foundation
  import Stepwise

  /// A transport on the system's libcurl, which is loaded on first use; the transport of Linux.
  ///
  /// One thread runs all transfers and waits for the network. It starts with the first transfer and ends with the
  /// transport.
  public final class CurlTransport: HTTPTransport {
    private let loop: CurlLoop

    /// Creates a transport; returns nil when libcurl cannot be loaded, which is reported once on standard error.
    ///
    /// The environment variable `STEPWISE_LIBCURL` names a file to load instead of `libcurl.so.4`.
    ///
    /// Further transfers than `connectionsPerHost` to one host wait for a connection, also over HTTP/2.
    public init?(
      connectionsPerHost: Int = 16,
      tls: HTTPTLSSettings = HTTPTLSSettings(),
      proxy: HTTPProxy = .system
    ) {
      guard CurlLibrary.isAvailable else { return nil }
      loop = CurlLoop(
        settings: CurlSettings(connectionsPerHost: min(max(1, connectionsPerHost), 65_536), tls: tls, proxy: proxy)
      )
    }

    deinit { invalidate() }

    /// Creates the transfer of one request.
    public func transfer(_ request: HTTPRequest) -> any HTTPTransfer { CurlTransfer(request, on: loop) }

    /// Ends the thread once the transfers that have started are complete.
    public func invalidate() { loop.send(.end) }
  }

  /// The transport where libcurl cannot be loaded: URLSession on Linux ends the process at a trailer.
  final class MissingTransport: HTTPTransport, HTTPTransfer {
    func transfer(_ request: HTTPRequest) -> any HTTPTransfer { self }

    func invalidate() {}

    nonisolated(nonsending) func head() async throws -> HTTPResponseHead {
      throw HTTPError.refused(reason: "libcurl cannot be loaded; install it, such as the package libcurl4")
    }

    nonisolated(nonsending) func chunk() async throws -> Data? { nil }

    func cancel() {}
  }

  /// The settings that all transfers of a ``CurlTransport`` share.
  struct CurlSettings: Sendable {
    var connectionsPerHost: Int
    var tls = HTTPTLSSettings()
    var proxy = HTTPProxy.system

    /// Whether there may be a proxy between this machine and a server.
    var mayHaveProxy: Bool {
      switch proxy.kind {
      case .none: false
      case .server: true
      case .system:
        ProcessInfo.processInfo.environment.keys.map { $0.lowercased() }
          .contains { $0.hasSuffix("_proxy") && $0 != "no_proxy" }
      }
    }
  }

  /// One transfer of a ``CurlTransport``, as its consumer sees it.
  final class CurlTransfer: HTTPTransfer {
    /// The number of bytes of a body that are read ahead.
    private static let capacity = 512 * 1024

    let request: HTTPRequest
    /// The host whose connections it needs one of.
    let host: String
    let inbox = Inbox(capacity: capacity)
    private let loop: CurlLoop
    private let decoder = Lock<BodyDecoder?>(nil)

    init(_ request: HTTPRequest, on loop: CurlLoop) {
      self.request = request
      host = CurlQueue.host(of: request.url)
      self.loop = loop
    }

    nonisolated(nonsending) func head() async throws -> HTTPResponseHead {
      // Until the thread has begun it, which it may do long after other transfers to the host.
      request.onWait?(true)
      if !inbox.isEnded, !loop.send(.start(self)) { fail(HTTPError.refused(reason: "the session has ended")) }
      let head = try await inbox.head()
      decoder.withLock { $0 = BodyDecoder(head) }
      return head
    }

    nonisolated(nonsending) func chunk() async throws -> Data? {
      while true {
        do {
          if let piece = try decoder.withLock({ try $0?.next() }) { return piece }
        } catch {
          cancel()
          throw error
        }
        let data = try await inbox.chunk { loop.send(.receive(self)) }
        let isComplete = decoder.withLock { decoder -> Bool? in
          if let data { decoder?.add(data) }
          return decoder?.isComplete
        }
        guard let isComplete else { return data }
        guard data == nil else { continue }
        guard isComplete else { throw HTTPError.protocolError(reason: "its body ends before it is decompressed") }
        return nil
      }
    }

    func cancel() {
      decoder.withLock { $0 = nil }
      let wasOpen = inbox.update { $0.cancel() }
      inbox.wake()
      if wasOpen { loop.send(.cancel(self)) }
    }

    func fail(_ error: any Error) {
      inbox.update { $0.complete(error) }
      inbox.wake()
    }
  }

  /// The thread of a transport, as other threads see it: they send it commands.
  final class CurlLoop: Sendable {
    enum Command: Sendable {
      case start(CurlTransfer)
      case cancel(CurlTransfer)
      /// The consumer has received the excess bytes.
      case receive(CurlTransfer)
      /// The source of a body has returned a piece, its end, or an error.
      case upload(CurlTransfer, Result<Data?, any Error>)
      case end
    }

    private struct State {
      var commands: [Command] = []
      /// Whether the thread waits for the network, so that it has to be woken.
      var isAsleep = false
      var hasThread = false
      var isEnding = false
    }

    let settings: CurlSettings
    /// What wakes the thread; negative when the system has no descriptors left.
    let wakeup = stepwise_wakeup_create()
    private let state = Lock(State())

    init(settings: CurlSettings) { self.settings = settings }

    deinit { if wakeup >= 0 { close(wakeup) } }

    /// Makes the thread perform a command; returns false when it has ended.
    @discardableResult
    func send(_ command: Command) -> Bool {
      let (isSent, begins, wakes) = state.withLock { state in
        var begins = false
        switch command {
        case .start:
          if state.isEnding { return (false, false, false) }
          begins = !exchange(&state.hasThread, with: true)
        case .end: state.isEnding = true
        default: break
        }
        // Without a thread no work has started that the command could concern.
        if state.hasThread { state.commands.append(command) }
        return (true, begins, exchange(&state.isAsleep, with: false))
      }
      if wakes { stepwise_wakeup_send(wakeup) }
      if begins {
        let thread = Thread { self.runThread() }
        thread.name = "StepwiseHTTP"
        thread.start()
      }
      return isSent
    }

    private func runThread() {
      if let engine = CurlEngine(self) { return engine.run() }
      state.withLock { $0.isEnding = true }
      for case .start(let transfer) in takeCommands() {
        transfer.fail(HTTPError.refused(reason: "the system has no memory or descriptors left"))
      }
    }

    /// Removes and returns the commands, in order; the thread is awake.
    func takeCommands() -> [Command] {
      state.withLock { state in
        state.isAsleep = false
        return exchange(&state.commands, with: [])
      }
    }

    /// Returns whether the thread may wait for the network, because there are no commands.
    func fallAsleep() -> Bool {
      state.withLock { state in
        state.isAsleep = state.commands.isEmpty
        return state.isAsleep
      }
    }
  }

  /// The transfers that wait until there are fewer connections to their host than allowed.
  ///
  /// libcurl has the same limit, but prepares a transfer completely before it finds that it must wait, and again.
  struct CurlQueue {
    private struct Host {
      var running = 0
      var waiting: ArraySlice<CurlTransfer> = []
    }

    private let limit: Int
    private var hosts: [String: Host] = [:]
    init(limit: Int) { self.limit = limit }

    /// Returns whether a transfer may start; otherwise it waits until `next(for:)` returns it.
    mutating func add(_ transfer: CurlTransfer, to host: String) -> Bool {
      let isFree = hosts[host, default: Host()].running < limit
      if isFree { hosts[host, default: Host()].running += 1 } else { hosts[host]?.waiting.append(transfer) }
      return isFree
    }

    /// A transfer to a host has ended; returns the one that starts in its place.
    mutating func next(for host: String) -> CurlTransfer? {
      if let next = hosts[host]?.waiting.popFirst() { return next }
      hosts[host]?.running -= 1
      if hosts[host]?.running == 0 { hosts[host] = nil }
      return nil
    }

    /// Removes a cancelled transfer, if it waits.
    mutating func remove(_ transfer: CurlTransfer, from host: String) {
      if let index = hosts[host]?.waiting.firstIndex(where: { $0 === transfer }) {
        hosts[host]?.waiting.remove(at: index)
      }
    }

    /// The scheme, host and port of a URL, as it spells them.
    static func host(of url: URL) -> String {
      var text = url.absoluteString
      return text.withUTF8 { bytes in
        var slashes = 0
        let end = bytes.firstIndex { byte in
          if byte == UInt8(ascii: "/") { slashes += 1 }
          return slashes == 3
        }
        return String(decoding: bytes[..<(end ?? bytes.endIndex)], as: UTF8.self)
      }
    }
  }
#endif
