// SPDX-License-Identifier: MIT
// Copyright (c) 2026 Stepwise contributors

import Dispatch
public import Foundation
import Stepwise
import StepwiseFiles

#if canImport(CryptoKit)
  import CryptoKit
#endif

/// A request whose response is written to a file: `HTTP.download` and `client.download`, called as a function.
///
/// Use it for files that are too large for memory, or that your user should not load twice. The body is written to the
/// file's name with `.part` appended, as it arrives, and is renamed when it is complete. When the download fails, is
/// cancelled, or the process is killed, that file stays, with a small one that ends in `.part.tag`. The next call
/// requests only the rest, with `If-Range`. If the file on the server has changed since, by its tag, its time or its
/// length, or the server does not support ranges, the whole file is downloaded again. While one download writes the
/// file, a second one is refused. A symbolic link at the destination is replaced; a symbolic link at the `.part` is an
/// error.
///
/// ```swift
/// let response = try await HTTP.download(address, to: file) { progress in
///   show(progress.fractionCompleted ?? 0)
/// }
/// ```
///
/// Only a status of 200 to 299 creates the file. With any other status the response has the body, and no file has
/// changed.
public struct HTTPDownloading: Sendable {
  let client: HTTPClient

  /// Downloads to a file, in constant memory, and resumes where an earlier attempt ended.
  ///
  /// - Parameters:
  ///   - address: The source, as a `URL` or a `String`. A client reads a `String` as a path below its base URL.
  ///   - file: The file to create or to replace.
  ///   - headers: Header fields, in place of the client's of the same name.
  ///   - deadlines: The time limits for each request; nil for the client's.
  ///   - sha256: The required SHA-256 of the file, in hexadecimal. It is computed when all bytes are there. A
  ///     different one throws ``HTTPError/checksumMismatch(expected:found:)`` and leaves what is at `file` unchanged.
  ///   - progress: Called after each written piece, one call at a time, on a queue of the download. The download waits
  ///     until it returns. A step's progress is reported without it.
  /// - Returns: The response, whatever its status; with an empty body when it was written to the file. The status is
  ///   206 when an earlier attempt was resumed.
  /// - Throws: ``HTTPError``; `CancellationError` when the task is cancelled. Never for a status.
  public func callAsFunction(
    _ address: some HTTPAddress,
    to file: URL,
    headers: HTTPHeaders = [:],
    deadlines: HTTPDeadlines? = nil,
    sha256: String? = nil,
    progress: (@Sendable (HTTPDownloadProgress) -> Void)? = nil
  ) async throws -> HTTPResponse {
    var request = HTTPRequest(url: try client.url(of: address), headers: headers)
    request.deadlines = deadlines
    return try await self(request, to: file, sha256: sha256, progress: progress)
  }

  /// Downloads the response to a request to a file, as ``callAsFunction(_:to:headers:deadlines:sha256:progress:)`` does.
  ///
  /// - Parameters:
  ///   - request: The request, a `GET` without the header `Range`.
  ///   - file: The file to create or to replace.
  ///   - sha256: The required SHA-256 of the file, in hexadecimal.
  ///   - progress: Called after each written piece. The download waits until it returns.
  /// - Returns: The response, whatever its status; with an empty body when it was written to the file.
  /// - Throws: ``HTTPError``; `CancellationError` when the task is cancelled. Never for a status.
  public func callAsFunction(
    _ request: HTTPRequest,
    to file: URL,
    sha256: String? = nil,
    progress: (@Sendable (HTTPDownloadProgress) -> Void)? = nil
  ) async throws -> HTTPResponse {
    var request = try client.prepared(request)
    guard request.method == "GET", request.headers["Range"] == nil, request.headers["If-Range"] == nil else {
      throw HTTPError.refused(reason: "a download is a GET that writes its own header Range")
    }
    guard sha256.map({ $0.count == 64 && $0.allSatisfy(\.isHexDigit) }) ?? true else {
      throw HTTPError.refused(reason: "a SHA-256 is 64 hexadecimal digits")
    }
    try Task.checkCancellation()
    let target = try DownloadFile(of: request.url, to: file, sha256: sha256?.lowercased(), watcher: progress)
    defer { target.close() }
    // A range of a compressed body is useless.
    if request.headers["Accept-Encoding"] == nil { request.headers["Accept-Encoding"] = "identity" }
    request.onFailure = { error in target.interrupt(error) }
    let limit = request.bodyLimit ?? client.session.bodyLimit
    let use = try client.session.use()
    while true {
      let response = try await client.perform(request, using: use, change: target.request) { response in
        try await target.receive(response, upTo: limit)
      }
      // This terminates: every response to a request for the whole file is a result.
      if let response { return response }
    }
  }
}

