// SPDX-License-Identifier: MIT
// Copyright (c) 2026 Stepwise contributors

import Foundation
import StepwiseCheckpoints
import StepwiseTesting
import Synchronization
import Testing

@Suite(.timeLimit(.minutes(10))) struct IOThreadsTests {
  /// As many jobs as there are threads, all of which wait.
  private final class Blockade: Sendable {
    private let gate = DispatchSemaphore(value: 0)
    private let started = DispatchSemaphore(value: 0)
    private let jobs: [Task<Void, any Error>]

    init() {
      jobs = (0..<8).map { [gate, started] _ in
        Task {
          try await IOThreads.shared.run {
            started.signal()
            gate.wait()
          }
        }
      }
    }

    /// Waits, on a separate thread, until all jobs have started.
    func begin() async {
      await withCheckedContinuation { continuation in
        Thread.detachNewThread { [started] in
          for _ in 0..<8 { started.wait() }
          continuation.resume()
        }
      }
    }

    func end() async throws {
      for _ in jobs { gate.signal() }
      for job in jobs { try await job.value }
    }
  }

  @Test func `The file store works on its own threads`() async throws {
    let directory = try TemporaryDirectory()
    let store = try FileCheckpointStore(directory: directory.url)
    let lease = try await store.acquire("a")
    let record = CheckpointRecord(id: "a", progression: "A", schemaVersion: 0, version: 1, first: [], stage: [1])
    let blockade = Blockade()
    await blockade.begin()
    let order = Mutex([String]())
    // The pool of Tasks is free, but nothing is saved as long as all threads are taken.
    async let saved: Void = {
      try await store.save(record, ifVersionIs: nil, under: lease)
      order.withLock { $0.append("saved") }
    }()
    for _ in 0..<1_000 { await Task.yield() }
    order.withLock { $0.append("freed") }
    try await blockade.end()
    try await saved
    #expect(order.withLock { $0 } == ["freed", "saved"])
    try await store.release(lease)
  }

  @Test func `Many jobs are all performed`() async throws {
    let sum = try await withThrowingTaskGroup(of: Int.self) { group in
      for number in 0..<2_000 { group.addTask { try await IOThreads.shared.run { number } } }
      return try await group.reduce(0, +)
    }
    #expect(sum == 1_999_000)
  }

  @Test func `A thread is reused`() async throws {
    let threads = IOThreads(limit: 2, patience: 1_000_000_000_000)
    for number in 0..<1_000 { #expect(try await threads.run { number } == number) }
    // A second one begins when the first is still on its way back to where it waits.
    #expect((1...2).contains(threads.threadCount))
  }

  @Test func `A thread without work ends`() async throws {
    let threads = IOThreads(limit: 4, patience: 1_000)
    for number in 0..<100 {
      #expect(try await threads.run { number } == number)
      while threads.threadCount > 0 { await Task.yield() }
    }
  }

  /// Threads that are about to end meet work that has just come.
  @Test func `No job is lost`() async throws {
    let threads = IOThreads(limit: 3, patience: 20_000)
    let sum = try await withThrowingTaskGroup(of: Int.self) { group in
      for lane in 0..<4 {
        group.addTask {
          var sum = 0
          for number in 0..<2_000 {
            sum += try await threads.run { 1 }
            for _ in 0..<(number * (31 + lane) % 40) { await Task.yield() }
          }
          return sum
        }
      }
      return try await group.reduce(0, +)
    }
    #expect(sum == 8_000)
  }
}
