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

    /// Whether libcurl can be used; the first access loads it, and says on standard error why it cannot be.
    private static let isAvailable: Bool = {
      let name = ProcessInfo.processInfo.environment["STEPWISE_LIBCURL"] ?? "libcurl.so.4"
      guard let problem = stepwise_curl_load(name) else { return true }
      Platform.reportToStandardError(
        "StepwiseHTTP: \(name): \(String(cString: problem)). Requests are refused; install libcurl."
      )
      return false
    }()

    /// Creates a transport; returns nil when libcurl cannot be loaded, which is reported once on standard error.
    ///
    /// The environment variable `STEPWISE_LIBCURL` names a file to load instead of `libcurl.so.4`.
    ///
    /// Further transfers than `connectionsPerHost` to one host wait for a connection, also over HTTP/2.
    public init?(connectionsPerHost: Int = 16, tls: HTTPTLSSettings = HTTPTLSSettings(), proxy: HTTPProxy = .system) {
      guard Self.isAvailable else { return nil }
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
      if !Self.isAvailable {
        transfer.fail(HTTPError.refused(reason: "libcurl cannot be loaded; install it, such as the package libcurl4"))
      }
      return transfer
    }

    /// Ends the thread once the transfers that have started are complete.
    public func invalidate() { loop.end() }
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
    let request: HTTPRequest
    /// The host whose connections it needs one of.
    let host: String
    /// Whether the URL has an IP address, or this machine's name, so that no name has to be looked up.
    let hasAddress: Bool
    let inbox = Inbox(capacity: 512 * 1024)
    private let loop: CurlLoop
    private let decoder = Lock<BodyDecoder?>(nil)

    init(_ request: HTTPRequest, on loop: CurlLoop) {
      self.request = request
      host = HTTPRequest.origin(of: request.url)
      let name = request.url.host ?? ""
      hasAddress = name == "localhost" || name.contains(":") || name.last?.isNumber ?? false
      self.loop = loop
    }

    func head() async throws -> HTTPResponseHead {
      let start: CurlLoop.Command = { [self] engine in
        engine?.start(self) ?? fail(HTTPError.refused(reason: "the system has no memory or descriptors left"))
      }
      if !inbox.isEnded, !loop.send(startsTransfer: true, start) {
        fail(HTTPError.refused(reason: "the session has ended"))
      }
      let head = try await inbox.head()
      if request.isDecoded { decoder.withLock { $0 = BodyDecoder(head) } }
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
        let data = try await inbox.chunk {
          loop.send { [self] engine in engine?.jobs[ObjectIdentifier(self)]?.resume(CurlValue.pauseReceiving) }
        }
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
      if inbox.update({ $0.cancel() }) { loop.send { [self] engine in engine?.cancel(self) } }
    }

    func fail(_ error: any Error) { inbox.update { $0.complete(error) } }
  }

  /// The body of a request that libcurl reads, on the thread of the transport.
  final class CurlUpload {
    /// The number of bytes, if it is known.
    let length: Int64?
    /// The number of bytes that libcurl has read.
    private(set) var sent: Int64 = 0
    /// Whether the server has answered and does not want the rest, for which libcurl would still wait.
    var isRefused = false
    private let content: HTTPBody.Content
    private let file: OpenFile?
    /// Called with what the source has returned, by a task.
    private let onPiece: @Sendable (Result<Data?, any Error>) -> Void
    private var source: HTTPBody.Source?
    /// What the source has returned and was not read yet: a piece, the end, or an error.
    private var piece: Result<Data?, any Error>?
    /// The task that requests the next piece.
    private var pull: Task<Void, Never>?

    init(_ content: HTTPBody.Content, onPiece: @escaping @Sendable (Result<Data?, any Error>) -> Void) throws {
      self.content = content
      self.onPiece = onPiece
      if case .file(let url) = content {
        (file, length) = try UploadFile.open(url)
      } else {
        (file, length) = (nil, content.length)
      }
    }

    func close() { pull?.cancel() }

    /// Whether the bytes come from a source, which cannot restart.
    var isSequence: Bool { if case .chunks = content { true } else { false } }

    /// Returns the number of bytes that it has copied, 0 at the end; nil when none are available yet.
    func read(into buffer: UnsafeMutableRawBufferPointer) throws -> Int? {
      // The server would take what exceeds the announced length for the next request on the connection.
      let room = length.map { min(buffer.count, Int(clamping: $0 - sent)) } ?? buffer.count
      guard room > 0 else { return 0 }
      let count: Int?
      switch content {
      case .bytes(let data): count = data.dropFirst(Int(sent)).prefix(room).copyBytes(to: buffer)
      case .file: count = pread(file?.descriptor ?? -1, buffer.baseAddress, room, off_t(sent))
      case .chunks(_, let open):
        count = try readPiece(open, into: UnsafeMutableRawBufferPointer(rebasing: buffer[..<room]))
      }
      guard let count else { return nil }
      guard count >= 0 else { throw POSIXError(POSIXError.Code(rawValue: errno) ?? .EIO) }
      sent += Int64(count)
      if count == 0, !isRefused, let length, sent < length {
        throw HTTPError.refused(reason: "the body is shorter than announced")
      }
      return count
    }

    /// Moves back to the offset at which libcurl wants to restart; returns whether that is possible.
    func seek(to offset: Int64) -> Bool {
      // Requests with a sequence have a new connection, after which libcurl does not restart.
      if isSequence { return false }
      sent = offset
      return true
    }

    private func readPiece(
      _ open: () throws -> HTTPBody.Source,
      into buffer: UnsafeMutableRawBufferPointer
    ) throws -> Int? {
      guard let piece else {
        if isRefused { return 0 }
        try pullNext(open)
        return nil
      }
      guard let data = try piece.get() else { return 0 }
      let count = data.prefix(buffer.count).copyBytes(to: buffer)
      self.piece = count < data.count ? .success(data.dropFirst(count)) : nil
      // The next piece is requested while this one is sent.
      if self.piece == nil { try pullNext(open) }
      return count
    }

    private func pullNext(_ open: () throws -> HTTPBody.Source) throws {
      guard pull == nil else { return }
      // Storing the closure again would wrap it once more for each piece.
      if source == nil { source = try open() }
      guard let source else { return }
      pull = Task { [onPiece] in
        await onPiece(
          .of {
            var data = try await source()
            while let found = data, found.isEmpty, !Task.isCancelled { data = try await source() }
            return data
          }
        )
      }
    }

    func receive(_ result: Result<Data?, any Error>) {
      pull = nil
      piece = result
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
    private static let reset: End? = systemFunction("inflateReset", in: "libz.so.1")
    private static let end: End? = systemFunction("inflateEnd", in: "libz.so.1")
    private static let pieceSize = 64 * 1024
    private static var malformed: HTTPError { .protocolError(reason: "its body cannot be decompressed") }
    /// Whether there is a zlib.
    static var isAvailable: Bool { begin != nil && run != nil && reset != nil && end != nil }

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
      var output = Data()
      while isFull || !input.isEmpty {
        if isEnded {
          // A body of gzip may have several members (RFC 1952, section 2.2).
          guard isGzip, let stream, Self.reset?(stream) == 0 else { throw Self.malformed }
          isEnded = false
        }
        guard stream != nil || isGzip || input.count > 1 else { break }
        if stream == nil { start() }
        guard let stream, let run = Self.run else { throw Self.malformed }
        // Once for all members, as a server may send many empty ones.
        if output.isEmpty { output = Data(count: Self.pieceSize) }
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

  extension HTTPRequest {
    /// Whether the body of the response is decompressed: a request with its own `Accept-Encoding` receives it as it is.
    var isDecoded: Bool { headers["Accept-Encoding"] == nil }
  }

  extension HTTPResponseHead {
    /// The encoding of the body, in lower case.
    var contentEncoding: String {
      headers["Content-Encoding"]?.lowercased().trimmingCharacters(in: .whitespaces) ?? "identity"
    }

    /// Whether the body has a transfer encoding that was not offered, which libcurl decompresses itself.
    var hasUnknownTransferEncoding: Bool {
      // Each response calls it, and most have no such field.
      guard let encoding = headers["Transfer-Encoding"]?.lowercased() else { return false }
      return ["gzip", "deflate", "br", "zstd", "compress"].contains(where: encoding.contains)
    }

    /// Whether the body has a content encoding that was not offered.
    var hasUnknownEncoding: Bool {
      switch contentEncoding {
      case "", "identity": return false
      case "gzip", "x-gzip", "deflate": return !BodyDecoder.isAvailable
      default: return true
      }
    }
  }

  /// The errors of failed transfers, without the URLs in libcurl's words.
  extension CurlJob {
    func number(_ info: stepwise_curl_info) -> Int { Int(stepwise_curl_easy_get_number(handle.easy, info)) }

    /// Returns the error for one of libcurl's numbers.
    func error(_ code: Int32) -> HTTPError {
      // The maximum size of a header line in libcurl.
      let lineLimit = 100 * 1024
      let words = String(cString: handle.errorText)
      let proxyStatus = number(curlinfo_proxyConnectStatus)
      if proxyStatus >= 400 { return .proxy(reason: "it answers \(proxyStatus)") }
      switch code {
      case 1, 3:
        if words.contains("HTTP/0.9") { return .protocolError(reason: "it has no status line") }
        // Once there is a connection, the response is meant, such as its version.
        return hasConnection ? .protocolError(reason: "its status line is malformed") : .invalidURL
      case 5: return .proxy(reason: "its host is not known")
      case 6: return isOnline ? .hostNotFound : .offline
      case 7: return isProxy(words) ? .proxy(reason: connecting.description) : connecting
      // 43 for a first line that continues none.
      case 8, 43: return .protocolError(reason: "its head is malformed")
      case 27, 100: return .headersTooLarge(limit: lineLimit)
      case 16 where words.isEmpty: return .connectionLost(reason: "the server takes no further request on it")
      case 16, 92, 95:
        return .protocolError(reason: "the frames of HTTP/2 are malformed, or the server cancelled the request")
      case 18: return HTTPError.tooShort
      case 28:
        let hasLimit = transfer.request.deadlines?.connect != nil
        return hasLimit ? .timedOut(.connect) : .connectionFailed(reason: "the host does not answer")
      case 52: return HTTPError.noAnswer
      case 55: return .connectionLost(reason: "the server closed it while the request was sent")
      case 56: return receiving(words.lowercased(), lineLimit: lineLimit)
      case 61: return .protocolError(reason: "its body has a transfer encoding that was not offered")
      case 65: return .connectionLost(reason: "the server closed it, and the request cannot be sent again")
      case 77: return .refused(reason: "the file of certificate authorities cannot be read")
      case 97: return .proxy(reason: "it breaks off")
      case 35, 53, 54, 58, 59, 60, 64, 66, 80, 82, 83, 90, 91, 98: return .tls(security(code, words.lowercased()))
      default: return .protocolError(reason: "libcurl reports error \(code)")
      }
    }

    /// Whether libcurl names another host or port than the URL does, which is then that of the proxy.
    private func isProxy(_ words: String) -> Bool {
      let url = transfer.request.url
      guard engine.loop.settings.mayHaveProxy, let start = words.range(of: "Failed to connect to ") else {
        return false
      }
      let parts = words[start.upperBound...].split(separator: " ")
      guard parts.count > 2, parts[1] == "port" else { return false }
      let port = url.port ?? (url.scheme == "https" ? 443 : 80)
      return parts[0].lowercased() != url.host?.lowercased().trimmingCharacters(in: CharacterSet(charactersIn: "[]"))
        || Int(parts[2].prefix { $0.isNumber }) != port
    }

    private var connecting: HTTPError {
      let systemError = connectionError
      switch systemError {
      case ENETUNREACH, ENETDOWN: return .offline
      case EHOSTUNREACH: return .connectionFailed(reason: "the host cannot be reached")
      case ETIMEDOUT: return .connectionFailed(reason: "the host does not answer")
      case ECONNREFUSED, 0: return .connectionRefused
      default: return .connectionFailed(reason: String(cString: strerror(systemError)))
      }
    }

    /// libcurl uses one number for all errors in received data.
    private func receiving(_ words: String, lineLimit: Int) -> HTTPError {
      if words.contains("proxy") { return .proxy(reason: "it breaks off") }
      if words.contains("alert") { return .tls(words.contains("certificate") ? .clientCertificate : .handshake) }
      if words.contains("too large response headers") { return .headersTooLarge(limit: 3 * lineLimit) }
      let isBroken = ["reset", "closed", "eof", "recv failure", "broken pipe"].contains { words.contains($0) }
      if isBroken || number(curlinfo_systemError) == Int(ECONNRESET) {
        return .connectionLost(reason: "the server closed it")
      }
      return .protocolError(reason: "its head or its chunks are malformed")
    }

    private func security(_ code: Int32, _ words: String) -> HTTPTLSFailure {
      switch code {
      case 90: return .pinMismatch
      case 58, 98: return .clientCertificate
      case 60:
        // The numbers are OpenSSL's; the texts are those of all libraries.
        let verifyResult = number(curlinfo_verifyResult)
        if words.contains("expired") || words.contains("not yet valid") || [9, 10].contains(verifyResult) {
          return .expiredCertificate
        }
        let isNameWrong = ["subject name", "hostname", "host name", "does not match"].contains { words.contains($0) }
        return isNameWrong || verifyResult == 62 ? .wrongHost : .untrustedCertificate
      default: return words.contains("certificate required") ? .clientCertificate : .handshake
      }
    }

    /// Whether there is an interface other than the loopback that has an address.
    private var isOnline: Bool {
      var first: UnsafeMutablePointer<ifaddrs>?
      guard getifaddrs(&first) == 0 else { return true }
      defer { freeifaddrs(first) }
      var entry = first
      while let interface = entry?.pointee {
        entry = interface.ifa_next
        guard let family = interface.ifa_addr?.pointee.sa_family else { continue }
        let isUp = interface.ifa_flags & UInt32(IFF_UP) != 0
        let isLoopback = interface.ifa_flags & UInt32(IFF_LOOPBACK) != 0
        if isUp, !isLoopback, family == sa_family_t(AF_INET) || family == sa_family_t(AF_INET6) { return true }
      }
      return false
    }
  }

  /// Returns a function of one of the system's libraries, which is loaded at run time; nil where there is none.
  func systemFunction<Function>(_ name: String, in libraries: String...) -> Function? {
    for library in libraries {
      guard let library = stepwise_open_library(library), let function = dlsym(library, name) else { continue }
      // Safety: a function of C is a pointer, and the caller names its type as the library documents it.
      return unsafeBitCast(function, to: Function.self)
    }
    return nil
  }
#endif
