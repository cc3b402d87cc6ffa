// SPDX-License-Identifier: MIT
// Copyright (c) 2026 Stepwise contributors

#if os(Linux) || os(Android)
  import CurlShim
  import Foundation

  /// One transfer on the thread of its transport, with its libcurl handle.
  final class CurlJob {
    let transfer: CurlTransfer
    let easy: UnsafeMutableRawPointer
    unowned let engine: CurlEngine
    var upload: CurlUpload?
    var isTouched = false
    private var parser: CurlHeadParser
    private var headerList: UnsafeMutableRawPointer?
    private var errorText: UnsafeMutablePointer<CChar>
    /// What ended the transfer from one of the callbacks.
    var failure: (any Error)?
    /// Which directions wait for the consumer or for the source of the body.
    private var pauses: Int32 = 0

    init(_ transfer: CurlTransfer, easy: UnsafeMutableRawPointer, engine: CurlEngine) {
      self.transfer = transfer
      self.easy = easy
      self.engine = engine
      parser = CurlHeadParser(limit: transfer.request.headerLimit)
      // The size that libcurl asks for.
      errorText = .allocate(capacity: 256)
      errorText.initialize(repeating: 0, count: 256)
    }

    deinit {
      stepwise_curl_list_free(headerList)
      errorText.deallocate()
    }

    /// Closes what the transfer has opened itself; the handle may be another transfer's from now on.
    func close() {
      pauses = 0
      upload?.close()
    }

    // MARK: Options

    func prepare() throws {
      let request = transfer.request
      upload = try CurlUpload(request.body, of: transfer, on: engine.loop)
      try setCallbacks()
      try set(CurlOption.url, request.url.absoluteString)
      try setBody(method: request.method)
      try setHeaders(request.headers)
      try set(CurlOption.noSignal, 1)
      // Where the names and IP addresses of a URL lead is decided above.
      try set(CurlOption.pathAsIs, 1)
      setOptional(CurlOption.protocols, "http,https")
      try set(CurlOption.acceptEncoding, "")
      try set(CurlOption.userAgent, "StepwiseHTTP")
      // Not larger, as libcurl stores what a buffer decompresses to while a transfer waits. A reused handle may have one.
      setOptional(CurlOption.bufferSize, 32 * 1024)
      try set(CurlOption.connectTimeoutMilliseconds, Int(Int32.max))
      setOptional(CurlOption.suppressConnectHeaders, 1)
      // Otherwise cancelling a transfer waits until its host's name has been looked up.
      setOptional(CurlOption.quickExit, 1)
      try apply(engine.loop.settings)
    }

    private func setCallbacks() throws {
      let context = Unmanaged.passUnretained(self).toOpaque()
      for option in [
        CurlOption.privateData, CurlOption.writeData, CurlOption.headerData, CurlOption.readData, CurlOption.seekData,
      ] {
        try check(stepwise_curl_easy_set_pointer(easy, option, context))
      }
      try check(stepwise_curl_easy_set_pointer(easy, CurlOption.errorBuffer, errorText))
      try check(
        stepwise_curl_easy_set_data_callback(easy, CurlOption.headerFunction) { data, size, count, context in
          CurlJob.at(context)?.receiveHeader(UnsafeRawBufferPointer(start: data, count: size * count)) ?? 0
        }
      )
      try check(
        stepwise_curl_easy_set_data_callback(easy, CurlOption.writeFunction) { data, size, count, context in
          CurlJob.at(context)?.receiveBody(UnsafeRawBufferPointer(start: data, count: size * count)) ?? 0
        }
      )
      try check(
        stepwise_curl_easy_set_data_callback(easy, CurlOption.readFunction) { data, size, count, context in
          CurlJob.at(context)?.send(UnsafeMutableRawBufferPointer(start: data, count: size * count)) ?? CurlValue.abort
        }
      )
      try check(
        stepwise_curl_easy_set_seek_callback(easy, CurlOption.seekFunction) { context, offset, origin in
          CurlJob.at(context)?.seek(to: offset, from: origin) ?? CurlValue.seekImpossible
        }
      )
    }

    private static func at(_ context: UnsafeMutableRawPointer?) -> CurlJob? {
      context.map { Unmanaged<CurlJob>.fromOpaque($0).takeUnretainedValue() }
    }

    private func setBody(method: String) throws {
      switch (method, upload?.length) {
      case ("HEAD", _): try set(CurlOption.noBody, 1)
      case (_, nil) where upload != nil:
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
      if case .chunks = transfer.request.body { try set(CurlOption.freshConnect, 1) }
      if upload != nil { setOptional(CurlOption.uploadBufferSize, 128 * 1024) }
    }

    private func setHeaders(_ headers: HTTPHeaders) throws {
      // Waiting for the server's consent costs a second with servers that do not give it.
      if headers["Expect"] == nil { try append("Expect:") }
      for field in headers.fields {
        try append(field.value.isEmpty ? field.name + ";" : "\(field.name): \(field.value)")
      }
      if let headerList { try check(stepwise_curl_easy_set_pointer(easy, CurlOption.httpHeader, headerList)) }
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
    func setOptional(_ option: Int32, _ value: Int) { _ = stepwise_curl_easy_set_long(easy, option, value) }

    func setOptional(_ option: Int32, _ value: String) { _ = stepwise_curl_easy_set_string(easy, option, value) }

    private func check(_ code: Int32, _ option: Int32 = 0) throws {
      guard code == 0 else {
        throw HTTPError.refused(reason: "libcurl reports error \(code) for its option \(option)")
      }
    }

    // MARK: Callbacks

    private func receiveHeader(_ bytes: UnsafeRawBufferPointer) -> Int {
      switch parser.take(bytes) {
      case .more: break
      case .head(let head): receive(head)
      case .tooLarge:
        failure = HTTPError.headersTooLarge(limit: transfer.request.headerLimit)
        return 0
      }
      return bytes.count
    }

    private func receive(_ head: HTTPResponseHead) {
      transfer.inbox.update { $0.receive(head) }
      engine.touch(self)
    }

    private func receiveBody(_ bytes: UnsafeRawBufferPointer) -> Int {
      let isTaken = transfer.inbox.update { $0.offer(bytes) }
      engine.touch(self)
      if isTaken { return bytes.count }
      pauses |= CurlValue.pauseReceiving
      return CurlValue.pause
    }

    func continueReceiving() { resume(CurlValue.pauseReceiving) }

    func continueSending() { resume(CurlValue.pauseSending) }

    private func resume(_ direction: Int32) {
      guard pauses & direction != 0 else { return }
      pauses &= ~direction
      _ = stepwise_curl_easy_pause(easy, pauses)
    }

    private func send(_ buffer: UnsafeMutableRawBufferPointer) -> Int {
      switch upload?.read(into: buffer) ?? .bytes(0) {
      case .bytes(let count):
        if count > 0, let upload { transfer.request.onSend?(upload.sent) }
        return count
      case .wait:
        pauses |= CurlValue.pauseSending
        return CurlValue.pause
      case .failure(let error):
        failure = error
        return CurlValue.abort
      }
    }

    private func seek(to offset: Int64, from origin: Int32) -> Int32 {
      guard origin == SEEK_SET, upload?.seek(to: offset) ?? true else { return CurlValue.seekImpossible }
      return CurlValue.seekDone
    }

    func complete(_ code: Int32) {
      // libcurl takes a head that ends early for a response, as does this.
      if code == 0, let head = parser.finish() { receive(head) }
      let error = code == 0 ? nil : failure ?? CurlFailure(code, self).error
      transfer.inbox.update { $0.complete(error) }
      engine.touch(self)
    }

    /// libcurl's own words.
    var words: String { String(cString: errorText) }
  }
#endif
