// SPDX-License-Identifier: MIT
// Copyright (c) 2026 Stepwise contributors

import Dispatch
import Foundation
import Stepwise
import Synchronization

#if canImport(FoundationNetworking)
  import FoundationNetworking
#endif

/// One task of a URLSession.
final class URLSessionTransfer: HTTPTransfer {
  private struct State {
    var hold = TaskHold()
    var task: URLSessionTask?
    /// The file of a body that had to be written first.
    var spool: URL?
  }

  /// The number of bytes of a body that are read ahead.
  private static let capacity = 1 << 20

  let request: HTTPRequest
  private let transport: URLSessionTransport
  private let inbox = Inbox(capacity: capacity)
  private let state = Lock(State())
  #if canImport(FoundationNetworking)
    /// How long the queue that all sessions share waits for a consumer, and how long if that was in vain before.
    private static let (patience, impatience) = (
      DispatchTimeInterval.milliseconds(50), DispatchTimeInterval.milliseconds(5)
    )
    private let room = DispatchSemaphore(value: 0)
    private let isStuck = Atomic(false)
  #endif

  init(_ request: HTTPRequest, in transport: URLSessionTransport) {
    self.request = request
    self.transport = transport
  }

  deinit {
    if let spool = state.withLock({ $0.spool }) { try? FileManager.default.removeItem(at: spool) }
  }

  nonisolated(nonsending) func head() async throws -> HTTPResponseHead {
    if !inbox.isEnded {
      var spool: URL?
      if case .chunks(let length, let open) = request.body?.content {
        // URLSession requests no pieces: on Linux it has no streams to write to.
        let file = URLSessionTransport.spoolFile()
        state.withLock { $0.spool = file }
        do { try await Spool.write(open, length: length, to: file) { self.inbox.isEnded } } catch { fail(error) }
        spool = file
      }
      URLSessionTransport.later { [spool] in self.begin(spool) }
    }
    return try await inbox.head()
  }

  nonisolated(nonsending) func chunk() async throws -> Data? {
    try await inbox.chunk { resume() }
  }

  func cancel() {
    _ = inbox.update { $0.cancel() }
    inbox.wake()
    giveUp()
  }

  /// Ends the transfer with an error, and its task.
  private func fail(_ error: any Error) {
    complete(TransferFailure.error(error))
    giveUp()
  }

  private func giveUp() {
    let task = state.withLock { state in state.hold.cancel() ? state.task : nil }
    if let task { transport.cancel(task) }
  }

  private func begin(_ spool: URL?) {
    guard !inbox.isEnded else { return }
    let task: URLSessionTask
    do { task = try transport.task(for: self, spool: spool) } catch { return complete(error) }
    state.withLock { $0.task = task }
    // It may have been cancelled before the task existed.
    if !uninterrupted({ task.resume() }) { transport.cancel(task) }
  }

  /// Makes a call during which the task must not be cancelled; does nothing when it was cancelled, or is about to be.
  @discardableResult
  func uninterrupted(_ action: () -> Void) -> Bool {
    guard state.withLock({ $0.hold.hold() }) else { return false }
    action()
    let task = state.withLock { state in state.hold.release() ? state.task : nil }
    if let task { transport.cancel(task) }
    return true
  }

  func receive(_ head: HTTPResponseHead) {
    let size = head.headers.fields.reduce(0) { $0 + $1.name.utf8.count + $1.value.utf8.count + 4 }
    guard size <= request.headerLimit else { return fail(HTTPError.headersTooLarge(limit: request.headerLimit)) }
    inbox.update { $0.receive(head) }
    inbox.wake()
  }

  func receive(_ data: Data) {
    let isFull = inbox.update { $0.receive(data) }
    if inbox.wake() { return }
    #if canImport(FoundationNetworking)
      // On Linux, suspending a task corrupts the body, so the session's queue waits a little instead.
      guard isFull else { return }
      let patience = isStuck.load(ordering: .relaxed) ? Self.impatience : Self.patience
      isStuck.store(room.wait(timeout: .now() + patience) == .timedOut, ordering: .relaxed)
    #else
      if isFull { state.withLock { $0.task }?.suspend() }
    #endif
  }

  /// The consumer has received the excess bytes.
  private func resume() {
    #if canImport(FoundationNetworking)
      room.signal()
    #else
      state.withLock { $0.task }?.resume()
    #endif
  }

  func complete(_ error: (any Error)?) {
    inbox.update { $0.complete(error) }
    inbox.wake()
  }
}

/// Decides when the task of a URLSession may be cancelled.
///
/// URLSession on Linux may crash when a task is cancelled while it is resumed, and traps when a task is cancelled that
/// waits for an answer of its delegate. Each such call holds the task.
struct TaskHold {
  private var holds = 0
  private(set) var isCancelled = false

  /// Starts a call; returns whether it may be made.
  mutating func hold() -> Bool {
    guard !isCancelled else { return false }
    holds += 1
    return true
  }

  /// Ends a call; returns whether to cancel the task now.
  mutating func release() -> Bool {
    holds -= 1
    return isCancelled && holds == 0
  }

  /// Returns whether to cancel the task now; otherwise the end of the last call does, or it was cancelled before.
  mutating func cancel() -> Bool {
    guard !isCancelled else { return false }
    isCancelled = true
    return holds == 0
  }
}

/// Writes the pieces of a body to a file, in constant memory.
enum Spool {
  /// Requests the pieces of the body to its end, or until the transfer has ended.
  ///
  /// - Throws: What the source throws; ``HTTPError`` when the length is another, or the file cannot be written.
  nonisolated(nonsending) static func write(
    _ open: @Sendable () throws -> HTTPBody.Source,
    length: Int64?,
    to file: URL,
    until isOver: () -> Bool
  ) async throws {
    let source = try open()
    guard FileManager.default.createFile(atPath: file.path, contents: nil, attributes: [.posixPermissions: 0o600])
    else {
      throw CocoaError(.fileWriteUnknown)
    }
    let handle = try FileHandle(forWritingTo: file)
    defer { try? handle.close() }
    var count: Int64 = 0
    while !isOver(), let piece = try await source() {
      try handle.write(contentsOf: piece)
      count += Int64(piece.count)
    }
    guard let length, !isOver() else { return }
    guard length <= count else { throw HTTPError.refused(reason: "the body is shorter than announced") }
    try handle.truncate(atOffset: UInt64(length))
  }
}

extension HTTPResponseHead {
  /// Nil for a response that is not HTTP, or that only announces another one.
  init?(_ response: URLResponse?) {
    guard let response = response as? HTTPURLResponse, response.statusCode >= 200 || response.statusCode == 101 else {
      return nil
    }
    var fields: [String: String] = [:]
    for case (let name as String, let value as String) in response.allHeaderFields { fields[name] = value }
    self.init(status: response.statusCode, headers: HTTPHeaders(fields))
  }
}
