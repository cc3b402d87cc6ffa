// SPDX-License-Identifier: MIT
// Copyright (c) 2026 Stepwise contributors

import Stepwise

typealias AsyncClosure = @Sendable (Int) async throws -> Int

/// What the steps do: as little as possible, so that what is measured is the cost of being a step.
enum Bodies: String, CaseIterable, Sendable {
  /// The step awaits a function.
  case async
  /// The step awaits nothing.
  case sync

  /// (a) The functions awaited by hand.
  func byHand(_ count: Int, _ input: Int) async throws -> Int {
    switch self {
    case .async: try await awaitedByHand(count, input)
    case .sync: calledByHand(count, input)
    }
  }

  /// The closures for (b).
  func closures(_ count: Int) -> [AsyncClosure] {
    (0..<count).map { _ in
      switch self {
      case .async: { try await incremented($0) }
      case .sync: { increment($0) }
      }
    }
  }

  /// The chain, built of closures written here: `then` specialises them in the user's module.
  func chain(_ count: Int) -> Chain<Int, Int> {
    switch self {
    case .async: asyncChain(count)
    case .sync: syncChain(count)
    }
  }
}

/// (b) A loop over closures with a look at cancellation before each.
@inline(never)
func looped(over closures: [AsyncClosure], _ input: Int) async throws -> Int {
  var value = input
  for closure in closures {
    try Task.checkCancellation()
    value = try await closure(value)
  }
  return value
}

@inline(never)
private func awaitedByHand(_ count: Int, _ input: Int) async throws -> Int {
  var value = input
  for _ in 0..<count { value = try await incremented(value) }
  return value
}

@inline(never)
private func calledByHand(_ count: Int, _ input: Int) -> Int {
  var value = input
  for _ in 0..<count { value = increment(value) }
  return value
}

private func asyncChain(_ count: Int) -> Chain<Int, Int> {
  var chain = Chain { (value: Int) in try await incremented(value) }
  for _ in 1..<count { chain = chain.then { value in try await incremented(value) } }
  return chain
}

private func syncChain(_ count: Int) -> Chain<Int, Int> {
  var chain = Chain { (value: Int) in increment(value) }
  for _ in 1..<count { chain = chain.then { value in increment(value) } }
  return chain
}

@inline(never)
func incremented(_ value: Int) async throws -> Int { value &+ 1 }

@inline(never)
private func increment(_ value: Int) -> Int { value &+ 1 }
