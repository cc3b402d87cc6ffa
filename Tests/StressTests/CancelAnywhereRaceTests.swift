// SPDX-License-Identifier: MIT
// Copyright (c) 2026 Stepwise contributors

import Foundation
import Stepwise
import StepwiseTesting
import Testing

extension Races {
  /// Random programs that threads cancel at random instants.
  @Suite struct CancelAnywhereRaceTests {
    private final class World: Sendable {
      struct State {
        var chains: [Chain<Int, Int>] = []
        var completed = 0
        var undone = 0
        var begun = 0
        var ended = 0
        var complaints: [String] = []
      }

      let state = Watched(State())
      let token = CancellationToken()

      func complain(_ text: String) { state.mutate { $0.complaints.append(text) } }

      /// A chain of random steps, some of which contain chains; it counts its runs, and the steps to be undone.
      func chain(_ depth: Int, _ generator: inout SeededGenerator, isUndone: Bool = true) -> Chain<Int, Int> {
        let yields = Int.random(in: 0..<4, using: &generator)
        var chain = Chain<Int, Int>("begin") { [state] number in
          state.mutate { $0.begun += 1 }
          for _ in 0..<yields { await Task.yield() }
          return number
        }
        for _ in 0..<Int.random(in: 1..<4, using: &generator) {
          chain = appending(to: chain, depth, &generator, isUndone)
        }
        if Bool.random(using: &generator) { chain = chain.timeout(.seconds(600)) }
        let whole = chain.finally { [state] _ in
          await Task.yield()
          if Task.isCancelled { self.complain("a handler is cancelled") }
          state.mutate { $0.ended += 1 }
        }
        state.mutate { $0.chains.append(whole) }
        return whole
      }

      private func appending(
        to chain: Chain<Int, Int>,
        _ depth: Int,
        _ generator: inout SeededGenerator,
        _ isUndone: Bool
      ) -> Chain<Int, Int> {
        let kind = Int.random(in: 0..<(depth > 0 ? 9 : 4), using: &generator)
        let undo: @Sendable (Int) async throws -> Void = { [state] _ in
          if Task.isCancelled { self.complain("an undo is cancelled") }
          state.mutate { $0.undone += 1 }
        }
        switch kind {
        case 0, 1:
          guard isUndone else { return chain.then { $0 } }
          return chain.then("undoable", undo: undo) { [state] number in
            state.mutate { $0.completed += 1 }
            return number
          }
        case 2:
          return chain.then("sleep") { number in
            try await Task.sleep(for: .milliseconds(2))
            return number
          }
        case 3:
          let failures = Watched(Int.random(in: 0..<2, using: &generator))
          let flaky = Chain("flaky") { (number: Int) in
            if failures.mutate({ left in
              defer { left -= 1 }; return left > 0
            }) {
              throw Fault(1)
            }
            return number
          }
          return chain.appending(flaky.retry(RetryPolicy(maxAttempts: 3, backoff: .constant(.milliseconds(1)))))
        case 4: return chain.appending(self.chain(depth - 1, &generator, isUndone: isUndone))
        case 5:
          let (one, other) = (
            self.chain(depth - 1, &generator, isUndone: isUndone), self.chain(depth - 1, &generator, isUndone: isUndone)
          )
          return chain.appending(Chain.zip(one, other).then { (pair: (Int, Int)) in pair.0 })
        case 6:
          return chain.appending(
            Chain.race(
              self.chain(depth - 1, &generator, isUndone: isUndone),
              self.chain(depth - 1, &generator, isUndone: isUndone)
            )
          )
        case 7:
          let inner = self.chain(depth - 1, &generator, isUndone: false)
          return chain.then("inner") { number in try await step("run") { try await inner.run(number) } }
        default:
          let inner = self.chain(depth - 1, &generator, isUndone: false)
          return chain.then("task") { number in try await Task { try await inner.run(number) }.value }
        }
      }
    }

    /// The runs end, nothing is undone twice or forgotten, and no handler or undo is cancelled.
    @Test func `Threads cancel random programs at random instants`() async {
      for round in 0..<rounds {
        var generator = SeededGenerator(seed: UInt64(round))
        let world = World()
        let chain = world.chain(3, &generator)
        let isStarted = Bool.random(using: &generator)
        let task = Task {
          try await withCancellation(by: world.token) {
            isStarted ? try await chain.start(round).outcome.get() : try await chain.run(round)
          }
        }
        let chains = world.state.read { $0.chains }
        let sources = (0..<Int.random(in: 1..<4, using: &generator)).map { _ in
          (
            Int.random(in: 0..<5, using: &generator), Int.random(in: 0..<3_000, using: &generator),
            chains.randomElement(using: &generator)
          )
        }
        let cancelling = sources.map { source, spins, other in
          Task {
            await onForeignThread {
              for _ in 0..<spins { _ = Task.isCancelled }
              switch source {
              case 0: task.cancel()
              case 1: chain.cancelRuns(reason: "all")
              case 2: world.token.cancel(reason: "around")
              case 3: chain.cancellationToken.cancel(reason: "token")
              default: other?.cancelRuns(reason: "inner")
              }
            }
          }
        }
        let result = await task.result
        for task in cancelling { await task.value }
        for chain in chains { await chain.waitUntilIdle() }
        let state = world.state.read { $0 }
        var complaints = state.complaints
        if case .failure = result, state.completed != state.undone {
          complaints.append("\(state.completed) completed, \(state.undone) undone: \(result)")
        }
        if state.undone > state.completed { complaints.append("undone \(state.undone) of \(state.completed)") }
        if state.ended < state.begun { complaints.append("\(state.begun) begun, \(state.ended) ended") }
        if !complaints.isEmpty {
          Issue.record("round \(round): \(complaints)")
          break
        }
      }
    }
  }
}
