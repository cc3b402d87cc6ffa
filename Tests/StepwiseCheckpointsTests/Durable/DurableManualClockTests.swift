// SPDX-License-Identifier: MIT
// Copyright (c) 2026 Stepwise contributors

import Foundation
import Stepwise
import StepwiseCheckpoints
import StepwiseTesting
import Testing

/// Files of a store while `ManualClock.run` moves the time.
@Suite(.timeLimit(.minutes(5)))
struct DurableManualClockTests {
  // G170
  @Test(arguments: 0..<20) func `No time passes while a run stores its steps`(round: Int) async throws {
    let folder = FileManager.default.temporaryDirectory.appendingPathComponent("clock-\(UUID())")
    defer { try? FileManager.default.removeItem(at: folder) }
    try await check(FileCheckpointStore(directory: folder))
    try await check(MemoryCheckpointStore())
  }

  private func check(_ store: some CheckpointStore) async throws {
    let clock = ManualClock()
    let chain = Chain("work") { (number: Int) in
      for name in ["a", "b"] { try await step(name) { try await clock.sleep(for: .seconds(1)) } }
      return number
    }
    .timeout(.seconds(120), clock: clock)
    #expect(try await clock.run { try await chain.run(1, id: "x", in: store) } == 1)
    #expect(clock.now.offset == .seconds(2))
  }

  // G170
  @Test func `No time passes while a progression stores its stages in files`() async throws {
    struct Countdown: Progression, Codable {
      var number = 3

      func next() async throws -> Countdown { Countdown(number: number - 1) }
      var result: Int? { number == 0 ? 0 : nil }
    }
    let folder = FileManager.default.temporaryDirectory.appendingPathComponent("clock-\(UUID())")
    defer { try? FileManager.default.removeItem(at: folder) }
    let (store, clock) = (try FileCheckpointStore(directory: folder), ManualClock())
    let chain = Chain { () in try await Countdown().run(id: "x", in: store) }.timeout(.seconds(60), clock: clock)
    #expect(try await clock.run { try await chain.run() } == 0)
    #expect(clock.now.offset == .zero)
  }
}
