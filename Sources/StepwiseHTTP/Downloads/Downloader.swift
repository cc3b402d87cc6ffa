// SPDX-License-Identifier: MIT
// Copyright (c) 2026 Stepwise contributors

import Foundation
import Stepwise

/// The requests of one download, sequential or concurrent.
struct Downloader: Sendable {
  /// The existing bytes cannot be completed: request the whole file.
  private struct Restart: Error {
    let segments: Int
  }

  private typealias Answer = (head: HTTPResponseHead, exchange: Exchange)

  let session: HTTPSession
  let request: OutgoingRequest
  let deadlines: HTTPDeadlines
  let file: DownloadFile
  /// The number of segments that are downloaded concurrently.
  let segments: Int

  /// Downloads what is missing; returns the response with the file, without a body.
  nonisolated(nonsending) func run() async throws -> HTTPResponse {
    var (wish, segments) = (file.firstRequest(), segments)
    while true {
      do {
        return try await attempt(wish, segments: segments)
      } catch let restart as Restart {
        // This terminates: the response to a request for the whole file, in one piece, leads to no further request.
        (wish, segments) = (.whole, restart.segments)
      }
    }
  }

  private nonisolated(nonsending) func attempt(
    _ wish: DownloadRequest,
    segments: Int
  ) async throws -> HTTPResponse {
    let (head, exchange) = try await answer(to: wish)
    defer { exchange.stop(with: CancellationError()) }
    var response = HTTPResponse(status: head.status, headers: head.headers, url: exchange.url)
    switch wish.verdict(head) {
    case .fail(let error): throw error
    case .restart: throw Restart(segments: segments)
    case .refuse: return try await exchange.response(head)
    case .complete:
      try await file.resume(total: file.layout.received, segments: 1)
      response = HTTPResponse(status: 206, headers: head.headers, url: exchange.url)
    case .begin(let total):
      try await file.begin(head, total: total, segments: segments)
      if let refusal = try await receive(from: exchange, from: 0, upTo: total ?? .max) { return refusal }
    case .append(let end, let total):
      guard case .part(let start, _, _) = wish else { throw TransferFailure.wrongRange }
      try await file.resume(total: total, segments: segments)
      if let refusal = try await receive(from: exchange, from: start, upTo: end) { return refusal }
    }
    return response
  }

  private nonisolated(nonsending) func answer(to wish: DownloadRequest) async throws -> Answer {
    var request = request
    request.headers = request.headers.merging(wish.headers)
    let exchange = session.exchange(request, deadlines: deadlines) { [file] in file.interrupt($0) }
    return (try await exchange.head(), exchange)
  }

  /// Receives everything that is missing, starting with a response that has arrived; returns a response that refuses a
  /// part.
  private nonisolated(nonsending) func receive(
    from exchange: Exchange,
    from start: Int64,
    upTo end: Int64
  ) async throws -> HTTPResponse? {
    let layout = file.layout
    guard layout.isSegmented else {
      _ = try await pump(exchange, to: 0, upTo: end, queue: nil)
      return nil
    }
    guard let first = layout.piece(at: start) else { throw TransferFailure.wrongRange }
    let pending = layout.pieces.indices.filter { $0 != first && !layout.pieces[$0].isComplete }
    let workers = max(1, min(segments, pending.count + 1))
    let queue = SharedSegmentQueue(SegmentQueue(pending: pending, workers: workers))
    return try await withThrowingTaskGroup(of: HTTPResponse?.self) { group in
      for _ in 1..<workers { group.addTask { try await work(queue) } }
      group.addTask {
        if let rest = try await pump(exchange, to: first, upTo: end, queue: queue) { queue.requeue(rest) }
        exchange.stop(with: CancellationError())
        return try await work(queue)
      }
      var refusal: HTTPResponse?
      for try await response in group { refusal = refusal ?? response }
      return refusal
    }
  }

  /// Requests one piece after the other, until none is left; returns the response that refuses the last one.
  private nonisolated(nonsending) func work(_ queue: SharedSegmentQueue) async throws -> HTTPResponse? {
    while let piece = queue.take() {
      let wish = file.request(for: piece)
      let (head, exchange) = try await answer(to: wish)
      defer { exchange.stop(with: CancellationError()) }
      switch wish.verdict(head) {
      case .append(let end, _):
        queue.accept(piece)
        if let rest = try await pump(exchange, to: piece, upTo: end, queue: nil) { queue.requeue(rest) }
      case .refuse:
        if queue.refuse(piece) { return nil }
        return try await exchange.response(head)
      case .begin:
        // The server does not support ranges, or the file has changed.
        if queue.refuse(piece) { return nil }
        throw Restart(segments: 1)
      case .restart, .complete: throw Restart(segments: 1)
      case .fail(let error): throw error
      }
    }
    return nil
  }

  /// Writes a body to a piece, and to the following ones that no worker has; returns a piece that it did not complete.
  private nonisolated(nonsending) func pump(
    _ exchange: Exchange,
    to first: Int,
    upTo end: Int64,
    queue: SharedSegmentQueue?
  ) async throws -> Int? {
    var piece = first
    while var data = try await exchange.chunk() {
      while !data.isEmpty {
        let count = try await file.write(data, to: piece)
        data = data.dropFirst(count)
        let layout = file.layout
        guard layout.pieces[piece].isComplete, layout.isSegmented || !data.isEmpty else { continue }
        let next = piece + 1
        guard layout.isSegmented else { throw TransferFailure.tooShort }
        // If the server refuses a separate request for the next piece, this response continues with it.
        guard let queue, next < layout.pieces.count, await queue.claim(next) else { return nil }
        // Another worker may have received a part of it before it was claimed.
        guard file.layout.pieces[next].written == 0 else { return next }
        piece = next
      }
    }
    let state = file.layout.pieces[piece]
    if state.isComplete || state.end == nil { return nil }
    guard state.position >= end, file.layout.isSegmented else { throw TransferFailure.tooShort }
    return piece
  }
}
