// SPDX-License-Identifier: MIT
// Copyright (c) 2026 Stepwise contributors

import Foundation
import LegacyGrain
import StepwiseTesting

/// Counts down, in the words of `next()`.
@available(*, deprecated)
enum Countdown: Progression, Equatable, Sendable {
  case at(Int)
  case failing

  func next() -> Deferred<Countdown> {
    switch self {
    case .at(let number): return Deferred { .at(number - 1) }
    case .failing: return Deferred { throw Fault("failing") }
    }
  }

  var result: String? { self == .at(0) ? "zero" : nil }
}

/// Counts down in place, and waits at each tenth.
@available(*, deprecated)
struct UpdatingCountdown: Progression {
  var number: Int

  mutating func updateOrDeferNext() throws -> Deferred<UpdatingCountdown>? {
    guard number > 0 else { throw Fault("below zero") }
    if number % 10 == 0 {
      let next = UpdatingCountdown(number: number - 1)
      return Deferred.future { resolve in DispatchQueue.global().async { resolve { next } } }
    }
    number -= 1
    return nil
  }

  var result: String? { number == 0 ? "zero" : nil }
}

/// Two countdowns, one inside the other, in the older spelling of `compose`.
@available(*, deprecated)
enum TwoCountdowns: Progression {
  case first(Countdown)
  case second(Countdown)
  case end(String)

  func next() -> Deferred<TwoCountdowns> {
    switch self {
    case .first(let stage):
      return compose(stage, mapNext: { .first($0) }, mapResult: { _ in .second(.at(2)) })
    case .second(let stage):
      return compose(
        stage,
        mapNext: { .second($0) },
        flatMapResult: { result in Deferred { .end("second \(result)") } }
      )
    case .end: completedStep(self)
    }
  }

  var result: String? {
    if case .end(let text) = self { text } else { nil }
  }
}

/// Has neither of the two methods.
@available(*, deprecated)
struct Unwritten: Progression {
  var result: Int? { nil }
}

/// Returns itself for ever.
@available(*, deprecated)
enum Standstill: Progression {
  case here(Int)

  func next() -> Deferred<Standstill> { Deferred { .here(1) } }

  var result: Int? { nil }
}

/// Is held at its first stage until it is told to go on, and tells when it begins.
@available(*, deprecated)
enum Held: Progression {
  case start(begun: Recorder<String>, resolvers: Recorder<@Sendable () -> Void>)
  case end

  func next() -> Deferred<Held> {
    guard case .start(let begun, let resolvers) = self else { completedStage(self) }
    return Deferred.future { resolve in
      begun.record("begun")
      resolvers.record { resolve { .end } }
    }
  }

  var result: Bool? {
    if case .end = self { true } else { nil }
  }
}
