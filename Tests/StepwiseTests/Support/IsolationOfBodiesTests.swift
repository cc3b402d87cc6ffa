// SPDX-License-Identifier: MIT
// Copyright (c) 2026 Stepwise contributors

import Stepwise
import StepwiseCheckpoints
import StepwiseTracing
import Testing

/// Every body that promises the isolation of its caller has it, whatever surrounds the call.
@Suite(.timeLimit(.minutes(5)))
struct IsolationOfBodiesTests {
  /// What runs the code that calls the function.
  enum Setting: CaseIterable {
    case noRun, run, startedRun, observedRun, tracedRun, retriedRun, durableRun
  }

  /// The functions whose body stays in the caller's task.
  enum Function: CaseIterable {
    case step, retriedStep, undoableStep, nestedSteps, resolver, token, observer, trace
  }

  @Test(arguments: Setting.allCases, Function.allCases)
  func `A body runs on the actor of its caller`(setting: Setting, function: Function) async throws {
    try await check(in: setting) { try await Account().places(of: function) }
  }

  @Test(arguments: Setting.allCases, Function.allCases)
  func `A body runs on the main actor of its caller`(setting: Setting, function: Function) async throws {
    try await check(in: setting) { try await Screen().places(of: function) }
  }

  @Test(arguments: Setting.allCases, Function.allCases)
  func `A body runs where its nonisolated caller was called`(setting: Setting, function: Function) async throws {
    try await check(in: setting) { try await Screen().inheritedPlaces(of: function) }
    try await check(in: setting) { try await Account().inheritedPlaces(of: function) }
  }

  @Test(arguments: Setting.allCases, Function.allCases)
  func `A body runs on the actor of a parameter`(setting: Setting, function: Function) async throws {
    try await check(in: setting) { try await placesOnParameter(Account(), of: function) }
    try await check(in: setting) { try await placesOnParameter(MainActor.shared, of: function) }
  }

  private func check(in setting: Setting, _ work: @escaping @Sendable () async throws -> [Bool]) async throws {
    let chain = Chain("work") { (_: Int) in try await work() }
    let places =
      switch setting {
      case .noRun: try await work()
      case .run: try await chain.run(1)
      case .startedRun: try await chain.start(1).value
      case .observedRun: try await withRunObserver(Observer()) { try await chain.run(1) }
      case .tracedRun: try await trace { try await chain.run(1) }.value
      case .retriedRun: try await chain.retry(RetryPolicy(maxAttempts: 2, backoff: .none)).run(1)
      case .durableRun: try await chain.run(1, id: "work", in: MemoryCheckpointStore())
      }
    #expect(!places.isEmpty && places.allSatisfy(\.self), "\(places)")
  }
}

private struct Observer: RunObserver {}

/// Whether the caller runs on the expected actor: the body of a closure that mentions no actor says it least.
private nonisolated(nonsending) func isHere(_ expected: (any Actor)?) async -> Bool {
  let here = #isolation
  return here === expected && here != nil
}

/// Calls a function, with a body that checks where it runs before and after a suspension.
private nonisolated(nonsending) func places(
  of function: IsolationOfBodiesTests.Function,
  on actor: any Actor
) async throws -> [Bool] {
  var places: [Bool] = []
  let body: nonisolated(nonsending) () async throws -> Void = {
    places.append(await isHere(actor))
    await Task.yield()
    places.append(await isHere(actor))
  }
  switch function {
  case .step: try await step("a") { try await body() }
  case .retriedStep:
    try await step("a", retry: RetryPolicy(maxAttempts: 2, backoff: .none)) {
      try await body()
      if places.count == 2 { throw CancellationError() }
    }
  case .undoableStep:
    do {
      try await step("a") {
        try await body()
      } undo: {
      }
    } catch ChainError.outsideRun {
      try await body()
    }
  case .nestedSteps: try await step("a") { try await step("b") { try await body() } }
  case .resolver:
    try await withResolver { (resolver: Resolver<Void>) in
      try await body()
      resolver.resolve()
    }
  case .token: try await withCancellationToken { _ in try await body() }
  case .observer: try await withRunObserver(Observer()) { try await body() }
  case .trace: try await trace { try await body() }.value
  }
  places.append(await isHere(actor))
  return places
}

/// The same on an actor whose state the body does not mention, and calls that increment what only the actor may.
private actor Account {
  func places(of function: IsolationOfBodiesTests.Function) async throws -> [Bool] {
    let actor: any Actor = self
    var places: [Bool] = []
    switch function {
    case .step: try await step("a") { places.append(await isHere(actor)) }
    case .retriedStep:
      try await step("a", retry: RetryPolicy(maxAttempts: 2, backoff: .none)) {
        places.append(await isHere(actor))
        if places.count == 1 { throw CancellationError() }
      }
    case .undoableStep:
      do {
        try await step("a") {
          places.append(await isHere(actor))
        } undo: {
        }
      } catch ChainError.outsideRun {
        places.append(true)
      }
    case .nestedSteps: try await step("a") { try await step("b") { places.append(await isHere(actor)) } }
    case .resolver:
      try await withResolver { (resolver: Resolver<Void>) in
        places.append(await isHere(actor))
        resolver.resolve()
      }
    case .token: await withCancellationToken { _ in places.append(await isHere(actor)) }
    case .observer: await withRunObserver(Observer()) { places.append(await isHere(actor)) }
    case .trace: try await trace { places.append(await isHere(actor)) }.value
    }
    return places
  }

  func inheritedPlaces(of function: IsolationOfBodiesTests.Function) async throws -> [Bool] {
    try await StepwiseTests.places(of: function, on: self)
  }
}

@MainActor private final class Screen {
  nonisolated init() {}

  func places(of function: IsolationOfBodiesTests.Function) async throws -> [Bool] {
    var places: [Bool] = []
    switch function {
    case .step: try await step("a") { places.append(await isHere(MainActor.shared)) }
    case .retriedStep:
      try await step("a", retry: RetryPolicy(maxAttempts: 2, backoff: .none)) {
        places.append(await isHere(MainActor.shared))
        if places.count == 1 { throw CancellationError() }
      }
    case .undoableStep:
      do {
        try await step("a") {
          places.append(await isHere(MainActor.shared))
        } undo: {
        }
      } catch ChainError.outsideRun {
        places.append(true)
      }
    case .nestedSteps: try await step("a") { try await step("b") { places.append(await isHere(MainActor.shared)) } }
    case .resolver:
      try await withResolver { (resolver: Resolver<Void>) in
        places.append(await isHere(MainActor.shared))
        resolver.resolve()
      }
    case .token: await withCancellationToken { _ in places.append(await isHere(MainActor.shared)) }
    case .observer: await withRunObserver(Observer()) { places.append(await isHere(MainActor.shared)) }
    case .trace: try await trace { places.append(await isHere(MainActor.shared)) }.value
    }
    return places
  }

  func inheritedPlaces(of function: IsolationOfBodiesTests.Function) async throws -> [Bool] {
    try await StepwiseTests.places(of: function, on: MainActor.shared)
  }
}

private func placesOnParameter(
  _ actor: isolated any Actor,
  of function: IsolationOfBodiesTests.Function
) async throws -> [Bool] {
  var places: [Bool] = []
  switch function {
  case .step: try await step("a") { places.append(await isHere(actor)) }
  case .retriedStep:
    try await step("a", retry: RetryPolicy(maxAttempts: 2, backoff: .none)) {
      places.append(await isHere(actor))
      if places.count == 1 { throw CancellationError() }
    }
  default: places = try await StepwiseTests.places(of: function, on: actor)
  }
  return places
}
