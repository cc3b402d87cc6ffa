// SPDX-License-Identifier: MIT
// Copyright (c) 2026 Stepwise contributors

import Foundation
import Stepwise
import StepwiseFlows
import StepwiseTesting
import Testing

/// A flow that goes round in circles.
@Suite(.serialized, .timeLimit(.minutes(5)))
struct FlowLoopTests {
  // G124
  /// In a process of its own, whose memory is its own.
  ///
  /// A debug build is slow, and shows the same with fewer turns.
  @Test func `A million turns take constant memory`() async {
    await #expect(processExitsWith: .success) { try await FlowLoopTests.loop() }
  }

  @MainActor
  private static func loop() async throws {
    let turns = seeds(_isDebugAssertConfiguration() ? 80_000 : 1_000_000).count
    var count = 0
    var atStart = 0
    let a = FlowStep<Int, Int>("a") { handler in handler.complete(handler.content) }
    let b = FlowStep<Int, Int>("b") { handler in handler.complete(handler.content) }
    let c = FlowStep<Int, Int>("c") { handler in handler.back() }
    let flow = Flow<Int>("loop", first: a, content: 0)
      .on(a) { number, _ in .next(b, number) }
      .on(b) { number, _ in
        count += 1
        if count == turns / 10 { atStart = residentBytes() }
        if count == turns / 2 { return .finish(number) }
        return count.isMultiple(of: 2) ? .next(c, number) : .next(a, number + 1)
      }
    #expect(try await flow.run() > 0)
    var events = 0
    for await _ in flow.events { events += 1 }
    #expect(events == 8)
    #expect(flow.answers.count <= 2)
    let grown = residentBytes() - atStart
    #expect(grown < 4_000_000, "\(grown) bytes")
  }

  @Test func `With log all, every answer is kept`() async throws {
    let answers = try await Self.shortLoop()
    #expect(answers == 2_000)
  }

  @MainActor
  private static func shortLoop() async throws -> Int {
    var count = 0
    let a = FlowStep<Void, Int>("a") { $0.complete(1) }
    let b = FlowStep<Void, Int>("b") { $0.complete(1) }
    let flow = Flow<Void>("loop", first: a, log: .all)
      .on(a) { _, _ in .next(b) }
      .on(b) { _, _ in
        count += 1
        return count == 1_000 ? .finish : .next(a)
      }
    try await flow.run()
    return flow.answers.count
  }
}

/// The memory that the process has now; 0 where there is no `/proc`.
private func residentBytes() -> Int {
  let fields = (try? String(contentsOfFile: "/proc/self/statm", encoding: .utf8))?.split(separator: " ")
  return (fields?.dropFirst().first.flatMap { Int($0) } ?? 0) * 4096
}
