// SPDX-License-Identifier: MIT
// Copyright (c) 2026 Stepwise contributors

import StepwiseTesting
import Testing

@Suite(.timeLimit(.minutes(5)))
struct ManualClockStateTests {
  typealias State = ManualClockState<String>

  private func at(_ seconds: Int) -> ManualClock.Instant {
    ManualClock.Instant(offset: .seconds(seconds))
  }

  /// Steps until the goal is reached: who woke, and at which second.
  private func move(_ state: inout State) -> [String] {
    var woken: [String] = []
    while let waiter = state.step() {
      woken.append("\(waiter)@\(state.now.offset.components.seconds)")
    }
    return woken
  }

  private func putToSleep(_ state: inout State, until seconds: Int, _ waiter: String) throws -> State.Sleep {
    let sleep = state.add(waiter, until: at(seconds))
    return try #require(sleep)
  }

  @Test func `Sleepers wake by deadline, then by arrival`() throws {
    var state = State()
    for (waiter, seconds) in [("a", 3), ("b", 1), ("c", 3), ("d", 2), ("e", 1)] {
      _ = try putToSleep(&state, until: seconds, waiter)
    }
    #expect(state.sleeperCount == 5)
    #expect(state.nextDeadline == at(1))
    state.aim(by: .seconds(2))
    #expect(move(&state) == ["b@1", "e@1", "d@2"])
    #expect(state.now == at(2))
    state.aim(by: .seconds(10))
    #expect(move(&state) == ["a@3", "c@3"])
    #expect(state.now == at(12))
    #expect(state.nextDeadline == nil)
  }

  @Test(arguments: 0..<20) func `Any order of sleeps and cancellations wakes as a sorted list does`(seed: UInt64) throws
  {
    var (state, random) = (State(), SeededGenerator(seed: seed))
    var sleeping: [(sleep: State.Sleep, waiter: String)] = []
    var woken: [String] = []
    for number in 0..<400 {
      switch Int.random(in: 0..<10, using: &random) {
      case 0..<5:
        let deadline = Int(state.now.offset.components.seconds) + .random(in: 1..<50, using: &random)
        let sleep = try putToSleep(&state, until: deadline, "\(number)")
        sleeping.append((sleep, "\(number)"))
      case 5..<8:
        guard let index = sleeping.indices.randomElement(using: &random) else { break }
        state.remove(sleeping.remove(at: index).sleep)
      default:
        let goal = state.now.advanced(by: .seconds(Int.random(in: 1..<9, using: &random)))
        state.aim(at: goal)
        while let waiter = state.step() { woken.append(waiter) }
        let due = sleeping.filter { $0.sleep.deadline <= goal }.sorted { $0.sleep < $1.sleep }
        #expect(woken.suffix(due.count) == due.map(\.waiter)[...])
        sleeping.removeAll { $0.sleep.deadline <= goal }
      }
      #expect(state.sleeperCount == sleeping.count)
      #expect(state.nextDeadline == sleeping.map(\.sleep.deadline).min())
    }
  }

  /// The time for eight times as many sleepers: a sorted list would take 64 times as long.
  @Test func `The cost of many sleepers grows little faster than their number`() throws {
    func time(of count: Int) -> Duration {
      var state = State()
      return ContinuousClock().measure {
        // The latest first, so that each one passes all of those in a list.
        var sleeps = (1...count).compactMap { state.add("", until: at(2 * count - $0)) }
        sleeps.shuffle()
        for sleep in sleeps.dropLast(count / 2) { state.remove(sleep) }
        state.aim(by: .seconds(2 * count))
        while state.step() != nil {}
      }
    }
    let ratios = (0..<5).map { _ in time(of: 32_000) / time(of: 4_000) }
    #expect(try #require(ratios.min()) < 24, "\(ratios)")
  }

  @Test(arguments: [-1, 0, 5]) func `A deadline that has passed does not sleep`(seconds: Int) {
    var state = State(now: at(5))
    #expect(state.add("a", until: at(seconds)) == nil)
    #expect(state.sleeperCount == 0)
  }

  @Test func `Cancellation removes the sleeper`() throws {
    var state = State()
    let first = try putToSleep(&state, until: 1, "a")
    _ = try putToSleep(&state, until: 1, "b")
    state.remove(first)
    state.remove(first)
    #expect(state.sleeperCount == 1)
    state.aim(by: .seconds(1))
    #expect(move(&state) == ["b@1"])
  }

  @Test func `Late cancellation does nothing`() throws {
    var state = State()
    let first = try putToSleep(&state, until: 1, "a")
    state.aim(by: .seconds(1))
    #expect(move(&state) == ["a@1"])
    _ = try putToSleep(&state, until: 2, "b")
    state.remove(first)
    #expect(state.sleeperCount == 1)
  }

  @Test func `Time never goes back`() {
    var state = State(now: at(5))
    state.aim(by: .seconds(-1))
    #expect(move(&state) == [])
    state.aim(at: at(3))
    #expect(move(&state) == [])
    #expect(state.now == at(5))
  }

  @Test func `Concurrent advances add up`() throws {
    var state = State()
    _ = try putToSleep(&state, until: 3, "a")
    state.aim(by: .seconds(2))
    state.aim(by: .seconds(2))
    #expect(move(&state) == ["a@3"])
    #expect(state.now == at(4))
  }

  @Test(arguments: 0..<200 as Range<UInt64>)
  func `Each sleeper ends once and in order`(seed: UInt64) throws {
    var dice = SeededGenerator(seed: seed)
    var state = State()
    var asleep: [String: State.Sleep] = [:]
    for round in 0..<100 {
      switch Int.random(in: 0..<3, using: &dice) {
      case 0:
        let deadline = state.now.advanced(by: .seconds(Int.random(in: 1...20, using: &dice)))
        let sleep = state.add("\(round)", until: deadline)
        #expect(sleep != nil)
        asleep["\(round)"] = sleep
      case 1:
        guard let waiter = asleep.keys.sorted().randomElement(using: &dice) else { continue }
        guard let sleep = asleep.removeValue(forKey: waiter) else { continue }
        state.remove(sleep)
      default:
        let goal = state.now.advanced(by: .seconds(Int.random(in: 0...10, using: &dice)))
        let due = asleep.filter { $0.value.deadline <= goal }.sorted { $0.value < $1.value }
        state.aim(at: goal)
        #expect(move(&state) == due.map { "\($0.key)@\($0.value.deadline.offset.components.seconds)" })
        #expect(state.now == goal)
        for (waiter, _) in due { asleep[waiter] = nil }
      }
      #expect(state.sleeperCount == asleep.count)
      #expect(state.nextDeadline == asleep.values.min()?.deadline)
    }
  }
}
