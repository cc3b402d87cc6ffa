// SPDX-License-Identifier: MIT
// Copyright (c) 2026 Stepwise contributors

#if os(Linux) || os(Android)
  import CurlShim
  import Foundation
  import Stepwise
  import StepwiseFiles

  /// One transfer on the thread of its transport.
  final class CurlJob {
    let transfer: CurlTransfer
    let handle: CurlHandle
    unowned let engine: CurlEngine
    let upload: CurlUpload?
    var isTouched = false
    /// The round in which it began.
    var round = 0
    /// Whether it remains only until the look-up of its host's name is over.
    var isCancelled = false
    /// The sockets that libcurl has opened for it, of which it may have closed some.
    private var opened: [Int32] = []
    private var openError: Int32 = 0
    /// The socket of its connection.
    var connection: Int32?
    /// Whether it has refused a connection on which something had arrived before its request.
    var hasRefusedConnection = false
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
          loop.send(.upload(transfer, result))
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
        if let head = try parser.take(bytes) { receive(head) }
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

    /// The system's reason why there is no connection; 0 when it has none.
    var connectionError: Int32 {
      opened.isEmpty ? openError : Int32(stepwise_curl_easy_get_number(handle.easy, CurlInfo.systemError))
    }

    /// Returns whether the request may be sent on the connection that libcurl has chosen.
    ///
    /// libcurl would take what has arrived on an idle connection for the response, and pass all later ones to the wrong
    /// requests. It cannot be seen before: libcurl also stops waiting for connections that transfers are reading from.
    func allows(_ ends: Int) -> Bool {
      let found = engine.sockets.connection(ends, of: ObjectIdentifier(self), opened: opened)
      guard let (descriptor, isReused) = found else { return true }
      connection = descriptor
      hasRefusedConnection = isReused && stepwise_curl_has_input(handle.easy, descriptor) != 0
      return !hasRefusedConnection
    }

    private func receive(_ head: HTTPResponseHead) {
      refusesBody = head.hasUnknownEncoding
      if parser.isHTTP2, let connection { engine.sockets.recordHTTP2(connection) }
      if head.status >= 300 { upload?.isRefused = true }
      transfer.inbox.update { $0.receive(head) }
      engine.touch(self)
    }

    func receiveBody(_ bytes: UnsafeRawBufferPointer) -> Int {
      guard !refusesBody else { return 0 }
      let isTaken = transfer.inbox.update { $0.offer(bytes) }
      engine.touch(self)
      if isTaken { return bytes.count }
      pauses |= CurlValue.pauseReceiving
      return CurlValue.pause
    }

    /// Whether the name of the host is being looked up.
    var isLookingUp: Bool { stepwise_curl_easy_get_number(handle.easy, CurlInfo.nameLookupTime) == 0 }

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
        if count > 0, let upload { transfer.request.onBytesSent?(upload.sent) }
        return count
      case .wait:
        pauses |= CurlValue.pauseSending
        return CurlValue.pause
      case .failure(let error):
        failure = error
        return CurlValue.abort
      }
    }

    /// Whether the request may be sent again on another connection.
    var isIdempotent: Bool { transfer.request.isIdempotent }

    func seek(to offset: Int64, from origin: Int32) -> Int32 {
      guard origin == SEEK_SET, isIdempotent, upload?.seek(to: offset) ?? true else { return CurlValue.seekImpossible }
      return CurlValue.seekDone
    }

    func complete(_ code: Int32) {
      // libcurl takes a head that ends early for a response.
      if refusesBody, code != 0, failure == nil {
        failure = HTTPError.protocolError(reason: "its body has a content encoding that was not offered")
      }
      let end = parser.isCut ? TransferFailure.cutHead : nil
      let error: (any Error)? = if code == 0 { end } else { failure ?? self.error(code) }
      transfer.inbox.update { $0.complete(error) }
      engine.touch(self)
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

    /// The number of bytes, if it is known.
    let length: Int64?
    /// The number of bytes that libcurl has read.
    private(set) var sent: Int64 = 0
    /// Whether the server has answered and does not want the rest, for which libcurl would still wait.
    var isRefused = false
    private let content: Content
    /// Called with what the source has returned, by a task.
    private let onPiece: @Sendable (Result<Data?, any Error>) -> Void
    private var source: HTTPBody.Source?
    /// What the source has returned and was not read yet: a piece, the end, or an error.
    private var piece: Result<Data?, any Error>?
    /// The task that requests the next piece.
    private var pull: Task<Void, Never>?

    init(_ body: HTTPBody.Content, onPiece: @escaping @Sendable (Result<Data?, any Error>) -> Void) throws {
      self.onPiece = onPiece
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
      if count == 0, !isRefused, let length, sent < length { return .failure(Self.wrongLength) }
      return result
    }

    /// Moves back to the offset at which libcurl wants to restart; returns whether that is possible.
    func seek(to offset: Int64) -> Bool {
      // Requests with a sequence have a new connection, after which libcurl does not restart.
      if case .chunks = content { return false }
      sent = offset
      return true
    }

    private func readPiece(
      _ open: () throws -> HTTPBody.Source,
      into buffer: UnsafeMutableRawBufferPointer
    ) -> Read {
      switch piece {
      case nil where isRefused: return .bytes(0)
      case nil:
        pullNext(open)
        return .wait
      case .success(nil): return .bytes(0)
      case .failure(let error): return .failure(error as? HTTPError ?? HTTPError.request(underlying: error))
      case .success(let data?):
        let room = min(buffer.count, length.map { Int(clamping: $0 - sent) } ?? .max)
        let count = data.prefix(room).copyBytes(to: buffer)
        piece = count < data.count ? .success(data.dropFirst(count)) : nil
        // The next piece is requested while this one is sent.
        if piece == nil { pullNext(open) }
        return .bytes(count)
      }
    }

    private func pullNext(_ open: () throws -> HTTPBody.Source) {
      guard pull == nil else { return }
      // Storing the closure again would wrap it once more for each piece.
      do { if source == nil { source = try open() } } catch { return onPiece(.failure(error)) }
      guard let source else { return }
      pull = Task { [onPiece] in
        let piece: Result<Data?, any Error> = await .of {
          var data = try await source()
          while let found = data, found.isEmpty, !Task.isCancelled { data = try await source() }
          return data
        }
        onPiece(piece)
      }
    }

    func receive(_ result: Result<Data?, any Error>) {
      pull = nil
      piece = result
    }

    private static var wrongLength: HTTPError { .refused(reason: "the body is shorter than announced") }
  }

  /// Assembles the head of a response from its lines, which libcurl has checked.
  ///
  /// Lines after the head are trailers, which count as the head does, and are dropped.
  struct HTTPHeadParser {
    private enum State {
      case status
      case fields
      case done
    }

    private let limit: Int
    private var state = State.status
    private var size = 0
    private var status = 0
    private(set) var isHTTP2 = false
    private var headers = HTTPHeaders()

    init(limit: Int) { self.limit = limit }

    /// Returns the head of the final response with its last line.
    mutating func take(_ bytes: UnsafeRawBufferPointer) throws(HTTPError) -> HTTPResponseHead? {
      size += bytes.count
      guard size <= limit else { throw .headersTooLarge(limit: limit) }
      var line = bytes[...]
      while let last = line.last, last == UInt8(ascii: "\n") || last == UInt8(ascii: "\r") { line = line.dropLast() }
      switch state {
      case .status:
        status = Self.status(line)
        isHTTP2 = line.starts(with: "HTTP/2".utf8)
        headers = HTTPHeaders()
        state = .fields
      case .fields where !line.isEmpty: add(line)
      // An interim response, which only announces another one.
      case .fields where (100..<200).contains(status) && status != 101: state = .status
      case .fields:
        state = .done
        return HTTPResponseHead(status: status, headers: headers)
      case .done: break
      }
      return nil
    }

    /// Whether the head has begun and is not complete.
    var isCut: Bool { size > 0 && state != .done }

    private mutating func add(_ line: Slice<UnsafeRawBufferPointer>) {
      guard let first = line.first else { return }
      if first == UInt8(ascii: " ") || first == UInt8(ascii: "\t") {
        // The continuation of the previous line.
        headers.continueLast(Self.trimmed(line))
      } else if let colon = line.firstIndex(of: UInt8(ascii: ":")) {
        headers.add(Self.trimmed(line[..<colon]), Self.trimmed(line[line.index(after: colon)...]))
      }
    }

    /// Returns the three digits after the first space.
    private static func status(_ line: Slice<UnsafeRawBufferPointer>) -> Int {
      let rest = line.drop { $0 != UInt8(ascii: " ") }.drop { $0 == UInt8(ascii: " ") }
      let digits = rest.prefix(3).prefix { (UInt8(ascii: "0")...UInt8(ascii: "9")).contains($0) }
      return digits.reduce(0) { $0 * 10 + Int($1 - UInt8(ascii: "0")) }
    }

    /// Decodes as UTF-8, or as Latin-1 if that fails.
    private static func trimmed(_ bytes: Slice<UnsafeRawBufferPointer>) -> String {
      var bytes = bytes.drop { $0 == UInt8(ascii: " ") || $0 == UInt8(ascii: "\t") }
      while let last = bytes.last, last == UInt8(ascii: " ") || last == UInt8(ascii: "\t") { bytes = bytes.dropLast() }
      // Validating is generic code of the standard library, and most lines are ASCII.
      let text = UnsafeRawBufferPointer(rebasing: bytes)
      if text.allSatisfy({ $0 < 0x80 }) { return String(decoding: text, as: UTF8.self) }
      if let text = String(validating: bytes, as: UTF8.self) { return text }
      return String(String.UnicodeScalarView(bytes.map { Unicode.Scalar($0) }))
    }
  }
#endif