/// The progress of a download.
///
/// Your progress closure receives it.
public struct HTTPDownloadProgress: Sendable, Hashable {
  /// The number of bytes in the file, including those of an earlier attempt.
  public let receivedBytes: Int64

  /// The total number of bytes; nil when the server does not send it.
  public let totalBytes: Int64?

  /// The number of bytes of an earlier attempt.
  public let resumedBytes: Int64

  /// Creates a value, for tests of code that uses one.
  public init(receivedBytes: Int64, totalBytes: Int64?, resumedBytes: Int64 = 0) {
    self.receivedBytes = receivedBytes
    self.totalBytes = totalBytes
    self.resumedBytes = resumedBytes
  }

  /// The completed fraction, from 0 to 1; nil when the total is unknown.
  public var fractionCompleted: Double? { totalBytes.map { $0 > 0 ? min(1, Double(receivedBytes) / Double($0)) : 1 } }
}

/// The file of a download: writes response bodies as they arrive, after the bytes of an earlier attempt.
///
/// Bytes are written, and the progress closure is called, on a queue of the download. The next piece of a response is
/// requested only after that, so a slow disk or closure slows the server down and uses no memory.
final class DownloadFile: Sendable {
  typealias Watcher = @Sendable (HTTPDownloadProgress) -> Void

  private struct State: ~Copyable {
    /// Nil once it is closed; later bytes are ignored.
    var file: PartialFile?
    /// What was requested last.
    var request = DownloadRequest.whole
    /// The number of existing bytes, from the start of the file.
    var received: Int64 = 0
    /// Where the body of the response ends in the file, if that is known.
    var end: Int64?
    var total: Int64?
    var resumed: Int64 = 0
    /// Whether the existing bytes belong to another file than the server has.
    var isOutdated = false
  }

  private let url: URL
  /// The required checksum; nil for any.
  private let sha256: String?
  private let watcher: Watcher?
  private let step = Scope.current.recordedStep
  private let queue = DispatchQueue(label: "StepwiseHTTP.DownloadFile")
  private let state: Lock<State>
  /// What waits for the queue.
  private let waiting = Lock<Once<Result<Void, any Error>>?>(nil)

  init(of url: URL, to file: URL, sha256: String? = nil, watcher: Watcher?) throws(HTTPError) {
    guard file.isFileURL else { throw .refused(reason: "a download needs the URL of a file") }
    self.url = url
    self.sha256 = sha256
    self.watcher = watcher
    state = Lock(State(file: try PartialFile(file.path)))
  }

  /// Returns the request for what is missing of the file.
  func request(_ request: HTTPRequest) -> HTTPRequest {
    let wish = state.withLock { state in
      state.request = .whole
      if !state.isOutdated, let size = state.file?.size, size > 0, let tag = state.file?.tag(for: url) {
        state.request = .rest(start: size, tag)
      }
      return state.request
    }
    var next = request
    next.headers = request.headers.merging(wish.headers)
    return next
  }

  /// Receives a response, and returns it without the body that was written.
  ///
  /// - Returns: Nil when the whole file has to be requested.
  func receive(_ stream: HTTPResponseStream, upTo limit: Int) async throws -> HTTPResponse? {
    let head = HTTPResponseHead(status: stream.status, headers: stream.headers)
    switch try state.withLock({ $0.request }).verdict(head) {
    case .refuse: return try await stream.collected(upTo: limit)
    case .restart:
      state.withLock { $0.isOutdated = true }
      return nil
    case .complete(let size): try await begin(head, at: size, total: size)
    case .write(let start, let end, let total):
      try await begin(head, at: start, to: end ?? total, total: total)
      for try await data in stream.body { try await write(data) }
    }
    try await finish()
    return stream.response(status: head.status == 416 ? 206 : head.status)
  }

  /// Keeps the bytes before a position, which the following body continues up to an end.
  @concurrent func begin(_ head: HTTPResponseHead, at start: Int64 = 0, to end: Int64? = nil, total: Int64?)
    async throws
  {
    try await change { [url] state in
      if start == 0 {
        try state.file?.restart(DownloadTag(head, from: url, total: total))
        state.isOutdated = false
      }
      (state.received, state.end, state.total, state.resumed) = (start, end ?? total, total, start)
    }
  }

  /// Writes the next bytes.
  @concurrent func write(_ data: Data) async throws {
    try await change { state in
      let room = state.end.map { $0 - state.received } ?? .max
      let bytes = Int64(data.count) > room ? data.prefix(Int(room)) : data
      try state.file?.content.write(bytes, at: Int(state.received))
      state.received += Int64(bytes.count)
      guard bytes.count == data.count else { throw HTTPError.tooShort }
    }
  }

