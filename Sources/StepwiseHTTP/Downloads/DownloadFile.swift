// SPDX-License-Identifier: MIT
// Copyright (c) 2026 Stepwise contributors

import Dispatch
import Foundation
import Stepwise

/// The file of a download: writes response bodies as they arrive, after the bytes of an earlier attempt.
///
/// Bytes are written, and the progress closure is called, on a queue of the download. The next piece of a response is
/// requested only after that, so a slow disk or closure slows the server down and uses no memory.
final class DownloadFile: Sendable {
  typealias Watcher = @Sendable (HTTPDownloadProgress) -> Void

  private struct State: ~Copyable {
    /// Nil once it is closed; later bytes are ignored.
    var file: PartialFile?
    var tag: DownloadTag?
    var layout = DownloadLayout(total: nil)
    var total: Int64?
    var resumed: Int64 = 0
    var checksum: FileChecksum?

    var progress: HTTPDownloadProgress {
      HTTPDownloadProgress(receivedBytes: layout.received, totalBytes: total, resumedBytes: resumed)
    }
  }

  private let url: URL
  private let hasChecksum: Bool
  private let watcher: Watcher?
  private let step = StepContext.current
  private let queue = DispatchQueue(label: "StepwiseHTTP.DownloadFile")
  private let state: Lock<State>
  /// What waits for the queue.
  private let waiting = Lock<[ObjectIdentifier: @Sendable (any Error) -> Void]>([:])

  init(of url: URL, to file: URL, hasChecksum: Bool = false, watcher: Watcher?) throws(HTTPError) {
    guard file.isFileURL else { throw .refused(reason: "a download needs the URL of a file") }
    self.url = url
    self.hasChecksum = hasChecksum
    self.watcher = watcher
    state = Lock(State(file: try PartialFile(file.path)))
  }

  var layout: DownloadLayout { state.withLock { $0.layout } }

  /// Returns the request that completes what an earlier attempt left.
  func firstRequest() -> DownloadRequest {
    state.withLock { state in
      guard let size = state.file?.size, size > 0, let tag = state.file?.tag(for: url) else { return .whole }
      state.tag = tag
      state.layout = tag.layout ?? DownloadLayout(prefix: size, total: tag.total)
      return .part(start: state.layout.prefix, end: Self.end(of: state.layout), tag)
    }
  }

  /// Returns the request that completes a piece.
  func request(for piece: Int) -> DownloadRequest {
    state.withLock { state in
      guard let tag = state.tag else { return .whole }
      let piece = state.layout.pieces[piece]
      return .part(start: piece.position, end: piece.end, tag)
    }
  }

  /// Returns the end of the first incomplete piece of a segmented file.
  private static func end(of layout: DownloadLayout) -> Int64? {
    layout.isSegmented ? layout.pieces.first { !$0.isComplete }?.end : nil
  }

  /// Discards the existing bytes; the following body is the file from its start.
  func begin(_ head: HTTPResponseHead, total: Int64?, segments: Int) async throws {
    try await onQueue {
      try self.change { state in
        state.tag = DownloadTag(head, from: self.url, total: total)
        let isSegmented = segments > 1 && state.tag != nil && Self.hasRanges(head)
        try Self.divide(&state, prefix: 0, total: total, segments: isSegmented ? segments : 1)
        try state.file?.restart(state.tag)
        state.resumed = 0
        self.startChecksum(&state)
      }
    }
  }

  /// Keeps the existing bytes; the following body continues them.
  func resume(total: Int64?, segments: Int) async throws {
    try await onQueue {
      try self.change { state in
        if !state.layout.isSegmented {
          try Self.divide(&state, prefix: state.layout.received, total: total, segments: segments)
          if state.layout.isSegmented, let tag = state.tag { try state.file?.replaceTag(tag) }
        }
        state.total = total ?? state.tag?.total
        state.resumed = state.layout.received
        self.startChecksum(&state)
      }
    }
  }

