// SPDX-License-Identifier: MIT
// Copyright (c) 2026 Stepwise contributors

#if os(Linux) || os(Android)
  import CurlShim
  import Foundation

  /// A handle of libcurl with its callbacks and options, which serves one transfer after the other.
  ///
  /// Each transfer sets only the options that differ from those of the one before: setting all of them was a twentieth of
  /// what a GET costs.
  final class CurlHandle {
    typealias Option = stepwise_curl_option

    let easy: UnsafeMutableRawPointer
    /// The transfer that the handle serves.
    var job: CurlJob?
    /// The values of the options that are numbers.
    private var numbers: [UInt32: Int64] = [:]
    private var customMethod: String?
    private var headers: HTTPHeaders?
    private var headerList: UnsafeMutableRawPointer?
    /// libcurl's own words about the latest transfer.
    let errorText: UnsafeMutablePointer<CChar>

    init(_ engine: CurlEngine) throws {
      guard let easy = stepwise_curl_easy_init() else { throw Self.noMemory }
      self.easy = easy
      // The size that libcurl requires.
      errorText = .allocate(capacity: 256)
      errorText.initialize(repeating: 0, count: 256)
      try reset(engine)
    }

    /// Makes it as good as new, with the options that all transfers of an engine share.
    ///
    /// After an error the handle cannot be used.
    func reset(_ engine: CurlEngine) throws {
      stepwise_curl_easy_reset(easy)
      (numbers, customMethod, headers) = ([:], nil, nil)
      try setCallbacks(engine)
      if let share = engine.share { try set(curlopt_share, share) }
      try set(curlopt_noSignal, 1)
      // Where the names and IP addresses of a URL lead is decided above.
      try set(curlopt_pathAsIs, 1)
      try set(curlopt_userAgent, "StepwiseHTTP")
      // An older libcurl may not know these.
      try? set(curlopt_protocols, "http,https")
      try? set(curlopt_bufferSize, 32 * 1024)
      try? set(curlopt_uploadBufferSize, 128 * 1024)
      try? set(curlopt_suppressConnectHeaders, 1)
      // Otherwise cancelling a transfer waits until its host's name has been looked up.
      try? set(curlopt_quickExit, 1)
      try apply(engine.loop.settings.tls)
      try apply(engine.loop.settings.proxy)
    }

    deinit {
      stepwise_curl_easy_cleanup(easy)
      stepwise_curl_slist_free_all(headerList)
      errorText.deallocate()
    }

    private static var noMemory: HTTPError { .refused(reason: "the system has no memory left") }

    /// Sets the options of a transfer; after an error the handle cannot be used.
    func prepare(_ job: CurlJob) throws {
      let request = job.transfer.request
      let isHead = request.method == "HEAD"
      let isUpload = job.upload != nil || ["POST", "PUT", "PATCH"].contains(request.method)
      // After a HEAD, libcurl before 7.71 makes it a GET only with this option.
      if numbers[curlopt_noBody.rawValue] == 1 { numbers[curlopt_upload.rawValue] = nil }
      try set(curlopt_upload, isUpload ? 1 : 0)
      // Negative for a body that is sent in chunks.
      try set(curlopt_uploadSize, job.upload == nil ? 0 : job.upload?.length ?? -1)
      // After the others, which make it a GET or a PUT.
      try set(curlopt_noBody, isHead ? 1 : 0)
      let customMethod = isHead || request.method == "GET" ? nil : request.method
      if customMethod != self.customMethod { try set(curlopt_customRequest, customMethod) }
      self.customMethod = customMethod
      let milliseconds = request.deadlines?.connect.map { ($0 / .milliseconds(1)).rounded(.up) } ?? .infinity
      try set(curlopt_connectTimeoutMilliseconds, Int64(max(1, min(milliseconds, Double(Int32.max)))))
      // When a reused connection is closed without a response, libcurl sends the request again on another one. The job
      // refuses to send a body of a request that is not idempotent again; other such requests, and sequences, which may
      // have no second body, get a new connection.
      let needsNewConnection =
        job.upload?.isSequence ?? false || !request.isIdempotent && job.upload?.length ?? 0 == 0
      try set(curlopt_freshConnect, needsNewConnection ? 1 : 0)
      try set(curlopt_url, request.url.absoluteString)
      if headers != request.headers { try set(request.headers) }
      errorText[0] = 0
    }

    private func set(_ headers: HTTPHeaders) throws {
      try set(curlopt_httpHeader, nil)
      stepwise_curl_slist_free_all(headerList)
      headerList = nil
      // With servers that do not answer `Expect`, waiting for that takes a second.
      if headers["Expect"] == nil { try append("Expect:") }
      if BodyDecoder.isAvailable, headers["Accept-Encoding"] == nil { try append("Accept-Encoding: gzip") }
      for field in headers.fields {
        try append(field.value.isEmpty ? field.name + ";" : "\(field.name): \(field.value)")
      }
      if let headerList { try set(curlopt_httpHeader, headerList) }
      self.headers = headers
    }

    private func append(_ line: String) throws {
      guard let list = stepwise_curl_slist_append(headerList, line) else { throw Self.noMemory }
      headerList = list
    }

    private func setCallbacks(_ engine: CurlEngine) throws {
      let context = Unmanaged.passUnretained(self).toOpaque()
      try set(curlopt_privateData, context)
      try set(curlopt_errorBuffer, errorText)
      typealias Transfer = @convention(c) (UnsafeMutablePointer<CChar>?, Int, Int, CurlContext) -> Int
      let receiveHeader: Transfer = { data, size, count, context in
        CurlHandle.job(context)?.receiveHeader(UnsafeRawBufferPointer(start: data, count: size * count)) ?? 0
      }
      let receiveBody: Transfer = { data, size, count, context in
        CurlHandle.job(context)?.receiveBody(UnsafeRawBufferPointer(start: data, count: size * count)) ?? 0
      }
      let send: Transfer = { data, size, count, context in
        CurlHandle.job(context)?.send(UnsafeMutableRawBufferPointer(start: data, count: size * count))
          ?? CurlValue.abort
      }
      let seek: @convention(c) (CurlContext, Int64, Int32) -> Int32 = { context, offset, origin in
        CurlHandle.job(context)?.seek(to: offset, from: origin) ?? CurlValue.seekImpossible
      }
      // libcurl's `struct curl_sockaddr` begins with three numbers: the family, the type and the protocol.
      let open: @convention(c) (CurlContext, Int32, UnsafePointer<Int32>?) -> Int32 = { context, _, address in
        // A cancelled job does not connect.
        guard let address, let job = CurlHandle.job(context), !job.isCancelled else { return -1 }
        let descriptor = socket(address[0], address[1] | Int32(SOCK_CLOEXEC.rawValue), address[2])
        job.open(descriptor)
        return descriptor
      }
      let close: @convention(c) (CurlContext, Int32) -> Int32 = { context, descriptor in
        context.map { Unmanaged<CurlSockets>.fromOpaque($0).takeUnretainedValue() }?.remove(descriptor)
        return Foundation.close(descriptor)
      }
      typealias Use = @convention(c) (CurlContext, UnsafePointer<CChar>?, UnsafePointer<CChar>?, Int32, Int32) -> Int32
      let use: Use = { context, server, client, serverPort, clientPort in
        guard let server, let client, let job = CurlHandle.job(context) else { return 0 }
        var ends = Hasher()
        for address in [server, client] {
          ends.combine(bytes: UnsafeRawBufferPointer(start: address, count: strlen(address)))
        }
        for port in [serverPort, clientPort] { ends.combine(port) }
        return job.allows(ends.finalize()) ? 0 : 1
      }
      try set(curlopt_headerFunction, receiveHeader, curlopt_headerData, context)
      try set(curlopt_writeFunction, receiveBody, curlopt_writeData, context)
      try set(curlopt_readFunction, send, curlopt_readData, context)
      try set(curlopt_seekFunction, seek, curlopt_seekData, context)
      try set(curlopt_openFunction, open, curlopt_openData, context)
      let sockets = Unmanaged.passUnretained(engine.sockets).toOpaque()
      try set(curlopt_closeFunction, close, curlopt_closeData, sockets)
      // Before 7.80, libcurl does not know it.
      try? set(curlopt_useFunction, use, curlopt_useData, context)
    }

    /// Returns the transfer that the handle of a callback serves.
    static func job(_ context: CurlContext) -> CurlJob? {
      context.flatMap { Unmanaged<CurlHandle>.fromOpaque($0).takeUnretainedValue().job }
    }

    func set(_ option: Option, _ value: Int64) throws {
      guard numbers[option.rawValue] != value else { return }
      try check(stepwise_curl_easy_set_number(easy, option, value), option)
      numbers[option.rawValue] = value
    }

    func set(_ option: Option, _ value: UnsafeRawPointer?) throws {
      try check(stepwise_curl_easy_set_pointer(easy, option, value), option)
    }

    /// Sets one of the functions that libcurl calls, and what it is called with.
    func set(_ option: Option, _ function: some Any, _ dataOption: Option, _ data: UnsafeRawPointer) throws {
      // Safety: a function of C is a pointer.
      try set(option, unsafeBitCast(function, to: UnsafeRawPointer.self))
      try set(dataOption, data)
    }

    private func check(_ code: Int32, _ option: Option) throws {
      guard code == 0 else {
        throw HTTPError.refused(reason: "libcurl reports error \(code) for its option \(option.rawValue)")
      }
    }

    fileprivate func apply(_ tls: HTTPTLSSettings) throws {
      if let file = tls.certificateAuthorities {
        try set(curlopt_caFile, file.path)
        // Disables the system's authorities, which would be trusted as well.
        try? set(curlopt_caFolder, nil)
      }
      if !tls.pinnedPublicKeys.isEmpty {
        let pins = tls.pinnedPublicKeys.sorted().map { "sha256//" + $0 }
        try set(curlopt_pinnedPublicKey, pins.joined(separator: ";"))
      }
      if let certificate = tls.clientCertificate {
        try set(curlopt_clientCertificateType, "P12")
        try set(curlopt_clientCertificate, certificate.file.path)
        try set(curlopt_keyPassword, certificate.password)
      }
    }

    fileprivate func apply(_ proxy: HTTPProxy) throws {
      switch proxy.kind {
      case .system: break
      case .none: try set(curlopt_proxy, "")
      case .server(let url, let hosts):
        // libcurl would connect to the server itself. In a URL, these characters are encoded.
        let credentials = [url.user(percentEncoded: true), url.password(percentEncoded: true)]
        guard !credentials.contains(where: { $0?.contains(/%[01]/) ?? false }) else {
          throw HTTPError.refused(reason: "the user name or password of the proxy contains a control character")
        }
        try set(curlopt_proxy, url.absoluteString)
        // Set even if it is empty, because the environment's list applies to the environment's proxy.
        try set(curlopt_noProxy, hosts.joined(separator: ","))
      }
    }
  }

  /// One transfer on the thread of its transport.
  final class CurlJob {
    let transfer: CurlTransfer
    /// Another one when it starts again.
    var handle: CurlHandle
    unowned let engine: CurlEngine
    let upload: CurlUpload?
    var isTouched = false
    /// Whether it remains only until the look-up of its host's name is over.
    var isCancelled = false
    /// The sockets that libcurl has opened for it, of which it may have closed some.
    private var opened: [Int32] = []
    /// How often libcurl has chosen a connection for it.
    private var choices = 0
    private var openError: Int32 = 0
    /// The hash of the two ends of its connection.
    private var ends: Int?
    /// Whether it has refused its connection and starts again, as something had arrived on that before its request.
    private var hasRefusedConnection = false
    /// How often it has started again because the server did not process it.
    private var restarts = 0
    private var parser: HTTPHeadParser
    /// Whether the body has a content encoding that was not offered.
    private var refusesBody = false
    /// What ended the transfer from one of the callbacks.
    private var failure: (any Error)?
    /// Which directions wait for the consumer or for the source of the body.
    private var pauses: Int32 = 0

    init(_ transfer: CurlTransfer, handle: CurlHandle, engine: CurlEngine) throws {
      self.transfer = transfer
      self.handle = handle
      self.engine = engine
      parser = HTTPHeadParser(limit: transfer.request.headerLimit)
      upload = try transfer.request.body.map { body in
        try CurlUpload(body.content) { [loop = engine.loop] result in
          loop.send { engine in
            let job = engine?.jobs[ObjectIdentifier(transfer)]
            job?.upload?.receive(result)
            job?.resume(CurlValue.pauseSending)
          }
        }
      }
    }

    /// Closes what the transfer has opened itself; the handle may be another transfer's from now on.
    func close() {
      pauses = 0
      upload?.close()
    }

    func receiveHeader(_ bytes: UnsafeRawBufferPointer) -> Int {
      do {
        if let head = try parser.take(bytes, status: number(curlinfo_responseCode)) { receive(head) }
        return bytes.count
      } catch {
        failure = error
        return 0
      }
    }

    /// libcurl opens a connection for this job; negative, with the system's error, when it cannot.
    func open(_ descriptor: Int32) {
      guard descriptor >= 0 else { return openError = errno }
      engine.sockets.add(descriptor, for: ObjectIdentifier(self))
      opened.append(descriptor)
    }

    /// Whether libcurl has had a connection for it.
    var hasConnection: Bool { ends != nil || !opened.isEmpty }

    /// Whether libcurl may have sent the request again; before 7.80, it only says that it opens a connection.
    var mayBeRepeated: Bool { choices > 1 || !opened.isEmpty }

    /// The system's reason why there is no connection; 0 when it has none.
    var connectionError: Int32 {
      opened.isEmpty ? openError : Int32(number(curlinfo_systemError))
    }

    /// Returns whether the request may be sent on the connection that libcurl has chosen.
    ///
    /// libcurl would take what has arrived on an idle connection for the response, and pass all later ones to the wrong
    /// requests. It cannot be seen before: libcurl also stops waiting for connections that transfers are reading from.
    func allows(_ ends: Int) -> Bool {
      self.ends = ends
      choices += 1
      // libcurl sends a request again whose connection has ended. Over HTTP/2, libcurl 7.88 then waits for ever if it had sent
      // the body before, so the job starts again with another handle.
      if let upload, upload.sent > 0 {
        hasRefusedConnection = transfer.request.isIdempotent && upload.seek(to: 0)
        if !hasRefusedConnection {
          failure = HTTPError.connectionLost(reason: "the server closed it, and the request cannot be sent again")
        }
        return false
      }
      let reused = engine.sockets.reused(ends, by: ObjectIdentifier(self), opened: opened)
      hasRefusedConnection = reused.map { stepwise_curl_has_input(handle.easy, $0) != 0 } ?? false
      return !hasRefusedConnection
    }

    /// Returns whether the job may start again on a new connection after an error.
    ///
    /// A server ends a connection of HTTP/2 with GOAWAY, which names the last request that it processes (RFC 9113, sections
    /// 6.8 and 8.7). libcurl reports this like the loss of the connection, so a request that is not idempotent does not
    /// start again.
    func mayRestart(after code: Int32) -> Bool {
      if exchange(&hasRefusedConnection, with: false) { return true }
      // As often as libcurl sends a request again.
      guard restarts < 5, parser.isEmpty, failure == nil, transfer.request.isIdempotent, isUnprocessed(code),
        upload?.seek(to: 0) ?? true
      else { return false }
      restarts += 1
      pauses = 0
      return true
    }

    private func isUnprocessed(_ code: Int32) -> Bool {
      let words = String(cString: handle.errorText)
      switch code {
      // Without words, libcurl has nothing to object to in the frames.
      case 16: return opened.isEmpty || words.isEmpty
      case 52, 55, 56: return opened.isEmpty
      case 92: return words.contains("REFUSED_STREAM")
      default: return false
      }
    }

    private func receive(_ head: HTTPResponseHead) {
      refusesBody = head.hasUnknownTransferEncoding || transfer.request.isDecoded && head.hasUnknownEncoding
      if parser.isHTTP2, let ends { engine.sockets.recordHTTP2(ends) }
      if head.status >= 300 { upload?.isRefused = true }
      transfer.inbox.updateWithoutWaking { $0.receive(head) }
      engine.touch(self)
    }

    func receiveBody(_ bytes: UnsafeRawBufferPointer) -> Int {
      if refusesBody {
        failure = HTTPError.protocolError(
          reason: "its body has a content encoding that was not offered; to receive it as it is, set `Accept-Encoding`"
        )
        return 0
      }
      let isTaken = transfer.inbox.updateWithoutWaking { $0.offer(bytes) }
      engine.touch(self)
      if isTaken { return bytes.count }
      pauses |= CurlValue.pauseReceiving
      return CurlValue.pause
    }

    /// Whether the name of the host is being looked up.
    var isLookingUp: Bool { number(curlinfo_nameLookupTime) == 0 }

    /// Continues receiving or sending, if it waits for that.
    func resume(_ direction: Int32) {
      guard pauses & direction != 0 else { return }
      pauses &= ~direction
      _ = stepwise_curl_easy_pause(handle.easy, pauses)
    }

    func send(_ buffer: UnsafeMutableRawBufferPointer) -> Int {
      guard let upload else { return 0 }
      do {
        guard let count = try upload.read(into: buffer) else {
          pauses |= CurlValue.pauseSending
          return CurlValue.pause
        }
        if count > 0 { transfer.request.onBytesSent?(upload.sent) }
        return count
      } catch {
        failure = error as? HTTPError ?? HTTPError.request(underlyingError: error)
        return CurlValue.abort
      }
    }

    func seek(to offset: Int64, from origin: Int32) -> Int32 {
      // Otherwise the request must not be sent again on another connection.
      guard origin == SEEK_SET, transfer.request.isIdempotent else { return CurlValue.seekImpossible }
      return upload?.seek(to: offset) ?? true ? CurlValue.seekDone : CurlValue.seekImpossible
    }

    func complete(_ code: Int32) {
      // libcurl takes a head that ends early for a response.
      let cut = HTTPError.connectionLost(reason: "the server closed it within the head of the response")
      let error: (any Error)? = code == 0 ? (parser.isCut ? cut : nil) : failure ?? self.error(code)
      transfer.inbox.updateWithoutWaking { $0.complete(error) }
      engine.touch(self)
    }
  }

  /// Assembles the head of a response from its lines, which libcurl has checked.
  ///
  /// Lines after the head are trailers, which count as the head does, and are dropped.
  struct HTTPHeadParser {
    private let limit: Int
    private var size = 0
    /// The status of the response whose fields follow; nil before its first line.
    private var status: Int?
    private(set) var isHTTP2 = false
    private var headers = HTTPHeaders()
    private var isComplete = false

    init(limit: Int) { self.limit = limit }

    /// Returns the head of the final response with its last line; `latest` is the status of the latest head.
    mutating func take(_ line: UnsafeRawBufferPointer, status latest: Int) throws(HTTPError) -> HTTPResponseHead? {
      size += line.count
      guard size <= limit else { throw .headersTooLarge(limit: limit) }
      guard !isComplete else { return nil }
      guard let status else {
        (self.status, headers) = (latest, HTTPHeaders())
        isHTTP2 = line.starts(with: "HTTP/2".utf8)
        return nil
      }
      switch line.first {
      case nil, UInt8(ascii: "\r"), UInt8(ascii: "\n"):
        self.status = nil
        // An interim response only announces another one.
        isComplete = status == 101 || !(100..<200).contains(status)
        return isComplete ? HTTPResponseHead(status: status, headers: headers) : nil
      // The continuation of the previous line.
      case UInt8(ascii: " "), UInt8(ascii: "\t"): headers.fold(Self.trimmed(line[...]))
      default:
        guard let colon = line.firstIndex(of: UInt8(ascii: ":")) else { return nil }
        headers.add(Self.trimmed(line[..<colon]), Self.trimmed(line[(colon + 1)...]))
      }
      return nil
    }

    /// Whether nothing of a response has arrived.
    var isEmpty: Bool { size == 0 }

    /// Whether the head has begun and is not complete.
    var isCut: Bool { size > 0 && !isComplete }

    /// Decodes as UTF-8, or as Latin-1 if that fails.
    private static func trimmed(_ bytes: Slice<UnsafeRawBufferPointer>) -> String {
      // Spaces, tabs and the end of the line.
      func isBlank(_ byte: UInt8) -> Bool { byte == 0x20 || byte == 0x09 || byte == 0x0A || byte == 0x0D }
      var bytes = bytes.drop(while: isBlank)
      while let last = bytes.last, isBlank(last) { bytes = bytes.dropLast() }
      // Validating is generic code of the standard library, and most lines are ASCII.
      let text = UnsafeRawBufferPointer(rebasing: bytes)
      if text.allSatisfy({ $0 < 0x80 }) { return String(decoding: text, as: UTF8.self) }
      if let text = String(validating: bytes, as: UTF8.self) { return text }
      return String(String.UnicodeScalarView(bytes.map { Unicode.Scalar($0) }))
    }
  }

  /// What libcurl passes to its callbacks.
  typealias CurlContext = UnsafeMutableRawPointer?

  enum CurlValue {
    /// What the callbacks return so that libcurl calls again after the transfer has been continued.
    static let pause = 0x1000_0001
    static let abort = 0x1000_0000
    static let pauseReceiving: Int32 = 1
    static let pauseSending: Int32 = 4
    static let seekDone: Int32 = 0
    static let seekImpossible: Int32 = 2
  }
#endif
