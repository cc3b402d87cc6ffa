// SPDX-License-Identifier: MIT
// Copyright (c) 2026 Stepwise contributors

#if os(Linux) || os(Android)
  import CurlShim
  import Foundation
  import Stepwise
  import StepwiseFiles

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
    /// - Parameters:
    ///   - connectionsPerHost: The maximum number of connections to one host; further transfers wait for one,
    ///     also over HTTP/2.
    ///   - tls: The trust settings of the connections.
    ///   - proxy: The proxy of the connections.
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

    init(_ request: HTTPRequest, on loop: CurlLoop) {
      self.request = request
      host = CurlQueue.host(of: request.url)
      self.loop = loop
    }

    nonisolated(nonsending) func head() async throws -> HTTPResponseHead {
      if !inbox.isEnded, !loop.send(.start(self)) { fail(HTTPError.refused(reason: "the session has ended")) }
      return try await inbox.head()
    }

    nonisolated(nonsending) func chunk() async throws -> Data? {
      try await inbox.chunk { loop.send(.receive(self)) }
    }

    func cancel() {
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
      case upload(CurlTransfer, generation: Int, Result<Data?, any Error>)
      case end
    }

    private struct State {
      var commands: [Command] = []
      /// Whether the thread waits for the network, so that it has to be woken.
      var isAsleep = false
      var hasThread = false
      var isEnding = false

      enum Action {
        case nothing
        case begin
        case wake
        case refuse
      }

      mutating func add(_ command: Command) -> Action {
        switch command {
        case .start where isEnding: return .refuse
        case .start where !hasThread:
          hasThread = true
          commands.append(command)
          return .begin
        case .end: isEnding = true
        default: break
        }
        // Without a thread no work has started that the command could concern.
        guard hasThread else { return .nothing }
        commands.append(command)
        return exchange(&isAsleep, with: false) ? .wake : .nothing
      }
    }

    let settings: CurlSettings
    private let wakeup: Int32
    private let state = Lock(State())

    init(settings: CurlSettings) {
      self.settings = settings
      wakeup = stepwise_wakeup_create()
    }

    deinit { stepwise_close(wakeup) }

    /// Makes the thread perform a command; returns false when it has ended.
    @discardableResult
    func send(_ command: Command) -> Bool {
      switch state.withLock({ $0.add(command) }) {
      case .refuse: return false
      case .nothing: break
      case .wake: stepwise_wakeup_send(wakeup)
      case .begin:
        let thread = Thread { self.runThread() }
        thread.name = "StepwiseHTTP"
        thread.start()
      }
      return true
    }

    private func runThread() {
      if let engine = CurlEngine(self, wakeup: wakeup) { return engine.run() }
      state.withLock { $0.isEnding = true }
      for case .start(let transfer) in takeCommands() {
        transfer.fail(HTTPError.refused(reason: "the system has no descriptors left"))
      }
    }

    /// Removes and returns the commands, in order.
    func takeCommands() -> [Command] { state.withLock { exchange(&$0.commands, with: []) } }

    /// Returns whether the thread may wait for the network, because there are no commands.
    func fallAsleep() -> Bool {
      state.withLock { state in
        state.isAsleep = state.commands.isEmpty
        return state.isAsleep
      }
    }

    func wakeUp() { state.withLock { $0.isAsleep = false } }
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
      var found = hosts[host, default: Host()]
      let isFree = found.running < limit
      if isFree { found.running += 1 } else { found.waiting.append(transfer) }
      hosts[host] = found
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
      hosts[host]?.waiting.removeAll { $0 === transfer }
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

  /// The body of a request that libcurl reads, on the thread of the transport.
  final class CurlUpload {
    enum Read {
      /// This number of bytes; zero is the end.
      case bytes(Int)
      /// None are available yet.
      case wait
      case failure(any Error)
    }

    private enum Content {
      case bytes(Data)
      case file(OpenFile)
      case chunks(open: @Sendable () throws -> HTTPBody.Source)
    }

    /// A piece that was requested from the source and has not been read yet.
    private enum Piece {
      case none
      case some(Data)
      case end
      case failed(any Error)
    }

    /// The number of bytes, if it is known.
    let length: Int64?
    /// The number of bytes that libcurl has read.
    private(set) var sent: Int64 = 0
    private let content: Content
    private let loop: CurlLoop
    private unowned let transfer: CurlTransfer
    private var source: HTTPBody.Source?
    private var piece = Piece.none
    /// The task that requests the next piece, and the number of sources so far.
    private var pull: Task<Void, Never>?
    private var generation = 0

    init(_ body: HTTPBody.Content, of transfer: CurlTransfer, on loop: CurlLoop) throws {
      self.transfer = transfer
      self.loop = loop
      switch body {
      case .bytes(let data):
        content = .bytes(data)
        length = Int64(data.count)
      case .file(let file):
        let (open, length) = try UploadFile.open(file)
        content = .file(open)
        self.length = length
      case .chunks(let length, let open):
        content = .chunks(open: open)
        self.length = length
      }
    }

    func close() { pull?.cancel() }

    func read(into buffer: UnsafeMutableRawBufferPointer) -> Read {
      let result: Read
      switch content {
      case .bytes(let data):
        result = .bytes(data.dropFirst(Int(sent)).prefix(buffer.count).copyBytes(to: buffer))
      case .file(let file):
        let count = pread(file.descriptor, buffer.baseAddress, buffer.count, off_t(sent))
        result = count >= 0 ? .bytes(count) : .failure(POSIXError(POSIXError.Code(rawValue: errno) ?? .EIO))
      case .chunks(let open): result = readPiece(open, into: buffer)
      }
      guard case .bytes(let count) = result else { return result }
      sent += Int64(count)
      if count == 0, let length, sent < length { return .failure(Self.wrongLength) }
      return result
    }

    /// Moves back to the offset at which libcurl wants to restart; returns whether that is possible.
    func seek(to offset: Int64) -> Bool {
      switch content {
      case .bytes, .file:
        sent = offset
        return true
      case .chunks:
        guard offset == 0 else { return false }
        pull?.cancel()
        pull = nil
        (source, piece, sent) = (nil, .none, 0)
        generation += 1
        return true
      }
    }

    private func readPiece(
      _ open: () throws -> HTTPBody.Source,
      into buffer: UnsafeMutableRawBufferPointer
    ) -> Read {
      switch piece {
      case .none:
        do { try pullNext(open) } catch { return .failure(Self.failure(error)) }
        return .wait
      case .end: return .bytes(0)
      case .failed(let error): return .failure(Self.failure(error))
      case .some(let data):
        let room = min(buffer.count, length.map { Int(clamping: $0 - sent) } ?? .max)
        let count = data.prefix(room).copyBytes(to: buffer)
        piece = count < data.count ? .some(data.dropFirst(count)) : .none
        if case .none = piece {
          // The next piece is requested while this one is sent.
          do { try pullNext(open) } catch { piece = .failed(error) }
        }
        return .bytes(count)
      }
    }

    private func pullNext(_ open: () throws -> HTTPBody.Source) throws {
      guard pull == nil else { return }
      // Storing the closure again would wrap it once more for each piece.
      if source == nil { source = try open() }
      guard let source else { return }
      pull = Task { [loop, transfer, generation] in
        let result: Result<Data?, any Error>
        do {
          var data = try await source()
          while let found = data, found.isEmpty, !Task.isCancelled { data = try await source() }
          result = .success(data)
        } catch {
          result = .failure(error)
        }
        loop.send(.upload(transfer, generation: generation, result))
      }
    }

    func receive(_ result: Result<Data?, any Error>, generation: Int) {
      guard generation == self.generation else { return }
      pull = nil
      switch result {
      case .success(let data?): piece = .some(data)
      case .success(nil): piece = .end
      case .failure(let error): piece = .failed(error)
      }
    }

    private static func failure(_ error: any Error) -> HTTPError {
      error as? HTTPError ?? .request(underlying: error)
    }

    private static var wrongLength: HTTPError { .refused(reason: "the body is shorter than announced") }
  }
#endif
