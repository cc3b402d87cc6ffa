// SPDX-License-Identifier: MIT
// Copyright (c) 2026 Stepwise contributors

import Dispatch
public import Foundation
import Stepwise
import StepwiseFiles

/// The body of a request: bytes, a file, an asynchronous sequence, or a multipart form.
///
/// ```swift
/// let response = try await HTTP.put(url, body: .file(recording, type: "audio/mp4")) { progress in
///   print(progress.sentBytes)
/// }
/// ```
///
/// Files and sequences are read as the network accepts them, so memory stays flat.
public struct HTTPBody: Sendable, HTTPConcealed {
  /// Returns the next piece of a body, or nil at its end; suspends until it is available.
  ///
  /// An error ends the transfer, which throws it as ``HTTPError/request(underlyingError:)``.
  public typealias Source = @concurrent @Sendable () async throws -> Data?

  /// What a transport sends.
  public enum Content: Sendable {
    /// Bytes in memory.
    case bytes(Data)

    /// The content of a file, which is read as it is sent. Its length is that of the file when the transfer starts.
    case file(URL)

    /// Pieces that are requested one after the other, each when the network has accepted the previous one.
    ///
    /// - Parameters:
    ///   - length: The number of bytes, if it is known; without it the body is sent in chunks. A source that ends
    ///     earlier fails the transfer; bytes beyond the length are not sent.
    ///   - open: Starts at the first piece; called each time the body is sent: also after a redirect that keeps the
    ///     body. A source that can be read only once throws the second time.
    case chunks(length: Int64?, open: @Sendable () throws -> Source)

    /// The number of bytes, if it is known.
    var length: Int64? {
      switch self {
      case .bytes(let data): Int64(data.count)
      case .file(let file): UploadFile.length(of: file)
      case .chunks(let length, _): length
      }
    }
  }

  /// What a transport sends.
  public let content: Content

  /// The media type, which is sent as `Content-Type` unless the headers of the request have one.
  public let type: String

  /// A Boolean value that indicates whether it can be sent again, after a redirect or by ``HTTPRetry``.
  var isRepeatable = true
  /// The reason why it cannot be sent.
  var refusal: String?

  /// Creates a body of bytes in memory.
  public static func bytes(_ data: Data, type: String = "application/octet-stream") -> HTTPBody {
    HTTPBody(content: .bytes(data), type: type)
  }

  /// Creates a body of a value in JSON.
  ///
  /// - Throws: `EncodingError`.
  public static func json(_ value: some Encodable, encoder: JSONEncoder = JSONEncoder()) throws -> HTTPBody {
    .bytes(try encoder.encode(value), type: "application/json")
  }

  /// Creates a body of names and values, as browsers send a form without files.
  public static func form(_ parameters: HTTPParameters) -> HTTPBody {
    .bytes(parameters.form, type: "application/x-www-form-urlencoded")
  }

  /// Creates a body that is read from a file as it is sent; an error of the file ends the request.
  public static func file(_ url: URL, type: String = "application/octet-stream") -> HTTPBody {
    HTTPBody(content: .file(url), type: type)
  }

  /// Creates a body of the elements of an asynchronous sequence, each requested when the network has accepted the
  /// previous one.
  ///
  /// The sequence is iterated once. A request that would have to send the body again, after a redirect with status 307
  /// or 308, throws ``HTTPError/refused(reason:)``; to allow that, use ``sequence(length:type:_:)``. An error of the
  /// sequence ends the request with ``HTTPError/request(underlyingError:)``.
  ///
  /// - Parameters:
  ///   - sequence: The sequence, which is cancelled with the request.
  ///   - length: The number of bytes, if it is known. If the sequence ends earlier, the request throws; what exceeds it
  ///     is not sent.
  ///   - type: The media type.
  /// - Returns: The body.
  public static func sequence<Base: AsyncSequence & Sendable>(
    _ sequence: Base,
    length: Int64? = nil,
    type: String = "application/octet-stream"
  ) -> HTTPBody where Base.Element == Data {
    let isRead = Lock(false)
    let content = Content.chunks(length: length) {
      guard !isRead.withLock({ exchange(&$0, with: true) }) else {
        throw HTTPError.refused(reason: "the body is a sequence that can be read once; pass a closure that creates one")
      }
      return SequenceSource.open(sequence)
    }
    return HTTPBody(content: content, type: type, isRepeatable: false)
  }

  /// Creates a body of the elements of an asynchronous sequence, which a closure creates each time the body is sent.
  ///
  /// The closure is called on a thread of the transport, so it must not block.
  public static func sequence<Base: AsyncSequence & Sendable>(
    length: Int64? = nil,
    type: String = "application/octet-stream",
    _ make: @escaping @Sendable () throws -> Base
  ) -> HTTPBody where Base.Element == Data {
    HTTPBody(content: .chunks(length: length) { SequenceSource.open(try make()) }, type: type)
  }

