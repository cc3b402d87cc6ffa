// SPDX-License-Identifier: MIT
// Copyright (c) 2026 Stepwise contributors

import Stepwise
import StepwiseFlows
import StepwiseTesting
import Testing

extension Races {
  /// Asks on the main actor, which other threads end.
  @Suite struct FlowRaceTests {
    /// A step that is being presented, with its handler in a slot that any thread may take.
    private final class Arena: Sendable {
      let place = Place()
      let firsts = Tally()
      let ask: Task<FlowAnswer<Int>, Never>

      init() {
        let presented = Once<Void>()
        let place = place
        ask = Task { @MainActor in
          let step = FlowStep<Void, Int>("step") { handler in
            place.put(handler)
            presented.settle(())
          }
          return await step.ask()
        }
        wait { await presented.valueIgnoringCancellation() }
      }

      /// Held by the arena as long as the calls go on.
      func end(_ number: Int, _ call: (FlowStepHandler<Void, Int>) -> Bool) {
        guard let handler = place.handler.withLock({ $0 }) else { return }
        if call(handler) { firsts.add(number) }
      }

      func release() { _ = place.take() }

      var answer: FlowAnswer<Int> {
        let ask = ask
        return wait { await ask.value }
      }
    }

    private final class Place: Sendable {
      let handler = Lock<FlowStepHandler<Void, Int>?>(nil)
      func put(_ new: FlowStepHandler<Void, Int>) { handler.withLock { $0 = new } }
      func take() -> FlowStepHandler<Void, Int>? { handler.withLock { $0.take() } }
    }

    /// The first call completes the step, and the others return false.
    @Test func `One of many calls is the answer`() async {
      await race(
        in: { Arena() },
        { arena in arena.end(1) { $0.complete(7) } },
        { arena in arena.end(2) { $0.back() } },
        { arena in arena.end(4) { $0.cancel(reason: "no") } },
        referee: { arena in
          let expected: FlowAnswer<Int>? = [1: .answered(7), 2: .back, 4: .cancelled][arena.firsts.total]
          let answer = arena.answer
          return answer == expected ? nil : "\(arena.firsts.total) won, and the answer was \(answer)"
        }
      )
    }

    /// A cancellation, a call and the release race, and the presentation ends once.
    @Test func `Cancelling, releasing and completing race`() async {
      await race(
        in: { Arena() },
        { arena in arena.end(1) { $0.complete(7) } },
        { arena in arena.ask.cancel() },
        { arena in arena.release() },
        referee: { arena in
          let answer = arena.answer
          if arena.firsts.total == 1 { return answer == .answered(7) ? nil : "completed, and \(answer)" }
          return answer == .cancelled || answer == .abandoned ? nil : "not completed, and \(answer)"
        }
      )
    }
  }
}
