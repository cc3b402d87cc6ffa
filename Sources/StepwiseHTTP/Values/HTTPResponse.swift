// SPDX-License-Identifier: MIT
// Copyright (c) 2026 Stepwise contributors

public import Foundation
import Stepwise

#if canImport(FoundationNetworking)
  import FoundationNetworking
#endif

/// The response to a request, with any status.
///
/// A 404 is no error: check ``isSuccess``, or call ``requireSuccess()`` if your code handles nothing else.
public struct HTTPResponse: Sendable, CustomStringConvertible {
  /// The status, such as 200 or 404.
  public let status: Int

  /// The header fields.
  public let headers: HTTPHeaders

  /// The body, decompressed; empty after a download that wrote it to a file.
  public let body: Data

  /// The URL that the response came from, after redirects, without a user name and password.
  public let url: URL

  /// The decoder of the client that sent the request; nil without a client.
  var decoder: JSONDecoder?

  /// Creates a response, for tests of code that receives one.
  public init(status: Int, headers: HTTPHeaders = [:], body: Data = Data(), url: URL) {
    self.status = status
    self.headers = headers
    self.body = body
    self.url = url
  }

  /// A Boolean value that indicates whether the status is one of 200 to 299.
  public var isSuccess: Bool { (200..<300).contains(status) }

  /// Returns the response if its status is one of 200 to 299.
  ///
  /// ```swift
  /// let track = try await HTTP.get(url).requireSuccess().decoded(as: Track.self)
  /// ```
  ///
  /// - Returns: The response itself.
  /// - Throws: ``HTTPStatusError`` for any other status.
  @discardableResult
  public func requireSuccess() throws(HTTPStatusError) -> HTTPResponse {
    guard isSuccess else { throw HTTPStatusError(response: self) }
    return self
  }

  /// Decodes the body from JSON, by the client's ``HTTPClient/decoder`` unless there is another one.
  ///
  /// The status is ignored: call ``requireSuccess()`` first where it matters.
  ///
  /// - Throws: `DecodingError`, whose description has the status and the path of the URL.
  public func decoded<Value: Decodable>(
    as type: Value.Type = Value.self,
    using decoder: JSONDecoder? = nil
  ) throws -> Value {
    do {
      return try (decoder ?? self.decoder ?? JSONDecoder()).decode(type, from: body)
    } catch let error as DecodingError {
      throw error.adding("status \(status), \(url.path)")
    }
  }

  /// Returns how long the server wants the client to wait before the next attempt, from its header `Retry-After`.
  ///
  /// - Parameter now: The time that a date in the header is compared with.
  /// - Returns: The time to wait; nil when there is no such header.
  public func retryAfter(now: Date = Date()) -> Duration? {
    guard let value = headers["Retry-After"]?.trimmingCharacters(in: .whitespaces) else { return nil }
    if !value.isEmpty, value.allSatisfy({ $0.isASCII && $0.isNumber }) { return Int64(value).map { .seconds($0) } }
    guard let date = HTTPDate.parse(value) else { return nil }
    return .seconds(max(0, date.timeIntervalSince(now)))
  }

  /// The status and the length of the body.
  public var description: String { "HTTPResponse(\(status), \(body.count) bytes)" }

  /// The body as text, in the encoding that `Content-Type` names.
  ///
  /// Without a charset, or with an unknown one, the text is decoded as UTF-8. A byte order mark is removed, and takes
  /// precedence over the charset. Invalid bytes become U+FFFD.
  public var text: String {
    if body.starts(with: [0xEF, 0xBB, 0xBF]) { return String(decoding: body.dropFirst(3), as: UTF8.self) }
    if body.starts(with: [0xFE, 0xFF]) { return Self.utf16(body.dropFirst(2), isBigEndian: true) }
    if body.starts(with: [0xFF, 0xFE]) { return Self.utf16(body.dropFirst(2), isBigEndian: false) }
    switch headers["Content-Type"].flatMap(Self.charset) {
    // Browsers decode all of these as Windows-1252 (WHATWG Encoding, section 4.2).
    case "iso-8859-1", "latin1", "us-ascii", "ascii", "windows-1252", "cp1252":
      return String(data: body, encoding: .windowsCP1252) ?? String(data: body, encoding: .isoLatin1) ?? ""
    case "utf-16", "utf-16le": return Self.utf16(body, isBigEndian: false)
    case "utf-16be": return Self.utf16(body, isBigEndian: true)
    default: return String(decoding: body, as: UTF8.self)
    }
  }