  /// Creates a body of a form of text fields, bytes and files, as browsers send it.
  public static func multipart(_ form: HTTPMultipart) -> HTTPBody {
    let pieces = form.pieces
    return HTTPBody(
      content: .chunks(length: MultipartSource.length(of: pieces)) {
        let source = MultipartSource(pieces)
        return { try await source.next() }
      },
      type: form.type,
      refusal: form.refusal
    )
  }

  /// The media type.
  public var description: String { "HTTPBody(\(type))" }
}

/// Iterates an asynchronous sequence on behalf of different Tasks, one at a time.
actor SequenceSource<Base: AsyncSequence & Sendable> where Base.Element == Data {
  private var iterator: Base.AsyncIterator

  private init(_ base: Base) { iterator = base.makeAsyncIterator() }

  /// Returns the next element; must not be called again before it has returned.
  private func next() async throws -> Data? {
    var iterator = self.iterator
    defer { self.iterator = iterator }
    return try await iterator.next(isolation: self)
  }

  static func open(_ base: Base) -> HTTPBody.Source {
    let source = SequenceSource(base)
    return { try await source.next() }
  }
}

/// A file that is sent as a body.
package enum UploadFile {
  /// Nil when it cannot be read.
  static func length(of file: URL) -> Int64? { (try? open(file))?.length }

  /// Opens a file; returns it and the number of its bytes.
  ///
  /// - Throws: ``HTTPError/request(underlyingError:)`` with the system's error, also for a directory;
  ///   ``HTTPError/refused(reason:)`` for a pipe, a socket or a device, which has no length.
  static func open(_ file: URL) throws(HTTPError) -> (file: OpenFile, length: Int64) {
    do {
      let open = try FileLocation(file.path).open(O_RDONLY, followsLinks: true)
      let status = try open.status()
      guard status.st_mode & S_IFMT != S_IFDIR else { throw FileFailure("open", file.path, EISDIR) }
      guard status.st_mode & S_IFMT == S_IFREG else {
        throw HTTPError.refused(
          reason: "a file of its body is a pipe, a socket or a device; send a sequence of its bytes"
        )
      }
      return (open, Int64(status.st_size))
    } catch {
      throw HTTPError(error)
    }
  }

  /// Reads the next bytes, fewer only at the end of the file.
  static func read(_ count: Int, from file: OpenFile) throws(HTTPError) -> Data {
    do { return Data(try file.read(count)) } catch { throw HTTPError(error) }
  }

  /// Reads a whole file.
  package static func content(of url: URL) throws(HTTPError) -> Data {
    let (file, length) = try open(url)
    return try read(Int(length), from: file)
  }
}

/// The progress of sending a request's body.
///
/// Your progress closure receives it.
public struct HTTPUploadProgress: Sendable, Hashable {
  /// The number of bytes that the network has accepted.
  public let sentBytes: Int64

  /// The number of bytes of the body; nil when it is unknown.
  public let totalBytes: Int64?

  /// Creates a value, for tests of code that uses one.
  public init(sentBytes: Int64, totalBytes: Int64?) {
    self.sentBytes = sentBytes
    self.totalBytes = totalBytes
  }

  /// The sent fraction, from 0 to 1; nil when the total is unknown.
  public var fractionCompleted: Double? { totalBytes.map { $0 > 0 ? min(1, Double(sentBytes) / Double($0)) : 1 } }
}

/// Calls the progress closure of an upload, one call at a time, on a separate queue.
///
/// The transport's thread never waits for the closure. After a long call, the next one receives the latest progress.
final class UploadReporter: Sendable {
  private struct State {
    /// The latest progress; nil once the closure has been called with it.
    var latest: Int64?
    /// Nil once it is closed.
    var watcher: (@Sendable (HTTPUploadProgress) -> Void)?
  }

  private let total: Int64?
  private let queue = DispatchQueue(label: "StepwiseHTTP.upload")
  private let state: Lock<State>

  init(total: Int64?, watcher: @escaping @Sendable (HTTPUploadProgress) -> Void) {
    self.total = total
    state = Lock(State(watcher: watcher))
  }

  func report(_ sent: Int64) {
    guard state.withLock({ exchange(&$0.latest, with: sent) }) == nil else { return }
    queue.async { [self] in
      let (sent, watcher) = state.withLock { ($0.latest.take(), $0.watcher) }
      if let sent { watcher?(HTTPUploadProgress(sentBytes: sent, totalBytes: total)) }
    }
  }

  /// Waits until the closure has been called with the latest progress, or the Task is cancelled.
  func flush() async {
    let isReached = Once<Bool>()
    queue.async { isReached.settle(true) }
    if await WorkElsewhere.whileBusy({ await isReached.value() }) == nil { close() }
  }

