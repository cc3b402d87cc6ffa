// SPDX-License-Identifier: MIT
// Copyright (c) 2026 Stepwise contributors

import Stepwise
import StepwiseTesting

/// Counts down to a result, and records each stage.
enum Countdown: Progression, Equatable {
  case at(Int)
  case landed(String)

  @TaskLocal static var log: Recorder<Int>?

  func next() async throws -> Countdown {
    switch self {
    case .at(0): return .landed("landed")
    case .at(let number):
      Self.log?.record(number)
      return .at(number - 1)
    case .landed: return try completed()
    }
  }

  var result: String? {
    if case .landed(let result) = self { result } else { nil }
  }
}

/// A progression whose stage is left when a closure says so.
struct Scripted: Progression {
  var number = 0
  var last = 3
  let work: @Sendable (Int) async throws -> Void

  func next() async throws -> Scripted {
    if number == last { return try completed() }
    try await work(number)
    return Scripted(number: number + 1, last: last, work: work)
  }

  var result: Int? { number == last ? number : nil }
}

/// Returns itself a number of times.
struct Poll: Progression, Equatable {
  var isDone = false
  let polls: Tally
  let enough: Int

  static func == (poll: Poll, other: Poll) -> Bool { poll.isDone == other.isDone }

  func next() async throws -> Poll {
    Poll(isDone: polls.increment() >= enough, polls: polls, enough: enough)
  }

  var result: Int? { isDone ? polls.total : nil }
}
