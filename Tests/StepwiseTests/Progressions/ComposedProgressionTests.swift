// SPDX-License-Identifier: MIT
// Copyright (c) 2026 Stepwise contributors

import Foundation
import Stepwise
import StepwiseTesting
import Testing

/// `compose`, `map`, `flatMap` and `Serial`.
@Suite(.timeLimit(.minutes(5)))
struct ComposedProgressionTests {
  /// Counts down in stages of its own, then says what came of it.
  private enum Launch: Progression, Equatable {
    case counting(Countdown, name: String)
    case reporting(String)
    case reported(String)

    func next() async throws -> Launch {
      switch self {
      case .counting(let stage, let name):
        try await stage.compose(
          transformNext: { .counting($0, name: name) },
          transformResult: { result in
            if name.isEmpty { throw Fault(1) }
            return .reporting("\(name) \(result)")
          }
        )
      case .reporting(let text): .reported(text + "!")
      case .reported: try completed()
      }
    }

    var result: String? {
      if case .reported(let text) = self { text } else { nil }
    }
  }

  private func stages<P: Progression>(of first: P) async throws -> [P] {
    var all: [P] = []
    for try await stage in first.stages { all.append(stage) }
    return all
  }

  // G94
  @Test func `The outer stream contains the inner stages`() async throws {
    let all = try await stages(of: Launch.counting(.at(1), name: "a"))
    let expected: [Launch] = [
      .counting(.at(1), name: "a"), .counting(.at(0), name: "a"), .counting(.landed("landed"), name: "a"),
      .reporting("a landed"), .reported("a landed!"),
    ]
    #expect(all == expected)
  }

  @Test func `An error of a transformation ends the outer one`() async {
    await #expect(throws: Fault(1)) { try await Launch.counting(.at(1), name: "").run() }
  }

  // G94
  @Test func `map keeps the stages and transforms the result`() async throws {
    let mapped = Countdown.at(1).map { $0.count }
    #expect(try await mapped.run() == 6)
    let lines = try await stages(of: mapped).map { String(describing: $0) }
    let before: [Countdown] = [.at(1), .at(0), .landed("landed")]
    #expect(lines == before.map { "first(\($0))" } + ["following(completed(6))"])
    let goneOn = try await stages(of: mapped)[2]
    #expect(try await goneOn.run() == 6)
    await #expect(throws: Fault(2)) { try await Countdown.at(1).map { _ -> Int in throw Fault(2) }.run() }
    await #expect(throws: CompletedError.self) { try await stages(of: mapped).last?.next() }
  }

  @Test func `A transformation runs once for each run`() async throws {
    let calls = Tally()
    let mapped = Countdown.at(1).map { _ in calls.increment() }
    for try await stage in mapped.stages { _ = (stage.result, stage.result) }
    #expect(calls.total == 1)
  }

  // G94
  @Test func `flatMap continues with another progression`() async throws {
    let both = Countdown.at(1).flatMap { result in Launch.counting(.at(0), name: result) }
    #expect(try await both.run() == "landed landed!")
    let all = try await stages(of: both)
    #expect(all.count == 3 + 4)
    #expect("\(all[2])" == "first(\(Countdown.landed("landed")))")
    #expect("\(all[3])" == "following(\(Launch.counting(.at(0), name: "landed")))")
    #expect(try await all[4].run() == "landed landed!")
    await #expect(throws: Fault(2)) { try await Countdown.at(1).flatMap { _ -> Countdown in throw Fault(2) }.run() }
    // One that has its result at once.
    #expect(try await Countdown.landed("x").flatMap { Countdown.landed($0 + "y") }.run() == "xy")
  }

  @Test func `Transformations may be isolated to an actor`() async throws {
    let onMain = try await Countdown.at(1).map { @MainActor _ in isOnTheMainQueue() }.run()
    #expect(onMain)
    let off = try await Countdown.at(1).map { _ in isOnTheMainQueue() }.run()
    #expect(!off)
  }

  // G96
  @Test func `A serial runs one progression after the other`() async throws {
    let serial = Serial([Countdown.at(0), .landed("b"), .at(1)])
    #expect(try await serial.run() == ["landed", "b", "landed"])
    let all = try await stages(of: serial)
    let active: [Countdown?] = [nil, .at(0), .landed("landed"), .landed("b"), .at(1), .at(0), .landed("landed"), nil]
    #expect(all.map(\.active) == active)
    #expect(all.map(\.remaining.count) == [3, 2, 2, 1, 0, 0, 0, 0])
    #expect(all.map(\.results.count) == [0, 0, 0, 1, 2, 2, 2, 3])
    for stage in all { #expect(try await stage.run() == ["landed", "b", "landed"]) }
    #expect(try await Serial<Countdown>([]).run().isEmpty)
    await #expect(throws: CompletedError.self) { try await all.last?.next() }
  }

  // G96
  @Test func `The first error ends a serial, which resumes from there`() async throws {
    let isBroken = Lock(true)
    let work = { @Sendable (number: Int) in
      Scripted(last: 1) { _ in
        if number == 2, isBroken.withLock({ $0 }) { throw Fault(2) }
      }
    }
    var last = Serial([work(1), work(2), work(3)])
    await #expect(throws: Fault(2)) {
      for try await stage in last.stages { last = stage }
    }
    isBroken.withLock { $0 = false }
    #expect(try await last.run() == [1, 1, 1])
  }

  @Test func `A serial is stored and restored`() async throws {
    enum Halving: Progression, Codable, Equatable {
      case at(Int)
      func next() async throws -> Halving {
        if case .at(let number) = self, number > 1 { .at(number / 2) } else { try completed() }
      }
      var result: Int? {
        if case .at(1) = self { 1 } else { nil }
      }
    }
    for stage in try await stages(of: Serial([Halving.at(8), .at(1)])) {
      let restored = try JSONDecoder().decode(Serial<Halving>.self, from: JSONEncoder().encode(stage))
      #expect(restored == stage)
      #expect(try await restored.run() == [1, 1])
    }
  }
}
