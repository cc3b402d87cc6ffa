// SPDX-License-Identifier: MIT
// Copyright (c) 2026 Stepwise contributors

import StepwiseTesting
import TestSupport
import Testing

@testable import Stepwise

/// What completes in a part of a run that is over, although the run continues, is undone at once.
@Suite(.timeLimit(.minutes(5)))
struct LateCompletionTests {
  enum Form: CaseIterable, Sendable {
    case stepRetry, stepTimeout, chainRetry, retryInside, timeout, timeoutInRetry, abandonFailed, abandonExpired
    case abandonInline, abandonInRetry, retryInAbandon
  }

  private let clock = ManualClock()
  private let log = Recorder<String>()
  private let turnstile = Turnstile()
  private let attempts = Watched(0)
  /// Settled when the call of `step` that is late has returned.
  private let ended = Once<Void>()
  private let twice = RetryPolicy(maxAttempts: 2, backoff: .none)

  /// The request ends, or the step begins, when the turnstile opens.
  private func reserve(late: Bool) async throws {
    let (log, turnstile) = (log, turnstile)
    defer { ended.settle(()) }
    if late { await turnstile.passWhateverHappens() }
    try await step("reserve") {
      if !late { await turnstile.passWhateverHappens() }
      log.record("reserved")
    } undo: {
      log.record("released")
    }
  }

  /// Reserves in a task that nothing awaits.
  private func reserveApart(late: Bool) async {
    Task { try await reserve(late: late) }
    await turnstile.visitors(atLeast: 1)
  }

  /// The first attempt reserves and fails; the second one succeeds, after the late reservation.
  private func body(_ form: Form, late: Bool) async throws -> Int {
    let number = attempts.mutate { count in
      count += 1
      return count
    }
    if number == 1 {
      if form == .abandonInline {
        try await reserve(late: late)
        return number
      }
      await reserveApart(late: late)
      if isTimed(form) { try await clock.sleep(for: .seconds(100)) }
      throw Fault(number)
    }
    return await released(number)
  }

  private func isTimed(_ form: Form) -> Bool {
    ![.stepRetry, .chainRetry, .retryInside, .abandonFailed].contains(form)
  }

  private func released(_ value: Int) async -> Int {
    turnstile.open()
    await log.elements(atLeast: 1)
    return value
  }

  private func chain(_ form: Form, late: Bool) -> Chain<Void, Int> {
    let attempt = Chain { try await body(form, late: late) }
    let (second, clock) = (Duration.seconds(1), clock)
    let recovered = attempt.then { $0 }
    switch form {
    case .stepRetry: return Chain { try await step("book", retry: twice) { try await body(form, late: late) } }
    case .stepTimeout:
      return Chain {
        do {
          return try await step("book", timeout: second, clock: clock) { try await body(form, late: late) }
        } catch {
          return await released(2)
        }
      }
    case .chainRetry: return attempt.retry(twice)
    case .retryInside: return Chain {}.appending(attempt.retry(twice)).then { $0 }
    case .timeout: return recovered.timeout(second, clock: clock).recover { _ in await released(2) }
    case .timeoutInRetry: return attempt.timeout(second, clock: clock).retry(twice)
    case .abandonFailed, .abandonExpired, .abandonInline:
      return recovered.abandon(after: second, clock: clock).recover { _ in await released(2) }
    case .abandonInRetry: return attempt.abandon(after: second, clock: clock).retry(twice)
    case .retryInAbandon:
      return attempt.retry(twice).abandon(after: second, clock: clock).recover { _ in await released(2) }
    }
  }

  // G43
  @Test(arguments: Form.allCases.filter { $0 != .abandonFailed }, [false, true])
  func `A late completion is undone at once although the run succeeds`(form: Form, started: Bool) async throws {
    let chain = chain(form, late: false)
    let run = Task { try await started ? chain.start().value : chain.run() }
    await turnstile.visitors(atLeast: 1)
    if isTimed(form) {
      await clock.sleepers(atLeast: form == .abandonInline ? 1 : 2)
      clock.advance(by: .seconds(1))
    }
    #expect(try await run.value == 2)
    _ = await ended.value()
    #expect(log.elements == ["reserved", "released"])
  }

  // G43
  @Test(arguments: [Form.stepRetry, .chainRetry, .retryInside, .abandonFailed], [false, true])
  func `A step that begins after its attempt is undone at once`(form: Form, started: Bool) async throws {
    let chain = chain(form, late: true)
    let value = try await started ? chain.start().value : chain.run()
    #expect(value == 2)
    #expect(log.elements == ["reserved", "released"])
  }

  // G43
  @Test(arguments: [Form.stepRetry, .chainRetry])
  func `The error of a late undo is reported to onError`(form: Form) async throws {
    let (log, turnstile, attempts) = (log, turnstile, attempts)
    let body: @Sendable () async throws -> Int = {
      let number = attempts.mutate { count in
        count += 1
        return count
      }
      if number == 2 {
        turnstile.open()
        return 2
      }
      Task {
        try await step("reserve") {
          await turnstile.passWhateverHappens()
        } undo: {
          throw Fault(7)
        }
      }
      await turnstile.visitors(atLeast: 1)
      throw Fault(1)
    }
    let twice = twice
    let chain = form == .chainRetry ? Chain(body).retry(twice) : Chain { try await step("book", retry: twice, body) }
    let run = chain.onError { log.record("\($0)") }.start()
    #expect(try await run.value == 2)
    #expect(run.undoErrors.map(\.step) == ["reserve"])
    #expect(log.elements == ["reserve could not be undone: \(Fault(7))"])
  }

  @Test(arguments: [false, true])
  func `What an attempt that succeeds completes late is undone with the run`(started: Bool) async {
    let (log, turnstile) = (log, turnstile)
    let chain = Chain { await reserveApart(late: false) }.retry(twice)
      .then("later", undo: { log.record("undo later") }) { turnstile.open() }
      .then { () async throws -> Void in
        await log.elements(atLeast: 1)
        throw Fault(1)
      }
    let result = await resultOf { try await started ? chain.start().value : chain.run() }
    #expect(result.brief == "failure \(Fault(1))")
    #expect(log.elements.first == "reserved")
    #expect(log.elements.sorted() == ["released", "reserved", "undo later"])
  }
}
