// SPDX-License-Identifier: MIT
// Copyright (c) 2026 Stepwise contributors

import Foundation
import Stepwise
import StepwiseCheckpoints

/// A download with its checkpoint, as one of many in a line.
enum Transfer: Progression {
  case begin(DownloadOrder, DownloadBoard, CancellationToken)
  case saved(byteCount: Int64)

  private static let id = "download"

  func next() async throws -> Transfer {
    guard case .begin(let order, let board, let token) = self else { return try completed() }
    let row = board.row(for: order)
    do {
      // A line's progressions are not cancelled with the task that added them.
      let byteCount = try await withCancellation(by: token) {
        try await Downloading.$watcher.withValue({ news in row.show(news) }) { try await Self.follow(order) }
      }
      row.end("saved \(order.path), \(byteCount) bytes")
      return .saved(byteCount: byteCount)
    } catch is CancellationError {
      row.end("stopped; run the same command again to resume", isFailure: true)
      throw CancellationError()
    } catch {
      row.end("failed: \(error)", isFailure: true)
      throw error
    }
  }

  var result: Int64? {
    if case .saved(let byteCount) = self { byteCount } else { nil }
  }

  private static func follow(_ order: DownloadOrder) async throws -> Int64 {
    do {
      let store = try FileCheckpointStore(directory: URL(fileURLWithPath: order.workPath))
      let byteCount = try await run(order, in: store)
      await store.clear(id)
      return byteCount
    } catch let error as CheckpointError {
      throw DownloadFailure(error)
    }
  }

  private static func run(_ order: DownloadOrder, in store: FileCheckpointStore) async throws -> Int64 {
    do {
      return try await Downloading.start(order).run(id: id, in: store)
    } catch CheckpointError.differentStart {
      // Another URL or checksum for the same file: the existing bytes belong to something else.
      try await store.remove(id)
      return try await Downloading.start(order).run(id: id, in: store)
    } catch let failure as DownloadFailure where failure.leavesNothing || !order.isResumable {
      await store.clear(id)
      throw failure
    }
  }
}