  /// The value of the parameter `charset`, in lower case and without quotes.
  private static func charset(_ contentType: String) -> String? {
    for parameter in contentType.split(separator: ";").dropFirst() {
      let pair = parameter.split(separator: "=", maxSplits: 1)
      guard pair.count == 2, pair[0].trimmingCharacters(in: .whitespaces).lowercased() == "charset" else { continue }
      return pair[1].trimmingCharacters(in: CharacterSet(charactersIn: " \t\"'")).lowercased()
    }
    return nil
  }

  private static func utf16(_ bytes: Data, isBigEndian: Bool) -> String {
    let units = stride(from: bytes.startIndex, to: bytes.endIndex - 1, by: 2).map { index in
      let (first, second) = (UInt16(bytes[index]), UInt16(bytes[index + 1]))
      return isBigEndian ? first << 8 | second : second << 8 | first
    }
    return String(decoding: units, as: UTF16.self)
  }
}

/// A response with a status other than 200 to 299, where ``HTTPResponse/requireSuccess()`` requires one.
///
/// You get it only where your code calls that method. Requests do not throw this error.
public struct HTTPStatusError: Error, Sendable, CustomStringConvertible, LocalizedError {
  /// The response.
  public let response: HTTPResponse

  /// The status of the response.
  public var status: Int { response.status }

  /// How long the server asks to wait before the next attempt; nil when it does not say.
  ///
  /// A `RetryPolicy` waits as long by `RetryPolicy(…) { error, _ in (error as? HTTPStatusError)?.retryAfter }`.
  public var retryAfter: Duration? { response.retryAfter() }

  /// Creates an error, for tests of code that handles one.
  public init(response: HTTPResponse) { self.response = response }

  /// The status and its meaning.
  ///
  /// The headers and the body are left out: they may contain secrets.
  public var description: String {
    "The server responded with status \(status) (\(HTTPURLResponse.localizedString(forStatusCode: status).lowercased()))."
  }

  /// The same as ``description``.
  public var errorDescription: String? { description }
}

extension JSONEncoder {
  /// Returns an encoder with the same settings; an object of a subclass itself.
  func copied() -> JSONEncoder {
    guard type(of: self) == JSONEncoder.self else { return self }
    let copy = JSONEncoder()
    copy.outputFormatting = outputFormatting
    copy.dateEncodingStrategy = dateEncodingStrategy
    copy.dataEncodingStrategy = dataEncodingStrategy
    copy.nonConformingFloatEncodingStrategy = nonConformingFloatEncodingStrategy
    copy.keyEncodingStrategy = keyEncodingStrategy
    copy.userInfo = userInfo
    return copy
  }
}

extension JSONDecoder {
  /// Returns a decoder with the same settings; an object of a subclass itself.
  func copied() -> JSONDecoder {
    guard type(of: self) == JSONDecoder.self else { return self }
    let copy = JSONDecoder()
    copy.dateDecodingStrategy = dateDecodingStrategy
    copy.dataDecodingStrategy = dataDecodingStrategy
    copy.nonConformingFloatDecodingStrategy = nonConformingFloatDecodingStrategy
    copy.keyDecodingStrategy = keyDecodingStrategy
    copy.userInfo = userInfo
    copy.allowsJSON5 = allowsJSON5
    copy.assumesTopLevelDictionary = assumesTopLevelDictionary
    return copy
  }
}

extension DecodingError {
  /// Returns the error with a further text in its description, and the coding path.
  fileprivate func adding(_ text: String) -> DecodingError {
    func added(_ context: Context) -> Context {
      let path = context.codingPath.map { $0.intValue.map { "[\($0)]" } ?? ".\($0.stringValue)" }.joined()
      return Context(
        codingPath: context.codingPath,
        debugDescription: "\(context.debugDescription) (\(text), at \(path.isEmpty ? "the top level" : path))",
        underlyingError: context.underlyingError
      )
    }
    switch self {
    case .typeMismatch(let type, let context): return .typeMismatch(type, added(context))
    case .valueNotFound(let type, let context): return .valueNotFound(type, added(context))
    case .keyNotFound(let key, let context): return .keyNotFound(key, added(context))
    case .dataCorrupted(let context): return .dataCorrupted(added(context))
    @unknown default: return self
    }
  }
}

/// A response whose head has arrived, and whose body is received as it is read.
///
/// Check ``status`` before you read ``body`` or ``events``.
public struct HTTPResponseStream: Sendable, CustomStringConvertible {
  /// The status, such as 200 or 404.
  public let status: Int

  /// The header fields.
  public let headers: HTTPHeaders

