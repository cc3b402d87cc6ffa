// SPDX-License-Identifier: MIT
// Copyright (c) 2026 Stepwise contributors

import Stepwise
import StepwiseTesting
import Testing

@testable import StepwiseFlows

/// What consumers of a flow's events see, whatever the interleaving.
@Suite(.timeLimit(.minutes(5)))
struct FlowRecorderSeedTests {
  /// Over 1,000 seeds: in order, the newest state of each step, and the end.
  @Test func `Every consumer sees the order, the latest state and the end`() async {
    await forEachSeed { generator in
      var dice = generator
      let events = FlowEvents()
      let turns = (0..<8).map { _ in "\(Int.random(in: 0..<3, using: &dice))" }
      let lateness = (0..<3).map { _ in Int.random(in: 0..<12, using: &dice) }
      try await withThrowingTaskGroup(of: [String].self) { group in
        for turns in lateness {
          group.addTask {
            for _ in 0..<turns { await Task.yield() }
            return await Self.lines(events)
          }
        }
        group.addTask {
          events.record(.started)
          for step in turns {
            events.record(.presented(step: step))
            await Task.yield()
            events.record(.answered(step: step))
            await Task.yield()
          }
          events.record(.ended(.resolved(1)))
          return []
        }
        for try await lines in group where !lines.isEmpty { try Self.check(lines, turns) }
      }
    }
  }

  /// The error of a step belongs to the user, and may observe the flow when it is released.
  @Test func `An error is released outside the lock`() {
    let events = FlowEvents()
    let released = Recorder<String>()
    for next in [FlowEvent.presented(step: "a"), .answered(step: "a")] {
      events.record(.presented(step: "a"))
      let failure = Self.failure {
        _ = events.makeAsyncIterator()
        released.record("\(next)")
      }
      events.record(.unanswered(step: "a", .failed(consume failure)))
      events.record(next)
    }
    #expect(released.elements.count == 2)
  }

  private struct Failure: Error {
    let object: AtEnd
  }

  private static func failure(atEnd action: @escaping @Sendable () -> Void) -> Failure {
    Failure(object: AtEnd(action))
  }

  private static func lines(_ events: FlowEvents) async -> [String] {
    var lines: [String] = []
    for await event in events {
      switch event {
      case .started: lines.append("started")
      case .presented(let step): lines.append("presented \(step)")
      case .answered(let step): lines.append("answered \(step)")
      case .unanswered(let step, _): lines.append("unanswered \(step)")
      case .ended: lines.append("ended")
      }
    }
    return lines
  }

  private static func check(_ lines: [String], _ turns: [String]) throws {
    try require(lines.first == "started" && lines.last == "ended", "\(lines)")
    let all = ["started"] + turns.flatMap { ["presented \($0)", "answered \($0)"] } + ["ended"]
    var rest = all[...]
    for line in lines {
      guard let index = rest.firstIndex(of: line) else { throw Broken(description: "\(lines) of \(all)") }
      rest = rest[(index + 1)...]
    }
    for step in Set(turns) {
      let seen = lines.last { $0.hasSuffix(" \(step)") }
      try require(seen == "answered \(step)", "\(step) is \(seen ?? "-") in \(lines)")
    }
  }
}
