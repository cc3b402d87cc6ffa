// SPDX-License-Identifier: MIT
// Copyright (c) 2026 Stepwise contributors

#if os(Linux) || os(Android)
  import CurlShim
  import Foundation
  import StepwiseFiles

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
    /// Called with what the source has returned, by a task.
    private let onPiece: @Sendable (Result<Data?, any Error>) -> Void
    private var source: HTTPBody.Source?
    private var piece = Piece.none
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
      if count == 0, let length, sent < length { return .failure(Self.wrongLength) }
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
      pull = Task { [onPiece] in
        let result: Result<Data?, any Error>
        do {
          var data = try await source()
          while let found = data, found.isEmpty, !Task.isCancelled { data = try await source() }
          result = .success(data)
        } catch {
          result = .failure(error)
        }
        onPiece(result)
      }
    }

    func receive(_ result: Result<Data?, any Error>) {
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
      let transfer = headers["Transfer-Encoding"]?.lowercased() ?? ""
      // libcurl decompresses these itself.
      if ["gzip", "deflate", "br", "zstd", "compress"].contains(where: transfer.contains) { return true }
      switch contentEncoding {
      case "", "identity": return false
      case "gzip", "x-gzip", "deflate": return !BodyDecoder.isAvailable
      default: return true
      }
    }
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

    enum Event {
      case more
      /// The head of the final response.
      case head(HTTPResponseHead)
      case tooLarge
    }

    private let limit: Int
    private var state = State.status
    private var size = 0
    private var status = 0
    private(set) var isHTTP2 = false
    private var headers = HTTPHeaders()

    init(limit: Int) { self.limit = limit }

    mutating func take(_ bytes: UnsafeRawBufferPointer) -> Event {
      size += bytes.count
      guard size <= limit else { return .tooLarge }
      var line = bytes[...]
      while let last = line.last, last == UInt8(ascii: "\n") || last == UInt8(ascii: "\r") { line = line.dropLast() }
      switch state {
      case .status:
        status = Self.status(line)
        isHTTP2 = line.starts(with: "HTTP/2".utf8)
        headers = HTTPHeaders()
        state = .fields
        return .more
      case .fields:
        guard line.isEmpty else {
          add(line)
          return .more
        }
        // An interim response, which only announces another one.
        if (100..<200).contains(status), status != 101 {
          state = .status
          return .more
        }
        state = .done
        return .head(HTTPResponseHead(status: status, headers: headers))
      case .done: return .more
      }
    }

    /// Whether the head of the final response is complete.
    var isDone: Bool {
      if case .done = state { true } else { false }
    }

    /// Whether the head has begun and is not complete.
    var isCut: Bool { size > 0 && !isDone }

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
