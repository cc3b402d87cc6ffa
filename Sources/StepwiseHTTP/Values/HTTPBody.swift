// SPDX-License-Identifier: MIT
// Copyright (c) 2026 Stepwise contributors

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
public struct HTTPBody: Sendable {
  /// Returns the next piece of a body, or nil at its end; suspends until it is available.
  ///
  /// An error ends the transfer, which throws it as ``HTTPError/request(underlying:)``.
  public typealias Source = @Sendable () async throws -> Data?

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
      case .file(let file): MultipartSource.length(of: file)
      case .chunks(let length, _): length
      }
    }
  }

  /// What a transport sends.
  public let content: Content
  /// A Boolean value that indicates whether it can be sent again, after a redirect or by ``HTTPRetry``.
  let isRepeatable: Bool
  /// The reason why it cannot be sent.
  let refusal: String?

  /// The media type, which is sent as `Content-Type` unless the headers of the request have one.
  public let type: String

  init(_ content: Content, type: String, isRepeatable: Bool = true, refusal: String? = nil) {
    self.content = content
    self.type = type
    self.isRepeatable = isRepeatable
    self.refusal = refusal
  }

  /// Creates a body of bytes in memory.
  ///
  /// - Parameters:
  ///   - data: The bytes.
  ///   - type: The media type.
  /// - Returns: The body.
  public static func bytes(_ data: Data, type: String = "application/octet-stream") -> HTTPBody {
    HTTPBody(.bytes(data), type: type)
  }

  /// Creates a body of a value in JSON.
  ///
  /// - Parameters:
  ///   - value: The value.
  ///   - encoder: The encoder.
  /// - Returns: The body.
  /// - Throws: `EncodingError`.
  public static func json(_ value: some Encodable, encoder: JSONEncoder = JSONEncoder()) throws -> HTTPBody {
    .bytes(try encoder.encode(value), type: "application/json")
  }

  /// Creates a body of names and values, as browsers send a form without files.
  public static func form(_ parameters: HTTPParameters) -> HTTPBody {
    .bytes(parameters.form, type: "application/x-www-form-urlencoded")
  }

  /// Creates a body that is read from a file as it is sent.
  ///
  /// - Parameters:
  ///   - url: The file. If it cannot be read, the request throws ``HTTPError/request(underlying:)``.
  ///   - type: The media type.
  /// - Returns: The body.
  public static func file(_ url: URL, type: String = "application/octet-stream") -> HTTPBody {
    HTTPBody(.file(url), type: type)
  }

  /// Creates a body of the elements of an asynchronous sequence, each requested when the network has accepted the
  /// previous one.
  ///
  /// The sequence is iterated once. A request that would have to send the body again, after a redirect with status 307
  /// or 308, throws ``HTTPError/refused(reason:)``; to allow that, use ``sequence(length:type:_:)``. An error of the
  /// sequence ends the request with ``HTTPError/request(underlying:)``.
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
    return HTTPBody(content, type: type, isRepeatable: false)
  }

  /// Creates a body of the elements of an asynchronous sequence that is created each time the body is sent.
  ///
  /// - Parameters:
  ///   - length: The number of bytes, if it is known.
  ///   - type: The media type.
  ///   - make: Creates the sequence; called on a thread of the transport, so it must not block.
  /// - Returns: The body.
  public static func sequence<Base: AsyncSequence & Sendable>(
    length: Int64? = nil,
    type: String = "application/octet-stream",
    _ make: @escaping @Sendable () throws -> Base
  ) -> HTTPBody where Base.Element == Data {
    HTTPBody(.chunks(length: length) { SequenceSource.open(try make()) }, type: type)
  }

  /// Creates a body of a form of text fields, bytes and files, as browsers send it.
  ///
  /// - Parameter form: The form. The lengths of its files are read immediately.
  /// - Returns: The body.
  public static func multipart(_ form: HTTPMultipart) -> HTTPBody {
    let pieces = form.pieces()
    return HTTPBody(
      .chunks(length: MultipartSource.length(of: pieces)) {
        let source = MultipartSource(pieces)
        return { try await source.next() }
      },
      type: form.type,
      refusal: form.refusal
    )
  }
}

extension HTTPBody: HTTPConcealed {
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
enum UploadFile {
  /// Opens a file; returns it and the number of its bytes.
  ///
  /// - Throws: ``HTTPError/request(underlying:)`` with the system's error, also for a directory.
  static func open(_ file: URL) throws(HTTPError) -> (file: OpenFile, length: Int64) {
    try HTTPError.naming { () throws(FileFailure) in
      let open = try FileLocation(file.path).open(O_RDONLY, followsLinks: true)
      let status = try open.status()
      guard status.st_mode & S_IFMT != S_IFDIR else { throw FileFailure("open", file.path, EISDIR) }
      return (open, Int64(status.st_size))
    }
  }

  /// Throws if a file cannot be read.
  static func check(_ file: URL) throws(HTTPError) { _ = try open(file) }
}
