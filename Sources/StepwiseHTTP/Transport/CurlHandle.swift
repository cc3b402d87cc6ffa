// SPDX-License-Identifier: MIT
// Copyright (c) 2026 Stepwise contributors

#if os(Linux) || os(Android)
  import CurlShim
  import Foundation

  /// A handle of libcurl with its callbacks and options, which serves one transfer after the other.
  ///
  /// Options stay set from one GET without a body to the next: setting all of them was a twentieth of what it costs.
  final class CurlHandle {
    typealias Option = stepwise_curl_option

    let easy: UnsafeMutableRawPointer
    /// The transfer that the handle serves.
    private(set) var job: CurlJob?
    /// Whether the options are those of a GET without a body.
    private var isPlain = false
    private var headers: HTTPHeaders?
    private var connectLimit: Duration?
    private var headerList: UnsafeMutableRawPointer?
    private let errorText: UnsafeMutablePointer<CChar>

    init?() {
      guard let easy = stepwise_curl_easy_init() else { return nil }
      self.easy = easy
      // The size that libcurl requires.
      errorText = .allocate(capacity: 256)
      errorText.initialize(repeating: 0, count: 256)
    }

    deinit {
      stepwise_curl_easy_cleanup(easy)
      stepwise_curl_slist_free_all(headerList)
      errorText.deallocate()
    }

    /// libcurl's own words about the latest transfer.
    var words: String { String(cString: errorText) }

    /// Sets the options of a transfer.
    func prepare(_ job: CurlJob) throws {
      let request = job.transfer.request
      let isPlain = request.method == "GET" && job.upload == nil
      if !isPlain || !self.isPlain {
        self.isPlain = false
        try reset(job.engine)
        try setBody(job)
      }
      if request.deadlines?.connect != connectLimit || !self.isPlain {
        connectLimit = request.deadlines?.connect
        let milliseconds = connectLimit.map { ($0 / .milliseconds(1)).rounded(.up) } ?? .infinity
        let limit = Int(max(1, min(milliseconds, Double(Int32.max))))
        try set(curlopt_connectTimeoutMilliseconds, limit)
      }
      try set(curlopt_url, request.url.absoluteString)
      try setHeaders(request.headers)
      errorText[0] = 0
      self.isPlain = isPlain
      self.job = job
    }

    /// Lets the transfer use none of the connections that are open.
    func requireNewConnection() {
      setOptional(curlopt_freshConnect, 1)
      isPlain = false
    }

    /// Ends the service for a transfer, which libcurl no longer knows.
    func release() { job = nil }

    private func reset(_ engine: CurlEngine) throws {
      stepwise_curl_easy_reset(easy)
      headers = nil
      try setCallbacks(engine)
      try set(curlopt_noSignal, 1)
      // Where the names and IP addresses of a URL lead is decided above.
      try set(curlopt_pathAsIs, 1)
      try? set(curlopt_protocols, "http,https")
      try set(curlopt_userAgent, "StepwiseHTTP")
      setOptional(curlopt_bufferSize, 32 * 1024)
      setOptional(curlopt_suppressConnectHeaders, 1)
      // Otherwise cancelling a transfer waits until its host's name has been looked up.
      setOptional(curlopt_quickExit, 1)
      try apply(engine.loop.settings)
    }

    private func setCallbacks(_ engine: CurlEngine) throws {
      let context = Unmanaged.passUnretained(self).toOpaque()
      try set(curlopt_privateData, context)
      try set(curlopt_errorBuffer, errorText)
      let receiveHeader: CurlCallback.Data = { data, size, count, context in
        CurlHandle.at(context)?.job?.receiveHeader(UnsafeRawBufferPointer(start: data, count: size * count)) ?? 0
      }
      let receiveBody: CurlCallback.Data = { data, size, count, context in
        CurlHandle.at(context)?.job?.receiveBody(UnsafeRawBufferPointer(start: data, count: size * count)) ?? 0
      }
      let send: CurlCallback.Data = { data, size, count, context in
        CurlHandle.at(context)?.job?.send(UnsafeMutableRawBufferPointer(start: data, count: size * count))
          ?? CurlValue.abort
      }
      let seek: CurlCallback.Seek = { context, offset, origin in
        CurlHandle.at(context)?.job?.seek(to: offset, from: origin) ?? CurlValue.seekImpossible
      }
      try set(curlopt_headerFunction, receiveHeader, curlopt_headerData, context)
      try set(curlopt_writeFunction, receiveBody, curlopt_writeData, context)
      try set(curlopt_readFunction, send, curlopt_readData, context)
      try set(curlopt_seekFunction, seek, curlopt_seekData, context)
      try observeSockets(of: engine)
    }

    /// Notifies the engine of the connections that libcurl opens and uses, and of their ends.
    private func observeSockets(of engine: CurlEngine) throws {
      let context = Unmanaged.passUnretained(self).toOpaque()
      let open: CurlCallback.Open = { context, _, address in
        // A cancelled job does not connect.
        guard let address, let job = CurlHandle.at(context)?.job, !job.isCancelled else { return -1 }
        // The beginning of libcurl's `struct curl_sockaddr`.
        let parts = address.assumingMemoryBound(to: (family: Int32, type: Int32, protocol: Int32).self).pointee
        let descriptor = socket(parts.family, parts.type | O_CLOEXEC, parts.protocol)
        job.open(descriptor)
        return descriptor
      }
      let close: CurlCallback.Close = { context, descriptor in
        context.map { Unmanaged<CurlSockets>.fromOpaque($0).takeUnretainedValue() }?.remove(descriptor)
        Foundation.close(descriptor)
        return 0
      }
      let use: CurlCallback.Use = { context, server, client, serverPort, clientPort in
        guard let server, let client, let job = CurlHandle.at(context)?.job else { return 0 }
        var ends = Hasher()
        for address in [server, client] {
          ends.combine(bytes: UnsafeRawBufferPointer(start: address, count: strlen(address)))
        }
        for port in [serverPort, clientPort] { ends.combine(port) }
        return job.allows(ends.finalize()) ? 0 : 1
      }
      try set(curlopt_openFunction, open, curlopt_openData, context)
      let sockets = Unmanaged.passUnretained(engine.sockets).toOpaque()
      try set(curlopt_closeFunction, close, curlopt_closeData, sockets)
      // Before 7.80, libcurl does not know it.
      try? set(curlopt_useFunction, use, curlopt_useData, context)
    }

    /// Returns the transfer of one of libcurl's handles.
    static func running(_ easy: UnsafeMutableRawPointer?) -> CurlJob? {
      easy.flatMap { at(stepwise_curl_easy_get_pointer($0, CurlInfo.privateData)) }?.job
    }

    static func at(_ context: UnsafeMutableRawPointer?) -> CurlHandle? {
      context.map { Unmanaged<CurlHandle>.fromOpaque($0).takeUnretainedValue() }
    }

    private func setBody(_ job: CurlJob) throws {
      let method = job.transfer.request.method
      if method == "HEAD" {
        try set(curlopt_noBody, 1)
      } else if job.upload != nil || ["POST", "PUT", "PATCH"].contains(method) {
        try set(curlopt_upload, 1)
        if let length = job.upload.map(\.length) ?? 0 {
          try check(stepwise_curl_easy_set_offset(easy, curlopt_uploadSize, length))
        }
        try set(curlopt_customRequest, method)
      } else if method != "GET" {
        try set(curlopt_customRequest, method)
      }
      // When a reused connection is closed without a response, libcurl sends the request again on another one. The job
      // refuses to send a body of a request that is not idempotent again; other such requests, and sequences, which may
      // have no second body, get a new connection.
      let isSequence = if case .chunks = job.transfer.request.body?.content { true } else { false }
      if isSequence || !job.isIdempotent && job.upload?.length ?? 0 == 0 { try set(curlopt_freshConnect, 1) }
      if job.upload != nil { setOptional(curlopt_uploadBufferSize, 128 * 1024) }
    }

    private func setHeaders(_ headers: HTTPHeaders) throws {
      guard headers != self.headers else { return }
      self.headers = nil
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
      guard let list = stepwise_curl_slist_append(headerList, line) else {
        throw HTTPError.refused(reason: "the system has no memory left")
      }
      headerList = list
    }

    func set(_ option: Option, _ value: Int) throws {
      try check(stepwise_curl_easy_set_long(easy, option, value), option)
    }

    func set(_ option: Option, _ value: UnsafeRawPointer?) throws {
      try check(stepwise_curl_easy_set_pointer(easy, option, value), option)
    }

    /// Sets one of the functions of `CurlCallback`, and what it is called with.
    func set(_ option: Option, _ function: some Any, _ dataOption: Option, _ data: UnsafeRawPointer) throws {
      // Safety: a function of C is a pointer.
      try set(option, unsafeBitCast(function, to: UnsafeRawPointer.self))
      try set(dataOption, data)
    }

    /// For options that an older libcurl may not know.
    private func setOptional(_ option: Option, _ value: Int) { _ = stepwise_curl_easy_set_long(easy, option, value) }

    private func check(_ code: Int32, _ option: Option? = nil) throws {
      guard code == 0 else {
        throw HTTPError.refused(reason: "libcurl reports error \(code) for its option \(option?.rawValue ?? 0)")
      }
    }
  }

  extension CurlHandle {
    func apply(_ settings: CurlSettings) throws {
      try apply(settings.tls)
      try apply(settings.proxy)
    }

    private func apply(_ tls: HTTPTLSSettings) throws {
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

    private func apply(_ proxy: HTTPProxy) throws {
      switch proxy.kind {
      case .system: break
      case .none: try set(curlopt_proxy, "")
      case .server(let url, let hosts):
        guard var parts = URLComponents(url: url, resolvingAgainstBaseURL: true) else { throw HTTPError.invalidURL }
        let (user, password) = (parts.user, parts.password)
        (parts.user, parts.password) = (nil, nil)
        try set(curlopt_proxy, parts.string ?? "")
        // Set even if it is empty, because the environment's list applies to the environment's proxy.
        try set(curlopt_noProxy, hosts.joined(separator: ","))
        if let user { try set(curlopt_proxyUser, user) }
        if let password { try set(curlopt_proxyPassword, password) }
      }
    }
  }

  /// The libcurl of the system.
  enum CurlLibrary {
    /// What is loaded: the file that this environment variable names, or the library that Foundation loads as well.
    static let variable = "STEPWISE_LIBCURL"

    /// Whether it can be used; the first access loads it, and says on standard error why it cannot be.
    static let isAvailable: Bool = {
      let name = ProcessInfo.processInfo.environment[variable] ?? "libcurl.so.4"
      guard let problem = stepwise_curl_load(name) else { return true }
      let line = "StepwiseHTTP: \(name): \(String(cString: problem)). Requests are refused; install libcurl.\n"
      FileHandle.standardError.write(Data(line.utf8))
      return false
    }()
  }

  /// The errors of failed transfers, without the URLs in libcurl's words.
  extension CurlJob {
    private func number(_ info: Int32) -> Int { Int(stepwise_curl_easy_get_number(handle.easy, info)) }

    /// Returns the error for one of libcurl's numbers.
    func error(_ code: Int32) -> HTTPError {
      // The maximum size of a header line in libcurl.
      let lineLimit = 100 * 1024
      let words = handle.words
      let proxyStatus = number(CurlInfo.proxyConnectStatus)
      if proxyStatus >= 400 { return .proxy(reason: "it answers \(proxyStatus)") }
      switch code {
      case 1, 3: return words.contains("HTTP/0.9") ? .protocolError(reason: "it has no status line") : .invalidURL
      case 5: return .proxy(reason: "its host is not known")
      case 6: return Network.isUp ? .hostNotFound : .offline
      case 7: return isProxy(words) ? .proxy(reason: connecting.description) : connecting
      case 8: return .protocolError(reason: "its head is malformed")
      case 27, 100: return .headersTooLarge(limit: lineLimit)
      case 16, 92, 95:
        return .protocolError(reason: "the frames of HTTP/2 are malformed, or the server cancelled the request")
      case 18: return TransferFailure.tooShort
      case 28:
        let hasLimit = transfer.request.deadlines?.connect != nil
        return hasLimit ? .timedOut(.connect) : .connectionFailed(reason: "the host does not answer")
      case 52: return TransferFailure.noAnswer
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
      if isBroken || number(CurlInfo.systemError) == Int(ECONNRESET) {
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
        let verifyResult = number(CurlInfo.verifyResult)
        if words.contains("expired") || words.contains("not yet valid") || [9, 10].contains(verifyResult) {
          return .expiredCertificate
        }
        let isNameWrong = ["subject name", "hostname", "host name", "does not match"].contains { words.contains($0) }
        return isNameWrong || verifyResult == 62 ? .wrongHost : .untrustedCertificate
      default: return words.contains("certificate required") ? .clientCertificate : .handshake
      }
    }
  }

  /// The functions that libcurl calls.
  enum CurlCallback {
    typealias Context = UnsafeMutableRawPointer?
    typealias Data = @convention(c) (UnsafeMutablePointer<CChar>?, Int, Int, Context) -> Int
    typealias Seek = @convention(c) (Context, Int64, Int32) -> Int32
    typealias Open = @convention(c) (Context, Int32, UnsafeMutableRawPointer?) -> Int32
    typealias Close = @convention(c) (Context, Int32) -> Int32
    typealias Use =
      @convention(c) (
        Context, UnsafePointer<CChar>?, UnsafePointer<CChar>?, _ serverPort: Int32, _ clientPort: Int32
      ) -> Int32
    typealias Socket = @convention(c) (_ easy: Context, Int32, _ what: Int32, Context, _ socket: Context) -> Int32
    typealias Timer = @convention(c) (_ multi: Context, _ milliseconds: Int, Context) -> Int32
  }

  enum CurlInfo {
    static let privateData: Int32 = 0x10_0000 + 21
    static let nameLookupTime: Int32 = 0x60_0000 + 51
    static let verifyResult: Int32 = 0x20_0000 + 13
    static let systemError: Int32 = 0x20_0000 + 25
    static let proxyConnectStatus: Int32 = 0x20_0000 + 22
  }

  enum CurlValue {
    /// What the callbacks return so that libcurl calls again after the transfer has been continued.
    static let pause = 0x1000_0001
    static let abort = 0x1000_0000
    static let pauseReceiving: Int32 = 1
    static let pauseSending: Int32 = 4
    static let seekDone: Int32 = 0
    static let seekImpossible: Int32 = 2
    static let timeout: Int32 = -1
  }

  /// The network of this machine.
  enum Network {
    /// Whether there is an interface other than the loopback that has an address.
    static var isUp: Bool {
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
#endif
