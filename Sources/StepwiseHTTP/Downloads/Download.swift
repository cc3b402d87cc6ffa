// SPDX-License-Identifier: MIT
// Copyright (c) 2026 Stepwise contributors

import Foundation
import Stepwise

/// Writes the body of an answer to a file as it comes, after what an earlier attempt left there.
final class Download: BodySink {
  typealias Watcher = @Sendable (HTTPDownloadProgress) -> Void

  private struct State: ~Copyable {
    /// Nil once it is closed: what comes later is of no interest.
    var file: PartialFile?
    /// How many bytes there are that are to stay.
    var size: Int64 = 0
    var resumed: Int64 = 0
    var total: Int64?
    /// What there is, if the rest of it only was asked for.
    var tag: DownloadTag?
  }

  private let url: URL
  private let watcher: Watcher?
  private let step = StepContext.current
  private let state: Lock<State>

  init(of url: URL, to file: URL, watcher: Watcher?) throws(HTTPError) {
    guard file.isFileURL else { throw .refused(reason: "a download needs the address of a file") }
    self.url = url
    self.watcher = watcher
    state = Lock(State(file: try PartialFile(file.path)))
  }

  /// What the request says so that only the rest is sent; nothing when all is wanted.
  func headers() -> HTTPHeaders {
    state.withLock { state in
      guard let size = state.file?.size, size > 0, let tag = state.file?.tag(for: url) else {
        return [:]
      }
      state.tag = tag
      state.size = size
      return ["Range": "bytes=\(size)-", "If-Range": tag.validator]
    }
  }

  /// The rest that was sent is of something else than what is there.
  struct Changed: Error {}

  /// Throws away what an earlier attempt left.
  func restart() throws(HTTPError) {
    try state.withLock { state throws(HTTPError) in
      try state.file?.restart(nil)
      state.tag = nil
    }
  }

  func begin(_ head: ResponseHead) throws -> Bool {
    guard (200..<300).contains(head.status) else { return false }
    let progress: HTTPDownloadProgress? = try state.withLock { state in
      guard state.file != nil else { return nil }
      if head.status == 206 {
        guard let tag = state.tag, let range = ContentRange(head.headers["Content-Range"]), range.start == state.size
        else {
          throw URLFailure.wrongRange
        }
        guard !tag.isContradicted(by: head) else { throw Changed() }
        state.resumed = state.size
        state.total = range.total ?? range.end + 1
      } else {
        try state.file?.restart(DownloadTag(head, from: url))
        state.size = 0
        state.resumed = 0
        state.total = head.length
      }
      return Self.progress(state)
    }
    if let progress { report(progress) }
    return true
  }

  func write(_ data: Data) throws {
    let progress = try state.withLock { state throws(HTTPError) -> HTTPDownloadProgress? in
      guard state.file != nil else { return nil }
      do throws(HTTPError) {
        try state.file?.write(data, at: state.size)
      } catch {
        state.file?.cut(at: state.size)
        throw error
      }
      state.size += Int64(data.count)
      return Self.progress(state)
    }
    if let progress { report(progress) }
  }

  /// Puts the file in its place, if all of it is there.
  func finish() throws(HTTPError) {
    try state.withLock { state throws(HTTPError) in
      guard state.total == nil || state.total == state.size else { throw URLFailure.tooShort }
      try state.file?.finish()
      state.file = nil
    }
  }

  /// Lets go of the file; what is there stays for the next attempt.
  func close() {
    state.withLock { state in
      state.file?.removeIfEmpty()
      state.file = nil
    }
  }

  private static func progress(_ state: borrowing State) -> HTTPDownloadProgress {
    HTTPDownloadProgress(receivedBytes: state.size, totalBytes: state.total, resumedBytes: state.resumed)
  }

  private func report(_ progress: HTTPDownloadProgress) {
    if let fraction = progress.fractionCompleted { step?.report(fraction) }
    watcher?(progress)
  }
}
