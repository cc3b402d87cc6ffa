// SPDX-License-Identifier: MIT
// Copyright (c) 2026 Stepwise contributors

import Foundation
import Stepwise
import StepwiseCheckpoints

/// Uses a store on a disk that it fills before, and prints what comes of it.
struct FullDisk {
  private let directory: String
  private let store: FileCheckpointStore
  /// Of many blocks: on a disk that is said to be full there may be a few left.
  private let start = Sum.adding(next: 0, last: 2, sum: 0, padding: [Int](repeating: 1, count: 20_000))

  init(_ directory: String) throws {
    self.directory = directory
    store = try FileCheckpointStore(directory: URL(fileURLWithPath: directory + "/store"))
  }

  func use(_ mode: String) async throws {
    _ = try await start.run(id: "done", in: store)
    for id in ["begun", "other"] {
      for try await _ in start.stages(id: id, in: store) { break }
    }
    if mode == "full-held" {
      let lease = try await store.acquire("begun")
      fillBlocks()
      do { try await store.remove("begun") } catch CheckpointError.held { print("held") }
      print("kept: \(try await store.load("begun")?.version ?? 0)")
      try await store.release(lease)
      return
    }
    if mode == "full-files" { fillFiles() } else { fillBlocks() }
    print("done: \(try await start.run(id: "done", in: store))")
    for id in ["begun", "new"] {
      do {
        print("\(id): \(try await start.run(id: id, in: store))")
      } catch CheckpointError.io(id, _, _, let code) {
        print("\(id): errno \(code)")
      }
    }
    try printLocks()
    for id in ["begun", "done", "other"] {
      try await store.remove(id)
      print("removed \(id)")
    }
    print("left: \(try await store.list(after: nil, limit: 10).ids.joined())")
    try printLocks()
    print("again: \(try await start.run(id: "new", in: store))")
  }

  private func printLocks() throws {
    let names = try FileManager.default.contentsOfDirectory(atPath: directory + "/store/.locks")
    print("locks: \(names.sorted().joined(separator: " "))")
  }

  /// Until no byte can be written.
  private func fillBlocks() {
    let file = open(directory + "/filler", O_WRONLY | O_CREAT | O_CLOEXEC, 0o600)
    defer { close(file) }
    for size in [65_536, 4_096, 1] {
      let bytes = [UInt8](repeating: 1, count: size)
      while write(file, bytes, size) == size {}
    }
  }

  /// Until no file can be made.
  private func fillFiles() {
    for number in 0... {
      let file = open(directory + "/filler-\(number)", O_WRONLY | O_CREAT | O_CLOEXEC, 0o600)
      guard file >= 0 else { return }
      close(file)
    }
  }
}
