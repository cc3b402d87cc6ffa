// SPDX-License-Identifier: MIT
// Copyright (c) 2026 Stepwise contributors

import Stepwise
import Synchronization

/// A progression whose stages do as little as possible, and hold something on the heap, as stages do: they await a function
/// that counts, where others can see it.
///
/// A loop by hand over stages of bare numbers pays nothing for coming back from a stage: the compiler sees that there is
/// nothing to do there, not even something to release.
enum Count: Progression {
  case running(Int, of: Int, input: [Int])
  case completed(Int)

  static func first(of total: Int) -> Count { .running(0, of: total, input: [total]) }

  func next() async throws -> Count {
    switch self {
    case .running(let number, let total, let input):
      number == total ? .completed(number) : .running(try await counted(number), of: total, input: input)
    case .completed: try completed()
    }
  }

  var result: Int? {
    if case .completed(let number) = self { number } else { nil }
  }
}

private let reached = Atomic(0)

@inline(never)
private func counted(_ number: Int) async throws -> Int {
  reached.add(1, ordering: .relaxed)
  return number &+ 1
}

/// The forms in which the same progressions can be run.
struct ProgressionForms: Sendable {
  static let loop = "(d) stages by hand"
  static let stages = "stages"
  static let run = "progression run"
  static let start = "progression start"
  static let group = "(e) bounded task group"
  static let line = "production line"

  let all: [Form]

  init(stages count: Int) {
    all = [
      Form(Self.loop) { times in
        for _ in 0..<times { check(try await reachedByHand(.first(of: count)), count) }
      },
      Form(Self.stages) { times in
        for _ in 0..<times { check(try await lastOfStages(.first(of: count)), count) }
      },
      Form(Self.run) { times in
        for _ in 0..<times { check(try await Count.first(of: count).run(), count) }
      },
      Form(Self.start) { times in
        for _ in 0..<times { check(try await Count.first(of: count).start().value, count) }
      },
    ]
  }

  /// Many progressions of ten stages each, so many at once; a repetition is one progression.
  init(maxConcurrent: Int) {
    all = [
      Form(Self.group) { times in try await runInGroup(times, maxConcurrent: maxConcurrent) },
      Form(Self.line) { times in await runInLine(times, maxConcurrent: maxConcurrent) },
    ]
  }
}

@inline(never)
private func reachedByHand(_ first: Count) async throws -> Int? {
  var stage = first
  while stage.result == nil { stage = try await stage.next() }
  return stage.result
}

@inline(never)
private func lastOfStages(_ first: Count) async throws -> Int? {
  var result: Int?
  for try await stage in first.stages { result = stage.result }
  return result
}

private func runInGroup(_ count: Int, maxConcurrent: Int) async throws {
  let sum = try await withThrowingTaskGroup(of: Int.self) { group in
    var sum = 0
    for number in 0..<count {
      if number >= maxConcurrent { sum += try await group.next() ?? 0 }
      group.addTask { try await reachedByHand(.first(of: 10)) ?? 0 }
    }
    for try await result in group { sum += result }
    return sum
  }
  check(sum, 10 * count)
}

func runInLine(_ count: Int, maxConcurrent: Int) async {
  let line = ProductionLine<Count>(maxConcurrent: maxConcurrent)
  for _ in 0..<count { line.add(.first(of: 10)) }
  line.finish()
  var sum = 0
  for await (_, result) in line.results { sum += (try? result.get()) ?? 0 }
  check(sum, 10 * count)
}

private func check(_ result: Int?, _ expected: Int) {
  precondition(result == expected, "the stages gave \(result as Any) instead of \(expected)")
}