  /// The URL that the response came from, after redirects, without a user name and password.
  public let url: URL

  /// The body, which you can read once.
  public let body: HTTPBodyStream

  /// The decoder of the client that sent the request; nil without a client.
  var decoder: JSONDecoder?

  /// Creates a response, for tests and interceptors.
  public init(status: Int, headers: HTTPHeaders = [:], url: URL, body: HTTPBodyStream = HTTPBodyStream()) {
    self.status = status
    self.headers = headers
    self.url = url
    self.body = body
  }

  /// A Boolean value that indicates whether the status is one of 200 to 299.
  public var isSuccess: Bool { (200..<300).contains(status) }

  /// Returns the response if its status is one of 200 to 299.
  ///
  /// Otherwise it receives the first 64 KiB of the body, for the error.
  ///
  /// - Returns: The response itself.
  /// - Throws: ``HTTPStatusError`` for any other status; ``HTTPError``; `CancellationError` when the Task is cancelled.
  @discardableResult
  public func requireSuccess() async throws -> HTTPResponseStream {
    if isSuccess { return self }
    var beginning = Data()
    for try await chunk in body {
      beginning += chunk.prefix(Self.errorBody - beginning.count)
      if beginning.count >= Self.errorBody { break }
    }
    throw HTTPStatusError(response: response(body: beginning))
  }

  /// How many bytes of the body of a discarded response are received.
  static let errorBody = 64 * 1024

  /// Receives the rest of the body, which may have as many bytes as the limit.
  ///
  /// - Throws: ``HTTPError/bodyTooLarge(limit:)`` and other cases of ``HTTPError``; `CancellationError` when the Task
  ///   is cancelled.
  public func collected(upTo limit: Int = 64 * 1024 * 1024) async throws -> HTTPResponse {
    var data = Data()
    for try await chunk in body {
      guard chunk.count <= limit - data.count else { throw HTTPError.bodyTooLarge(limit: limit) }
      if data.isEmpty { data = chunk } else { data.append(chunk) }
    }
    return response(body: data)
  }

  func response(status: Int? = nil, body: Data = Data()) -> HTTPResponse {
    var response = HTTPResponse(status: status ?? self.status, headers: headers, body: body, url: url)
    response.decoder = decoder
    return response
  }

  /// The status.
  public var description: String { "HTTPResponseStream(\(status))" }
}

/// The body of a response, as an asynchronous sequence of chunks.
///
/// A chunk is received when it is requested: a loop that takes long holds the server back, and memory stays flat.
/// Chunks are not empty, and are divided as the network delivered them. Leaving the loop, or cancelling its Task, ends
/// the request and closes the connection. So does releasing a body that was not read.
///
/// You can read the body once. A second loop throws ``HTTPError/refused(reason:)``.
public struct HTTPBodyStream: AsyncSequence, Sendable {
  /// Some consecutive bytes of the body, decompressed.
  public typealias Element = Data
  /// ``HTTPError`` when the body breaks off, `CancellationError` when the Task is cancelled.
  public typealias Failure = any Error

  /// Waits for the next chunk, or nil at the end; releasing it ends the request.
  typealias Source = @Sendable () async throws -> Data?

  private final class Content: Sendable {
    /// Nil once an iterator has it.
    let source: Lock<Source?>

    init(_ source: @escaping Source) { self.source = Lock(source) }
  }

  private let content: Content

  init(_ source: @escaping Source) { content = Content(source) }

  /// Creates a body of chunks in memory, for tests of code that reads one.
  public init(_ chunks: [Data] = []) {
    let rest = Lock(chunks.filter { !$0.isEmpty }[...])
    self.init {
      try Task.checkCancellation()
      return rest.withLock { $0.popFirst() }
    }
  }

  /// Creates the iterator, which ends the request when it is released.
  public func makeAsyncIterator() -> Iterator { Iterator(source: content.source.withLock { $0.take() }) }

  /// The iterator of a body.
  public struct Iterator: AsyncIteratorProtocol {
    /// Nil when the body was read by another.
    fileprivate let source: Source?

    /// Waits for the next chunk in an actor's isolation; nil at the end of the body.
    ///
    /// - Throws: ``HTTPError``; `CancellationError` when the Task is cancelled.
    public mutating func next(isolation actor: isolated (any Actor)?) async throws -> Data? {
      guard let source else { throw HTTPError.refused(reason: "the body of a response can be read once") }
      return try await source()
    }
  }
}

@available(*, unavailable)
extension HTTPBodyStream.Iterator: Sendable {}
