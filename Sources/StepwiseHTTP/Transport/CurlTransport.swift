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
      loop = CurlLoop(settings: CurlSettings(connectionsPerHost: connectionsPerHost, tls: tls, proxy: proxy))
    }

    /// Creates a transport that refuses every transfer when libcurl cannot be loaded.
    ///
    /// The alternative would be URLSession, which ends the process at a trailer on Linux.
    init(_ settings: CurlSettings) { loop = CurlLoop(settings: settings) }

    deinit { invalidate() }

    /// Creates the transfer of one request.
    public func transfer(_ request: HTTPRequest) -> any HTTPTransfer {
      let transfer = CurlTransfer(request, on: loop)
      if !CurlLibrary.isAvailable {
        transfer.fail(HTTPError.refused(reason: "libcurl cannot be loaded; install it, such as the package libcurl4"))
      }
      return transfer
    }

    /// Ends the thread once the transfers that have started are complete.
    public func invalidate() { loop.send(.end) }
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
      host = HTTPRequest.origin(of: request.url)
      self.loop = loop
    }

    func head() async throws -> HTTPResponseHead {
      if !inbox.isEnded, !loop.send(.start(self)) { fail(HTTPError.refused(reason: "the session has ended")) }
      let head = try await inbox.head()
      decoder.withLock { $0 = BodyDecoder(head) }
      return head
    }

    func chunk() async throws -> Data? {
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
      /// What wakes the thread; negative before there is one.
      var wakeup: Int32 = -1
    }

    let settings: CurlSettings
    private let state = Lock(State())

    init(settings: CurlSettings) { self.settings = settings }

    deinit {
      let wakeup = state.withLock { $0.wakeup }
      if wakeup >= 0 { close(wakeup) }
    }

    /// Makes the thread perform a command; returns false when it has ended.
    @discardableResult
    func send(_ command: Command) -> Bool {
      let (isSent, begins, wakeup) = state.withLock { state -> (Bool, Bool, Int32?) in
        var begins = false
        switch command {
        case .start:
          if state.isEnding { return (false, false, nil) }
          begins = !exchange(&state.hasThread, with: true)
        case .end: state.isEnding = true
        default: break
        }
        // Without a thread no work has started that the command could concern.
        if state.hasThread { state.commands.append(command) }
        return (true, begins, exchange(&state.isAsleep, with: false) ? state.wakeup : nil)
      }
      if let wakeup { eventfd_write(wakeup, 1) }
      if begins {
        let thread = Thread { self.runThread() }
        thread.name = "StepwiseHTTP"
        thread.start()
      }
      return isSent
    }

    private func runThread() {
      let wakeup = state.withLock { state in
        if state.wakeup < 0 { state.wakeup = eventfd(0, O_CLOEXEC | O_NONBLOCK) }
        return state.wakeup
      }
      CurlEngine(self, wakeup: wakeup)?.run()
      let commands = state.withLock { state in
        state.hasThread = false
        return exchange(&state.commands, with: [])
      }
      // An engine has performed them; without one, the next transfer tries again.
      for case .start(let transfer) in commands {
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

  /// Decompresses a body piece by piece, as its consumer reads it, by the system's zlib.
  ///
  /// libcurl decompresses all that it has received: while a consumer does not read, it stores up to 64 MiB of what one
  /// buffer decompresses to. It also takes a body that ends too early for a whole one.
  struct BodyDecoder: ~Copyable {
    private typealias Stream = UnsafeMutablePointer<stepwise_zlib_stream>
    private typealias Begin = @convention(c) (Stream, _ bits: Int32, UnsafePointer<CChar>, _ size: Int32) -> Int32
    private typealias Run = @convention(c) (Stream, _ flush: Int32) -> Int32
    private typealias End = @convention(c) (Stream) -> Int32

    private static let begin: Begin? = systemFunction("inflateInit2_", in: "libz.so.1")
    private static let run: Run? = systemFunction("inflate", in: "libz.so.1")
    private static let end: End? = systemFunction("inflateEnd", in: "libz.so.1")
    private static let pieceSize = 64 * 1024
    private static var malformed: HTTPError { .protocolError(reason: "its body cannot be decompressed") }
    /// Whether there is a zlib.
    static var isAvailable: Bool { begin != nil && run != nil && end != nil }

    private let isGzip: Bool
    private var stream: Stream?
    private var input = Data()
    /// Whether the latest piece was full, so that there may be more without further input.
    private var isFull = false
    private var isEnded = false

    /// Nil for a body that is not compressed.
    init?(_ head: HTTPResponseHead) {
      guard ["gzip", "x-gzip", "deflate"].contains(head.contentEncoding) else { return nil }
      isGzip = head.contentEncoding != "deflate"
    }

    deinit {
      guard let stream else { return }
      _ = Self.end?(stream)
      stream.deallocate()
    }

    /// Whether nothing is missing; a body without bytes is complete.
    var isComplete: Bool { isEnded || stream == nil && input.isEmpty }

    mutating func add(_ data: Data) { input = input.isEmpty ? data : input + data }

    /// Returns the next piece; nil when it needs further input.
    mutating func next() throws(HTTPError) -> Data? {
      while isFull || !input.isEmpty {
        guard !isEnded else { throw Self.malformed }
        guard stream != nil || isGzip || input.count > 1 else { break }
        if stream == nil { start() }
        guard let stream, let run = Self.run else { throw Self.malformed }
        var output = Data(count: Self.pieceSize)
        let result = input.withUnsafeBytes { input in
          output.withUnsafeMutableBytes { output in
            stream.pointee.input = input.baseAddress?.assumingMemoryBound(to: UInt8.self)
            stream.pointee.input_count = UInt32(clamping: input.count)
            stream.pointee.output = output.baseAddress?.assumingMemoryBound(to: UInt8.self)
            stream.pointee.output_count = UInt32(Self.pieceSize)
            return run(stream, 0)
          }
        }
        let (isDone, noProgress): (Int32, Int32) = (1, -5)
        guard [0, isDone, noProgress].contains(result) else { throw Self.malformed }
        let (left, written) = (Int(stream.pointee.input_count), Self.pieceSize - Int(stream.pointee.output_count))
        let isStuck = left == input.count
        input = left > 0 ? input.suffix(left) : Data()
        isEnded = result == isDone
        isFull = written == Self.pieceSize && !isEnded
        if written > 0 { return output.prefix(written) }
        if isStuck { break }
      }
      return nil
    }

    private mutating func start() {
      // The formats of gzip, of zlib (RFC 1950), and of some servers: without the two bytes in front.
      let (first, second) = (Int(input[input.startIndex]), Int(input.dropFirst().first ?? 0))
      let hasZlibHead = first & 0x0F == 8 && (first << 8 | second) % 31 == 0
      let stream = Stream.allocate(capacity: 1)
      stream.initialize(to: stepwise_zlib_stream())
      let size = Int32(MemoryLayout<stepwise_zlib_stream>.size)
      guard Self.begin?(stream, isGzip ? 31 : hasZlibHead ? 15 : -15, "1.2.0", size) == 0 else {
        return stream.deallocate()
      }
      self.stream = stream
    }
  }

  extension HTTPResponseHead {
    /// The encoding of the body, in lower case.
    var contentEncoding: String {
      headers["Content-Encoding"]?.lowercased().trimmingCharacters(in: .whitespaces) ?? "identity"
    }

    /// Whether the body has an encoding that was not offered.
    var hasUnknownEncoding: Bool {
      // libcurl decompresses these itself. Each response calls it, and most have no such field.
      if let transfer = headers["Transfer-Encoding"]?.lowercased(),
        ["gzip", "deflate", "br", "zstd", "compress"].contains(where: transfer.contains)
      {
        return true
      }
      switch contentEncoding {
      case "", "identity": return false
      case "gzip", "x-gzip", "deflate": return !BodyDecoder.isAvailable
      default: return true
      }
    }
  }
#endif
