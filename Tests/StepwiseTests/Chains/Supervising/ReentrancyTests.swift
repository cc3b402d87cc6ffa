// SPDX-License-Identifier: MIT
// Copyright (c) 2026 Stepwise contributors

import Stepwise
import StepwiseTesting
import Testing

/// A chain that awaits itself would wait for ever where it lets in one run at a time.
@Suite(.timeLimit(.minutes(5)))
struct ReentrancyTests {
  enum Place: CaseIterable, Sendable { case step, task, detachedChild, nested, undo, onError, finally }

  private static let policies = [Overlap.serial, .cancelPrevious, .dropNew, .keepLatest]

  /// A gated chain that calls something of itself from a place within.
  private func makeChain(
    _ policy: Overlap,
    _ place: Place,
    _ call: @escaping @Sendable (Chain<Int, Int>) async -> Void
  ) -> Chain<Int, Int> {
    let itself = Watched<Chain<Int, Int>?>(nil)
    let callItself: @Sendable () async -> Void = {
      guard let chain = itself.read({ $0 }) else { return }
      await call(chain)
    }
    let chain = Chain { (number: Int) -> Int in
      guard number == 0 else { return number }
      switch place {
      case .step: await callItself()
      case .task: await Task { await callItself() }.value
      case .detachedChild: await withTaskGroup { group in group.addTask { await callItself() } }
      case .nested: try await Chain { await callItself() }.then { await callItself() }.run()
      case .undo, .onError, .finally: break
      }
      return number
    }
    .then("undone", undo: { _ in if place == .undo { await callItself() } }) { $0 }
    .then { number in
      if number == 0, [.undo, .onError].contains(place) { throw Fault(0) }
      return number
    }
    .onError { _ in if place == .onError { await callItself() } }
    .finally { state in
      if case .resolved(let value) = state, value as? Int == 0, place == .finally { await callItself() }
    }
    .overlap(policy)
    itself.mutate { $0 = chain }
    return chain
  }

  // G58
  @Test(arguments: policies, Place.allCases)
  func `A run from inside its chain throws reentrant`(policy: Overlap, place: Place) async {
    let errors = Recorder<String>()
    let chain = makeChain(policy, place) { chain in
      errors.record(await resultOf { try await chain.run(1) }.brief)
    }
    _ = await resultOf { try await chain.run(0) }
    _ = await chain.start(0).outcome
    #expect(Set(errors.elements) == ["failure \(ChainError.reentrant)"])
    #expect(errors.elements.count == (place == .nested ? 4 : 2))
    #expect(chain.runsInFlight == 0)
  }

  // G58
  @Test(arguments: Place.allCases)
  func `A start from inside its chain waits for its turn`(place: Place) async throws {
    let started = Recorder<Run<Int>>()
    let chain = makeChain(.serial, place) { chain in started.record(chain.start(1)) }
    _ = await resultOf { try await chain.run(0) }
    for run in started.elements { #expect(try await run.value == 1) }
    #expect(started.elements.count == (place == .nested ? 2 : 1))
  }

  @Test func `The error is matched and explained`() async {
    let chain = makeChain(.serial, .step) { chain in
      do { _ = try await chain.run(1) } catch ChainError.reentrant { return } catch { Issue.record(error) }
    }
    _ = await chain.start(0).outcome
    #expect("\(ChainError.reentrant)".contains("`start`"))
  }

  @Test func `Without an overlap policy a chain may call itself`() async throws {
    let itself = Watched<Chain<Int, Int>?>(nil)
    let chain = Chain { (number: Int) -> Int in
      guard number > 0, let chain = itself.read({ $0 }) else { return 0 }
      return try await chain.run(number - 1) + 1
    }
    itself.mutate { $0 = chain }
    #expect(try await chain.run(50) == 50)
    itself.mutate { $0 = nil }
  }

  @Test func `Another gated chain may be called from a step`() async throws {
    let other = Chain { (number: Int) in number + 1 }.overlap(.serial)
    let chain = Chain { (number: Int) in try await other.run(number) }.overlap(.serial)
    #expect(try await chain.run(1) == 2)
    #expect(try await chain.appending(other).run(1) == 3)
  }

  /// The Task that was made inside is still there, but the run is over.
  @Test func `Work that outlives the run may run the chain`() async throws {
    let ended = Turnstile()
    let itself = Watched<Chain<Int, Int>?>(nil)
    let results = Recorder<String>()
    let chain = Chain { (number: Int) in
      if number == 0, let chain = itself.read({ $0 }) {
        Task {
          await ended.passWhateverHappens()
          results.record(await resultOf { try await chain.run(1) }.brief)
        }
      }
      return number
    }.overlap(.serial)
    itself.mutate { $0 = chain }
    _ = try await chain.run(0)
    ended.open()
    #expect(await results.elements(atLeast: 1) == ["success 1"])
    itself.mutate { $0 = nil }
  }
}
