// SPDX-License-Identifier: MIT
// Copyright (c) 2026 Stepwise contributors

import Foundation
import Stepwise
import StepwiseCheckpoints
import StepwiseTesting
import Testing

/// The file that numbers all leases of a directory.
@Suite(.timeLimit(.minutes(10))) struct FenceTests {
  private let directory: TemporaryDirectory
  private let store: FileCheckpointStore
  private var fence: URL { directory.url.appendingPathComponent(".locks/fence") }
  private var locks: [String] {
    get throws { try FileManager.default.contentsOfDirectory(atPath: directory.url.path + "/.locks").sorted() }
  }

  init() throws {
    directory = try TemporaryDirectory()
    store = try FileCheckpointStore(directory: directory.url)
  }

  private func nextFence(_ id: String = "a") async throws -> UInt64 {
    let lease = try await store.acquire(id)
    try await store.release(lease)
    return lease.fence
  }

  @Test
  func `The numbers rise, also when the file was emptied, damaged or removed`() async throws {
    var last = try await nextFence()
    for content in ["", "junk", "0000000000000000000x", nil] {
      for _ in 0..<3 {
        let next = try await nextFence()
        #expect(next == last + 1)
        last = next
      }
      if let content { try Data(content.utf8).write(to: fence) } else { try FileManager.default.removeItem(at: fence) }
      let next = try await nextFence()
      #expect(next > last, "after \(content ?? "its removal")")
      last = next
    }
  }

  @Test(arguments: [
    "18446744073709551615", "18446744073709551614", "09223372036854775807", "+8446744073709551615",
    "-0000000000000000001", "99999999999999999999", "05000000000000000000",
  ]
  )
  func `A damaged fence never traps, and its numbers still rise`(content: String) async throws {
    var last = try await nextFence()
    try Data(content.utf8).write(to: fence)
    for _ in 0..<3 {
      let next = try await nextFence()
      #expect(next > last)
      #expect(next < UInt64.max / 2)
      last = next
    }
  }

  @Test
  func `A number of a process that cannot be one is not reported`() async throws {
    let lease = try await store.acquire("a")
    let lock = directory.url.appendingPathComponent(".locks/a.lock")
    let file = try FileHandle(forWritingTo: lock)
    try file.write(contentsOf: Data("18446744073709551615".utf8))
    let error = await #expect(throws: CheckpointError.self) { try await store.acquire("a") }
    if case .held("a", _, nil) = error {} else { Issue.record("it is \(String(describing: error))") }
    try await store.release(lease)
  }

  @Test
  func `A record whose counter has no successor is damaged`() async throws {
    let bytes = try Array(JSONEncoder().encode(Count.at(0)))
    let record = CheckpointRecord(
      id: "a",
      progression: StageCoder<Count>.typeName,
      schemaVersion: 0,
      version: .max,
      first: bytes,
      stage: bytes
    )
    let lease = try await store.acquire("a")
    try await store.save(record, ifVersionIs: nil, under: lease)
    try await store.release(lease)
    let error = await #expect(throws: CheckpointError.self) { try await Count.at(0).run(id: "a", in: store) }
    if case .damaged("a", _, _) = error {} else { Issue.record("it is \(String(describing: error))") }
  }

  @Test
  func `The numbers of a store that counted from 1 go on`() async throws {
    _ = try await nextFence()
    try Data("00000000000000000041".utf8).write(to: fence)
    #expect(try await nextFence() == 42)
  }

  @Test
  func `An acquire that fails leaves no lock file`() async throws {
    _ = try await nextFence()
    try FileManager.default.removeItem(at: fence)
    try FileManager.default.createDirectory(at: fence, withIntermediateDirectories: false)
    await #expect(throws: CheckpointError.self) { try await store.acquire("a") }
    #expect(try locks == ["fence"])
  }

  /// A process that was stopped while it had the fence: all that is known of it is the lock.
  @Test
  func `A stopped holder of the fence does not block other saves`() async throws {
    // The saves may take longer than others wait for the fence, on a busy machine.
    let store = try FileCheckpointStore(directory: directory.url, fenceTimeout: .seconds(600))
    let lease = try await store.acquire("saving")
    let descriptor = open(fence.path, O_RDONLY | O_CLOEXEC)
    try #require(flock(descriptor, LOCK_EX) == 0)
    try await withThrowingTaskGroup(of: UInt64.self) { group in
      for number in 0..<16 { group.addTask { try await store.acquire("waiting-\(number)").fence } }
      // All of them are on their way: each has made its lock file.
      while try locks.count < 18 { await Task.yield() }
      for version: UInt64 in 1...20 {
        let record = CheckpointRecord(
          id: "saving",
          progression: "A",
          schemaVersion: 0,
          version: version,
          first: [],
          stage: [1]
        )
        try await store.save(record, ifVersionIs: version == 1 ? nil : version - 1, under: lease)
      }
      flock(descriptor, LOCK_UN)
      close(descriptor)
      let fences = try await group.reduce(into: Set()) { $0.insert($1) }
      #expect(fences.count == 16 && fences.allSatisfy { $0 > lease.fence })
    }
  }

  @Test
  func `A cancelled wait for the fence ends, and leaves no lock file`() async throws {
    _ = try await nextFence()
    let store = try FileCheckpointStore(directory: directory.url, fenceTimeout: .seconds(600))
    let descriptor = open(fence.path, O_RDONLY | O_CLOEXEC)
    defer { close(descriptor) }
    try #require(flock(descriptor, LOCK_EX) == 0)
    let task = Task { try await store.acquire("a") }
    while try locks.count < 2 { await Task.yield() }
    task.cancel()
    await #expect(throws: CancellationError.self) { try await task.value }
    #expect(try locks == ["fence"])
  }
}