  /// Checks the length and the checksum of the file, and renames it to its destination.
  @concurrent private func finish() async throws {
    try await onQueue { [self] in
      guard state.withLock({ $0.total == nil || $0.total == $0.received }) else { throw HTTPError.tooShort }
      if let expected = sha256 {
        let found = try checksum()
        guard found == expected else {
          close(isUseless: true)
          throw HTTPError.checksumMismatch(expected: expected, found: found)
        }
      }
      try state.withLock { state throws in
        try state.file?.finish()
        state.file = nil
      }
    }
  }

  /// Reads the whole file, until it is closed; nothing else reads it or moves its position.
  private func checksum() throws -> String {
    var hash = SystemSHA256()
    try state.withLock { state throws in try state.file?.content.seek(to: 0) }
    while true {
      let bytes = try state.withLock { state throws in
        guard let content = state.file?.content else { throw CancellationError() }
        return try content.read(1 << 20)
      }
      guard !bytes.isEmpty else { return hash.hex() }
      hash.update(bytes)
    }
  }

  /// Closes the file; its bytes stay for the next attempt, unless there are none or they are useless.
  func close(isUseless: Bool = false) {
    state.withLock { state in
      if isUseless || state.file?.size == 0 { state.file?.remove() }
      state.file = nil
    }
  }

  /// Changes the file and reports the progress, on the queue.
  @concurrent private func change(_ body: @escaping @Sendable (inout State) throws -> Void) async throws {
    try await onQueue { [self] in
      let progress = try state.withLock { state throws -> HTTPDownloadProgress in
        guard state.file != nil else { throw CancellationError() }
        try body(&state)
        return HTTPDownloadProgress(receivedBytes: state.received, totalBytes: state.total, resumedBytes: state.resumed)
      }
      if let fraction = progress.fractionCompleted { step?.report(fraction) }
      watcher?(progress)
    }
  }

  /// Ends the wait for the queue when a request fails, even while the progress closure does not return.
  func interrupt(_ error: any Error) {
    // A request that was stopped on purpose has delivered everything that was needed.
    guard !(error is CancellationError) else { return }
    waiting.withLock { $0 }?.settle(.failure(error))
  }

  /// Runs a closure on the queue and waits for it, but not after the task is cancelled.
  private func onQueue(_ body: @escaping @Sendable () throws -> Void) async throws {
    let result = Once<Result<Void, any Error>>()
    waiting.withLock { $0 = result }
    defer { waiting.withLock { $0 = nil } }
    queue.async { result.settle(Result(catching: body).mapError { $0 is FileFailure ? HTTPError($0) : $0 }) }
    guard let result = await WorkElsewhere.whileBusy({ await result.value() }) else { throw CancellationError() }
    try result.get()
  }
}

/// SHA-256 of bytes that come in pieces, computed by the system where it offers that, so debug builds are fast, too.
///
/// On Linux that is OpenSSL's libcrypto, which libcurl loads for TLS.
struct SystemSHA256: ~Copyable {
  #if canImport(CryptoKit)
    private var hash = CryptoKit.SHA256()

    mutating func update(_ bytes: [UInt8]) { bytes.withUnsafeBytes { hash.update(bufferPointer: $0) } }

    /// The hash in lowercase hexadecimal; nothing may be added afterwards.
    func hex() -> String { StepwiseFiles.SHA256.hexadecimal(Array(hash.finalize())) }
  #else
    private typealias Begin = @convention(c) (UnsafeMutableRawPointer) -> Int32
    private typealias Update = @convention(c) (UnsafeMutableRawPointer, UnsafeRawPointer?, Int) -> Int32
    private typealias End = @convention(c) (UnsafeMutablePointer<UInt8>?, UnsafeMutableRawPointer) -> Int32

    private static let libraries = ("libcrypto.so.3", "libcrypto.so.1.1")
    private static let begin: Begin? = systemFunction("SHA256_Init", in: libraries.0, libraries.1)
    private static let update: Update? = systemFunction("SHA256_Update", in: libraries.0, libraries.1)
    private static let end: End? = systemFunction("SHA256_Final", in: libraries.0, libraries.1)
    static var isSystems: Bool { begin != nil && update != nil && end != nil }

    /// The library's `SHA256_CTX`, which has 112 bytes.
    private var context = [UInt64](repeating: 0, count: 14)
    private var own = StepwiseFiles.SHA256()

    init() { _ = Self.begin?(&context) }

    mutating func update(_ bytes: [UInt8]) {
      if Self.isSystems { _ = Self.update?(&context, bytes, bytes.count) } else { own.update(bytes) }
    }

    /// The hash in lowercase hexadecimal; nothing may be added afterwards.
    mutating func hex() -> String {
      guard Self.isSystems else { return own.hex() }
      var hash = [UInt8](repeating: 0, count: 32)
      _ = Self.end?(&hash, &context)
      return StepwiseFiles.SHA256.hexadecimal(hash)
    }
  #endif
}