  private static func divide(_ state: inout State, prefix: Int64, total: Int64?, segments: Int) throws {
    state.total = total
    if let total, segments > 1, total - prefix >= Int64(segments) {
      state.layout = DownloadLayout(prefix: prefix, total: total, segments: segments)
    } else {
      state.layout = DownloadLayout(prefix: prefix, total: total)
    }
    state.tag?.layout = state.layout.isSegmented ? state.layout : nil
  }

  /// A server without ranges says so, or omits the header.
  private static func hasRanges(_ head: HTTPResponseHead) -> Bool {
    head.headers["Accept-Ranges"]?.lowercased() != "none"
  }

  private func startChecksum(_ state: inout State) {
    guard hasChecksum, let path = state.file?.path else { return }
    state.checksum?.cancel()
    state.checksum = FileChecksum(of: path)
    state.checksum?.advance(to: state.layout.prefix)
  }

  /// Writes the next bytes of a piece, as far as they belong to it.
  ///
  /// - Returns: The number of bytes written; fewer than passed completes the piece.
  func write(_ data: Data, to piece: Int) async throws -> Int {
    try await onQueue {
      var count = 0
      try self.change { state in count = try Self.write(data, to: piece, of: &state) }
      return count
    }
  }

  private static func write(_ data: Data, to index: Int, of state: inout State) throws(HTTPError) -> Int {
    let piece = state.layout.pieces[index]
    let room = piece.end.map { $0 - piece.position } ?? .max
    let bytes = Int64(data.count) > room ? data.prefix(Int(room)) : data
    try state.file?.write(bytes, at: piece.position)
    state.layout.wrote(bytes.count, to: index)
    if state.layout.isSegmented {
      state.tag?.layout = state.layout
      if let tag = state.tag { try state.file?.mark(index, in: tag) }
    }
    state.checksum?.advance(to: state.layout.prefix)
    return bytes.count
  }

  /// Checks the checksum of the file, if one is required, and renames the file to its destination.
  nonisolated(nonsending) func finish(sha256: String?) async throws {
    let (total, received, checksum) = state.withLock { ($0.total, $0.layout.received, $0.checksum) }
    guard total == nil || total == received else { throw TransferFailure.tooShort }
    if let sha256, let checksum {
      guard let found = try await checksum.value(at: received) else { throw CancellationError() }
      guard found == sha256 else {
        state.withLock { $0.file.take()?.remove() }
        throw HTTPError.checksumMismatch(expected: sha256, found: found)
      }
    }
    try state.withLock { state throws(HTTPError) in
      try state.file?.finish()
      state.file = nil
    }
  }

  /// Closes the file; its bytes stay for the next attempt.
  func close() {
    state.withLock { state in
      state.file?.removeIfEmpty()
      state.file = nil
      state.checksum?.cancel()
    }
  }

  /// Changes the file and reports the progress.
  private func change(_ body: (inout State) throws -> Void) throws {
    let progress = try state.withLock { state throws -> HTTPDownloadProgress in
      guard state.file != nil else { throw CancellationError() }
      try body(&state)
      return state.progress
    }
    if let fraction = progress.fractionCompleted { step?.report(fraction) }
    watcher?(progress)
  }

  /// Ends the wait for the queue when a request fails, even while the progress closure does not return.
  func interrupt(_ error: any Error) {
    // A request that was stopped on purpose has delivered everything that was needed.
    guard !(error is CancellationError) else { return }
    for fail in waiting.withLock({ Array($0.values) }) { fail(error) }
  }

  /// Runs a closure on the queue and waits for it, but not after the task is cancelled.
  private nonisolated(nonsending) func onQueue<Value: Sendable>(
    _ body: @escaping @Sendable () throws -> Value
  ) async throws -> Value {
    let result = Once<Result<Value, any Error>>()
    waiting.withLock { $0[ObjectIdentifier(result)] = { result.settle(.failure($0)) } }
    defer { _ = waiting.withLock { $0.removeValue(forKey: ObjectIdentifier(result)) } }
    queue.async { result.settle(Result(catching: body)) }
    guard let result = await result.value() else { throw CancellationError() }
    return try result.get()
  }
}
