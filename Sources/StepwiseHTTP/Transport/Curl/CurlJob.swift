// SPDX-License-Identifier: MIT
// Copyright (c) 2026 Stepwise contributors

#if os(Linux) || os(Android)
  import CurlShim
  import Foundation

  /// One transfer on the thread of its transport.
  final class CurlJob {
    let transfer: CurlTransfer
    let handle: CurlHandle
    unowned let engine: CurlEngine
    let upload: CurlUpload?
    var isTouched = false
    private var parser: CurlHeadParser
    /// What ended the transfer from one of the callbacks.
    private var failure: (any Error)?
    /// Which directions wait for the consumer or for the source of the body.
    private var pauses: Int32 = 0

    init(_ transfer: CurlTransfer, handle: CurlHandle, engine: CurlEngine) throws {
      self.transfer = transfer
      self.handle = handle
      self.engine = engine
      parser = CurlHeadParser(limit: transfer.request.headerLimit)
      upload = try CurlUpload(transfer.request.body, of: transfer, on: engine.loop)
    }

    /// Closes what the transfer has opened itself; the handle may be another transfer's from now on.
    func close() {
      pauses = 0
      upload?.close()
    }

    func receiveHeader(_ bytes: UnsafeRawBufferPointer) -> Int {
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

    func receiveBody(_ bytes: UnsafeRawBufferPointer) -> Int {
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
      _ = stepwise_curl_easy_pause(handle.easy, pauses)
    }

    func send(_ buffer: UnsafeMutableRawBufferPointer) -> Int {
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

    func seek(to offset: Int64, from origin: Int32) -> Int32 {
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
  }
#endif
