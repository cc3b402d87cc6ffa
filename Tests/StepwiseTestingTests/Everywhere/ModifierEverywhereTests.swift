// SPDX-License-Identifier: MIT
// Copyright (c) 2026 Stepwise contributors

import Stepwise
import StepwiseTesting
import Testing

/// The guarantees of chains, whatever they are made of, when they are cancelled or fail at any point.
@Suite(.timeLimit(.minutes(5)))
struct ModifierEverywhereTests {
  enum Form: String, CaseIterable, Sendable, CustomTestStringConvertible {
    case retry, timeout, stepTimeout, abandon, recover, nested, zip, race, thenMap, serial
    case callback, progression, token, started

    var testDescription: String { rawValue }
  }

  private enum Count: Progression {
    case at(Int, ManualClock)

    func next() async throws -> Count {
      guard case .at(let number, let clock) = self, number < 3 else { return try completed() }
      try await clock.sleep(for: .seconds(1))
      return .at(number + 1, clock)
    }

    var result: Int? { if case .at(let number, _) = self, number == 3 { number } else { nil } }
  }

  /// A step that takes a second or more and can be undone.
  @Sendable private static func part(_ name: String, _ probe: RunProbe, seconds: Int = 1) -> Chain<Int, Int> {
    let object = probe.track()
    return Chain(
      name,
      undo: { (_: Int) in
        try? await probe.clock.sleep(for: .seconds(1))
        probe.undone(name)
      }
    ) { (number: Int) in
      try probe.step(name)
      try await probe.clock.sleep(for: .seconds(seconds))
      probe.completed(name)
      return withExtendedLifetime(object) { number }
    }
  }

  /// The part of a chain that the form is about.
  @Sendable private static func middle(_ form: Form, _ probe: RunProbe) -> Chain<Int, Int> {
    let clock = probe.clock
    switch form {
    case .retry:
      return Self.part("a", probe).appending(Self.part("b", probe))
        .retry(RetryPolicy(maxAttempts: 3, backoff: .constant(.seconds(1))), clock: clock)
    case .timeout:
      return Self.part("a", probe).appending(Self.part("b", probe, seconds: 60)).timeout(.seconds(30), clock: clock)
    case .stepTimeout:
      return Self.part("a", probe).appending(
        Step("late") { (number: Int) in
          try await clock.sleep(for: .seconds(60))
          return number
        }
        .timeout(.seconds(5), clock: clock)
      )
    case .abandon:
      return Self.part("a", probe).appending(Self.part("b", probe, seconds: 60)).abandon(
        after: .seconds(30),
        clock: clock
      )
    case .recover:
      return Self.part("a", probe)
        .then { (_: Int) -> Int in
          try await clock.sleep(for: .seconds(1))
          throw SimulationError.unmet("seven")
        }
        .recover { _ in
          try await clock.sleep(for: .seconds(1))
          return 2
        }
    case .nested:
      return Self.part("a", probe).appending(Self.part("b", probe).appending(Self.part("c", probe)).finally { _ in })
    case .zip: return Chain.zip(Self.part("a", probe), Self.part("b", probe, seconds: 2)).then { $0.0 + $0.1 }
    case .race: return Chain.race(Self.part("a", probe), Self.part("b", probe, seconds: 60))
    case .thenMap:
      return Self.part("a", probe).then { (_: Int) in [1, 2, 3] }
        .thenMap(maxConcurrent: 2) { (number: Int) in
          try probe.step("element")
          try await clock.sleep(for: .seconds(number))
          return number
        }
        .then { $0.reduce(0, +) }
    case .serial: return Self.part("a", probe).appending(Self.part("b", probe)).overlap(.serial)
    case .callback:
      return Self.part("a", probe).appending(
        Step.callback { (number: Int, resolver: Resolver<Int>) in
          let timer = Task {
            try await clock.sleep(for: .seconds(1))
            resolver.resolve(number)
          }
          resolver.onCancel { _ in timer.cancel() }
        }
      )
    case .progression: return Self.part("a", probe).appending(running: { (_: Int) in Count.at(0, clock) })
    case .token:
      return Self.part("a", probe).then { number in
        try await withCancellation(by: CancellationToken()) {
          try await clock.sleep(for: .seconds(1))
          return number
        }
      }
    case .started:
      return Self.part("a", probe).then { number in
        let run = Chain { (number: Int) in
          try await clock.sleep(for: .seconds(1))
          return number
        }
        .start(number)
        return try await withTaskCancellationHandler {
          try await run.value
        } onCancel: {
          run.cancel()
        }
      }
    }
  }

  @Test(
    arguments: Form.allCases
  )
  func `Wherever it fails or is cancelled, a chain completes exactly once`(form: Form) async throws {
    let makeChain: @Sendable (RunProbe) -> Chain<Int, Int> = { probe in
      Self.middle(form, probe).appending(Self.part("last", probe))
        .finally { _ in probe.finalized("close") }
        .finally { _ in probe.finalized("hide") }
    }
    #expect(try await cancelEverywhere(input: 7, makeChain) > 20)
    #expect(try await failEverywhere(input: 7, makeChain) > 0)
  }
}
