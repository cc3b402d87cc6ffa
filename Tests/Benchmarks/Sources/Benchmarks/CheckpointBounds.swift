// SPDX-License-Identifier: MIT
// Copyright (c) 2026 Stepwise contributors

import Foundation
import StepwiseCheckpoints

/// Prints what a checkpoint in a file costs against the calls to the file system it stands on, and returns whether it
/// takes at most 1.25 times as long.
func checkCheckpointBounds(effort: Effort) async throws -> Bool {
  // One save takes so long that ten are a sample.
  let (samples, batch) = (effort.samples / 2 + 1, 10)
  print("\nThresholds of checkpoints")
  var isKept = true
  for size in [100, 4_096, 65_536] {
    let directory = FileManager.default.temporaryDirectory.appendingPathComponent("checkpoints-\(UUID().uuidString)")
    defer { try? FileManager.default.removeItem(at: directory) }
    let saving = try await CheckpointForm(directory, size: size)
    let raw = RawFile(directory.path, size: saving.fileSize)
    var ratios: [Double] = []
    for _ in 0..<3 {
      var (checkpoint, byHand): ([Double], [Double]) = ([], [])
      // Both take turns, and another one begins each time: the disk is slower now and then.
      for sample in 0..<samples {
        for turn in 0..<2 {
          let start = ContinuousClock.now
          if (sample + turn).isMultiple(of: 2) {
            for _ in 0..<batch { try await saving.save() }
            checkpoint.append(start.duration(to: .now) / .nanoseconds(batch))
          } else {
            for _ in 0..<batch { raw.save() }
            byHand.append(start.duration(to: .now) / .nanoseconds(batch))
          }
        }
      }
      let (checkpointTime, time) = (median(of: checkpoint), median(of: byHand))
      print("a stage of \(size) bytes: saved in \(duration(checkpointTime)), by hand in \(duration(time))")
      ratios.append(checkpointTime / time)
    }
    try await saving.end()
    let ratio = median(of: ratios)
    if ratio > 1.25 { isKept = false }
    print(
      """
      \(ratio <= 1.25 ? "kept  " : "BROKEN") \(decimal(ratio)) of 1.25: a stage of \(size) bytes in a file, against write, \
      fsync, rename and fsync by hand (\(ratios.map { decimal($0) }.joined(separator: ", ")))
      """
    )
  }
  return isKept
}

/// Saves a stage of a size again and again.
private actor CheckpointForm {
  private let store: FileCheckpointStore
  private let lease: CheckpointLease
  private var record: CheckpointRecord
  nonisolated let fileSize: Int

  init(_ directory: URL, size: Int) async throws {
    store = try FileCheckpointStore(directory: directory)
    lease = try await store.acquire("benchmark")
    let stage = (0..<size).map { UInt8(truncatingIfNeeded: $0) }
    record = CheckpointRecord(
      id: "benchmark",
      progression: "Benchmark",
      schemaVersion: 0,
      version: 1,
      first: Array("{\"start\":{}}".utf8),
      stage: stage
    )
    try await store.save(record, ifVersionIs: nil, under: lease)
    let attributes = try FileManager.default.attributesOfItem(atPath: store.location(of: "benchmark"))
    fileSize = attributes[.size] as? Int ?? size
  }

  func save() async throws {
    let next = CheckpointRecord(
      id: record.id,
      progression: record.progression,
      schemaVersion: record.schemaVersion,
      version: record.version + 1,
      first: record.first,
      stage: record.stage
    )
    try await store.save(next, ifVersionIs: record.version, under: lease)
    record = next
  }

  func end() async throws { try await store.release(lease) }
}

/// The calls to the file system that a checkpoint stands on.
private struct RawFile: Sendable {
  let directory: String
  let bytes: [UInt8]

  init(_ directory: String, size: Int) {
    self.directory = directory
    bytes = [UInt8](repeating: 1, count: size)
  }

  func save() {
    let (new, old) = (directory + "/raw.new", directory + "/raw")
    let file = open(new, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0o666)
    precondition(write(file, bytes, bytes.count) == bytes.count)
    sync(file)
    close(file)
    precondition(rename(new, old) == 0)
    let folder = open(directory, O_RDONLY | O_DIRECTORY | O_CLOEXEC)
    sync(folder)
    close(folder)
  }

  private func sync(_ file: Int32) {
    #if canImport(Darwin)
      precondition(fcntl(file, F_FULLFSYNC) == 0)
    #else
      precondition(fsync(file) == 0)
    #endif
  }
}