  /// Prevents further calls.
  func close() { _ = state.withLock { $0.watcher.take() } }
}

/// A form of the type `multipart/form-data`, with text fields, bytes and files.
///
/// ```swift
/// var form = HTTPMultipart()
/// form.add("title", "Kiss")
/// form.add("cover", file: picture, type: "image/png")
/// let response = try await HTTP.post(url, body: .multipart(form))
/// ```
public struct HTTPMultipart: Sendable, HTTPConcealed {
  private var parts: [MultipartSource.Piece] = []
  /// The reason why the form cannot be sent.
  private(set) var refusal: String?
  private let boundary: String

  /// Creates an empty form.
  public init() {
    var generator = SystemRandomNumberGenerator()
    boundary = "stepwise-" + (0..<2).map { _ in String(generator.next(), radix: 36) }.joined()
  }

  var type: String { "multipart/form-data; boundary=" + boundary }

  /// Adds a text field; you can add a name more than once.
  public mutating func add(_ name: String, _ value: String) { add(name, nil, nil, .bytes(Data(value.utf8))) }

  /// Adds bytes in memory, as a file of the name that the server receives.
  public mutating func add(_ name: String, bytes: Data, fileName: String, type: String = "application/octet-stream") {
    add(name, fileName, type, .bytes(bytes))
  }

  /// Adds a file, which is read as it is sent, with the length that it has now.
  ///
  /// If it cannot be read, the request throws ``HTTPError/request(underlyingError:)``.
  public mutating func add(
    _ name: String,
    file: URL,
    fileName: String? = nil,
    type: String = "application/octet-stream"
  ) {
    add(name, fileName ?? file.lastPathComponent, type, .file(file, length: UploadFile.length(of: file)))
  }

  private mutating func add(_ name: String, _ fileName: String?, _ type: String?, _ content: MultipartSource.Piece) {
    var header = "Content-Disposition: form-data; name=\"\(Self.quoted(name))\""
    if let fileName { header += "; filename=\"\(Self.quoted(fileName))\"" }
    if let type {
      if type.unicodeScalars.contains(where: { $0.value < 32 || $0.value == 127 }) {
        refusal = "the media type of a part of the form contains a line break or a control character"
      }
      header += "\r\nContent-Type: \(type)"
    }
    parts += [.bytes(Data("--\(boundary)\r\n\(header)\r\n\r\n".utf8)), content, .bytes(Data("\r\n".utf8))]
  }

  /// As the HTML standard encodes names ("Multipart form data", section 4.10.21.8).
  private static func quoted(_ text: String) -> String {
    // By scalars: a quotation mark with an accent on it is another character, but the same scalar.
    let encodings: [Unicode.Scalar: String] = ["\r": "%0D", "\n": "%0A", "\"": "%22"]
    return text.unicodeScalars.map { encodings[$0] ?? String($0) }.joined()
  }

  var pieces: [MultipartSource.Piece] { parts + [.bytes(Data("--\(boundary)--\r\n".utf8))] }

  /// The number of parts.
  public var description: String { "HTTPMultipart(\(parts.count / 3) parts)" }
}

/// Reads a form piece by piece, in flat memory.
actor MultipartSource {
  enum Piece: Sendable {
    case bytes(Data)
    /// A file, with its length when the form was created; nil when it could not be read then.
    case file(URL, length: Int64?)
  }

  /// Not smaller, because each piece is a round trip between the transport's thread and a task.
  private static let pieceSize: Int64 = 1024 * 1024

  private var pieces: ArraySlice<Piece>
  private var current: (file: OpenFile, left: Int64)?

  init(_ pieces: [Piece]) { self.pieces = pieces[...] }

  func next() throws -> Data? {
    while true {
      if let (file, left) = current {
        let data = try UploadFile.read(Int(min(left, Self.pieceSize)), from: file)
        if !data.isEmpty {
          current = (file, left - Int64(data.count))
          return data
        }
        current = nil
        // Otherwise the server would read the rest of the form as part of the file.
        guard left == 0 else { throw HTTPError.refused(reason: "a file of the form became shorter while it was sent") }
      }
      switch pieces.popFirst() {
      case nil: return nil
      case .bytes(let data): if !data.isEmpty { return data }
      case .file(let url, let length):
        let (file, currentLength) = try UploadFile.open(url)
        current = (file, length ?? currentLength)
      }
    }
  }

  /// Returns the length of all pieces; nil when a file could not be read, which is reported when the form is sent.
  static func length(of pieces: [Piece]) -> Int64? {
    pieces.reduce(0) { sum, piece in
      switch piece {
      case .bytes(let data): sum.map { $0 + Int64(data.count) }
      case .file(_, let length): sum.flatMap { sum in length.map { sum + $0 } }
      }
    }
  }
}
