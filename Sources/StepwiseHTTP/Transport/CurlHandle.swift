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
        let descriptor = stepwise_curl_open_socket(address)
        if descriptor >= 0 { job.open(descriptor) }
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
#endif
