// SPDX-License-Identifier: MIT
// Copyright (c) 2026 Stepwise contributors

import Stepwise
import Testing

extension Races {
  /// `withCancellation`, and chains under tokens, on real threads.
  @Suite struct CancellationBridgeRaceTests {
    /// A run that waits to be interrupted, for which several may ask.
    private final class Arena: Sendable {
      let outer = CancellationToken()
      let ends = Tally()
      let firsts = Tally()
      let chain: Chain<Int, Int>
      let run: Run<Int>

      init(waitsForStep: Bool) {
        let (entered, ends, outer) = (Once<Void>(), ends, outer)
        let chain = Chain { (number: Int) in
          entered.settle(())
          await CancellationToken().waitForCancellation()
          return number
        }
        .then { number in number }
        .finally { _ in ends.add() }
        self.chain = chain
        run = wait {
          let run = try? await withCancellation(by: outer) { chain.start(1) }
          if waitsForStep { await entered.valueIgnoringCancellation() }
          return run ?? chain.start(1)
        }
      }

      /// Why the run ended; it does not when a cancel was lost, and the suite's time does.
      var reason: String {
        let run = run
        return wait {
          guard case .cancelled(let cancellation) = await run.outcome else { return "not cancelled" }
          return cancellation.reason ?? "-"
        }
      }
    }

    /// With a token cancelled before, the body runs in a cancelled Task from its first instant.
    @Test func `A body under a cancelled token is cancelled from the start`() async throws {
      let token = CancellationToken()
      token.cancel()
      for round in 0..<rounds {
        let isCancelled = try await withCancellation(by: token) { Task.isCancelled }
        if !isCancelled {
          Issue.record("round \(round)")
          break
        }
      }
    }

    /// A cancel at any moment of the body's beginning, its end or in between is not lost and reaches no later Task.
    @Test func `A cancel races with the body`() async {
      await race(
        in: { CancellationToken() },
        { token in token.cancel(reason: "stop") },
        { token in
          let isInterrupted = wait {
            try? await withCancellation(by: token) {
              await CancellationToken().waitForCancellation()
              return Task.isCancelled
            }
          }
          if isInterrupted != true { Issue.record("not interrupted") }
        },
        referee: { token in token.isCancelled ? nil : "not cancelled" }
      )
    }

    /// Handle, token around the run and chain's token ask at once: the run ends once, for one of the reasons.
    @Test(arguments: [true, false])
    func `A run cancelled by many sources ends once`(waitsForStep: Bool) async {
      await race(
        in: { Arena(waitsForStep: waitsForStep) },
        { arena in if arena.run.cancel(reason: "handle") { arena.firsts.add() } },
        { arena in
          arena.outer.cancel(reason: "outer")
          arena.chain.cancellationToken.cancel(reason: "chain")
        },
        referee: { arena in
          let reason = arena.reason
          let isRight = arena.ends.total == 1 && arena.firsts.total == (reason == "handle" ? 1 : 0)
          return isRight && ["handle", "outer", "chain"].contains(reason) ? nil : "\(reason), \(arena.ends.total) ends"
        }
      )
    }

    /// The token is taken by several, while a run begins: they get the same one, and the run ends by it.
    @Test func `Accessing the token races with the start of a run`() async {
      await race(
        in: { Meeting() },
        { meeting in meeting.start() },
        { meeting in
          let token = meeting.chain.cancellationToken
          token.cancel(reason: "stop")
          meeting.left.settle(token)
        },
        { meeting in meeting.right.settle(meeting.chain.then { $0 }.cancellationToken) },
        referee: { meeting in
          guard meeting.left.settled === meeting.right.settled else { return "two tokens" }
          let run = meeting.run
          let outcome = wait { await run.valueIgnoringCancellation().outcome }
          guard case .cancelled(let cancellation) = outcome, cancellation.reason == "stop" else { return "\(outcome)" }
          return nil
        }
      )
    }

    private final class Meeting: Sendable {
      let chain = Chain { (number: Int) in
        await CancellationToken().waitForCancellation()
        return number
      }
      .then { $0 + 1 }
      let left = Once<CancellationToken>()
      let right = Once<CancellationToken>()
      let run = Once<Run<Int>>()

      func start() { run.settle(chain.start(1)) }
    }
  }
}
