// SPDX-License-Identifier: MIT
// Copyright (c) 2026 Stepwise contributors

import Dispatch
import Foundation
import Stepwise
import StepwiseFiles

/// The SHA-256 of a file that is being written, computed concurrently on another thread.
///
/// It reads the written bytes back from the file, which the system still caches. It therefore blocks neither the
/// network nor the disk, uses constant memory, and also covers what an earlier attempt wrote.
final class FileChecksum: Sendable {
  private struct State {
    /// The number of bytes of the file that may be read.
    var available: Int64 = 0
    /// The length of the file, once it is known.
    var end: Int64?
    var isRunning = false
    var isCancelled = false
  }

  private struct Work: ~Copyable {
    var hash = SystemSHA256()
    var position: Int64 = 0
  }

  private static let queue = DispatchQueue(label: "StepwiseHTTP.FileChecksum", qos: .utility, attributes: .concurrent)
  private static let bufferSize: Int64 = 1 << 18

  private let path: String
  private let state = Lock(State())
  /// Used by the one job that runs.
  private let work = Lock(Work())
  private let result = Once<Result<String, HTTPError>>()

  init(of path: String) { self.path = path }

  /// Continues reading up to a position.
  func advance(to position: Int64) { update { $0.available = max($0.available, position) } }

  /// Returns the hash of the first bytes of the file, in lowercase hexadecimal; nil when the waiting task was
  /// cancelled.
  nonisolated(nonsending) func value(at end: Int64) async throws(HTTPError) -> String? {
    update { state in
      state.available = end
      state.end = end
    }
    return try await result.value()?.get()
  }

  func cancel() { state.withLock { $0.isCancelled = true } }

  private func update(_ change: (inout State) -> Void) {
    let starts = state.withLock { state in
      change(&state)
      guard !state.isRunning, !state.isCancelled else { return false }
      state.isRunning = true
      return true
    }
    if starts { Self.queue.async { self.run() } }
  }

  /// Reads until there is nothing to read for now.
  private func run() {
    var position = work.withLock { $0.position }
    do throws(FileFailure) {
      let file = try FileLocation(path).open(O_RDONLY)
      try file.seek(to: Int(position))
      while let limit = next(after: position) {
        let bytes = try file.read(Int(min(limit - position, Self.bufferSize)))
        guard !bytes.isEmpty else { throw FileFailure("read", path, EIO) }
        position += Int64(bytes.count)
        work.withLock { work in
          bytes.withUnsafeBytes { work.hash.update($0) }
          work.position += Int64(bytes.count)
        }
      }
    } catch {
      result.settle(.failure(HTTPError(error)))
    }
  }

  /// Returns the position up to which to read; nil when the job ends here.
  private func next(after position: Int64) -> Int64? {
    let (limit, isComplete) = state.withLock { state -> (Int64?, Bool) in
      if !state.isCancelled, state.available > position { return (state.available, false) }
      state.isRunning = false
      return (nil, !state.isCancelled && state.end == position)
    }
    if isComplete { result.settle(.success(work.withLock { $0.hash.hex() })) }
    return limit
  }
}
