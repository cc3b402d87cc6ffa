// SPDX-License-Identifier: MIT
// Copyright (c) 2026 Stepwise contributors

#if os(Linux) || os(Android)
  import CurlShim
  import Foundation

  /// A handle of libcurl with its callbacks and options, which serves one transfer after the other.
  ///
  /// Options stay set from one GET without a body to the next: setting all of them was a twentieth of what it costs.
  final class CurlHandle {
    let easy: UnsafeMutableRawPointer
    /// The transfer that the handle serves.
    private(set) var job: CurlJob?
    /// Whether the options are those of a GET without a body.
    private var isPlain = false
    private var headers: HTTPHeaders?
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
      stepwise_curl_list_free(headerList)
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
      try set(CurlOption.url, request.url.absoluteString)
      try setHeaders(request.headers)
      errorText[0] = 0
      self.isPlain = isPlain
      self.job = job
    }

    /// Ends the service for a transfer, which libcurl no longer knows.
    func release() { job = nil }

    private func reset(_ engine: CurlEngine) throws {
      stepwise_curl_easy_reset(easy)
      headers = nil
      try setCallbacks(engine)
      try set(CurlOption.noSignal, 1)
      // Where the names and IP addresses of a URL lead is decided above.
      try set(CurlOption.pathAsIs, 1)
      setOptional(CurlOption.protocols, "http,https")
      try set(CurlOption.acceptEncoding, "")
      try set(CurlOption.userAgent, "StepwiseHTTP")
      // Not larger, as libcurl stores what a buffer decompresses to while a transfer waits. A reused handle may have
      // one.
      setOptional(CurlOption.bufferSize, 32 * 1024)
      try set(CurlOption.connectTimeoutMilliseconds, Int(Int32.max))
      setOptional(CurlOption.suppressConnectHeaders, 1)
      // Otherwise cancelling a transfer waits until its host's name has been looked up.
      setOptional(CurlOption.quickExit, 1)
      try apply(engine.loop.settings)
    }

    private func setCallbacks(_ engine: CurlEngine) throws {
      let context = Unmanaged.passUnretained(self).toOpaque()
      for option in [
        CurlOption.privateData, CurlOption.writeData, CurlOption.headerData, CurlOption.readData, CurlOption.seekData,
      ] {
        try check(stepwise_curl_easy_set_pointer(easy, option, context))
      }
      try check(stepwise_curl_easy_set_pointer(easy, CurlOption.errorBuffer, errorText))
      try check(
        stepwise_curl_easy_set_data_callback(easy, CurlOption.headerFunction) { data, size, count, context in
          CurlHandle.at(context)?.job?.receiveHeader(UnsafeRawBufferPointer(start: data, count: size * count)) ?? 0
        }
      )
      try check(
        stepwise_curl_easy_set_data_callback(easy, CurlOption.writeFunction) { data, size, count, context in
          CurlHandle.at(context)?.job?.receiveBody(UnsafeRawBufferPointer(start: data, count: size * count)) ?? 0
        }
      )
      try check(
        stepwise_curl_easy_set_data_callback(easy, CurlOption.readFunction) { data, size, count, context in
          CurlHandle.at(context)?.job?.send(UnsafeMutableRawBufferPointer(start: data, count: size * count))
            ?? CurlValue.abort
        }
      )
      try check(
        stepwise_curl_easy_set_seek_callback(easy, CurlOption.seekFunction) { context, offset, origin in
          CurlHandle.at(context)?.job?.seek(to: offset, from: origin) ?? CurlValue.seekImpossible
        }
      )
      engine.sockets.observe(easy)
    }

    static func at(_ context: UnsafeMutableRawPointer?) -> CurlHandle? {
      context.map { Unmanaged<CurlHandle>.fromOpaque($0).takeUnretainedValue() }
    }

    private func setBody(_ job: CurlJob) throws {
      let method = job.transfer.request.method
      switch (method, job.upload?.length) {
      case ("HEAD", _): try set(CurlOption.noBody, 1)
      case (_, nil) where job.upload != nil:
        try set(CurlOption.upload, 1)
        try set(CurlOption.customRequest, method)
      case (_, let length?):
        try set(CurlOption.upload, 1)
        try check(stepwise_curl_easy_set_offset(easy, CurlOption.uploadSize, length))
        try set(CurlOption.customRequest, method)
      case ("POST", nil), ("PUT", nil), ("PATCH", nil):
        try set(CurlOption.upload, 1)
        try check(stepwise_curl_easy_set_offset(easy, CurlOption.uploadSize, 0))
        try set(CurlOption.customRequest, method)
      case ("GET", nil): break
      case (_, nil): try set(CurlOption.customRequest, method)
      }
      // On a reused connection that the server has closed, libcurl sends the body again, and a sequence may have none.
      if case .chunks = job.transfer.request.body { try set(CurlOption.freshConnect, 1) }
      if job.upload != nil { setOptional(CurlOption.uploadBufferSize, 128 * 1024) }
    }

    private func setHeaders(_ headers: HTTPHeaders) throws {
      guard headers != self.headers else { return }
      self.headers = nil
      try check(stepwise_curl_easy_set_pointer(easy, CurlOption.httpHeader, nil))
      stepwise_curl_list_free(headerList)
      headerList = nil
      // Waiting for the server's consent costs a second with servers that do not give it.
      if headers["Expect"] == nil { try append("Expect:") }
      for field in headers.fields {
        try append(field.value.isEmpty ? field.name + ";" : "\(field.name): \(field.value)")
      }
      if let headerList { try check(stepwise_curl_easy_set_pointer(easy, CurlOption.httpHeader, headerList)) }
      self.headers = headers
    }

    private func append(_ line: String) throws {
      guard let list = stepwise_curl_list_append(headerList, line) else {
        throw HTTPError.refused(reason: "the system has no memory left")
      }
      headerList = list
    }

    func set(_ option: Int32, _ value: Int) throws {
      try check(stepwise_curl_easy_set_long(easy, option, value), option)
    }

    func set(_ option: Int32, _ value: String) throws {
      try check(stepwise_curl_easy_set_string(easy, option, value), option)
    }

    /// For options that an older libcurl may not know.
    private func setOptional(_ option: Int32, _ value: Int) { _ = stepwise_curl_easy_set_long(easy, option, value) }

    private func setOptional(_ option: Int32, _ value: String) {
      _ = stepwise_curl_easy_set_string(easy, option, value)
    }

    private func check(_ code: Int32, _ option: Int32 = 0) throws {
      guard code == 0 else {
        throw HTTPError.refused(reason: "libcurl reports error \(code) for its option \(option)")
      }
    }
  }
#endif
