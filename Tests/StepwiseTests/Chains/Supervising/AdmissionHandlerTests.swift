// SPDX-License-Identifier: MIT
// Copyright (c) 2026 Stepwise contributors

import Stepwise
import StepwiseTesting
import Testing

/// Handlers belong to the runs that have passed their gate.
@Suite(.timeLimit(.minutes(5)))
struct AdmissionHandlerTests {
  /// How a further run ends before it is admitted.
  enum Ending: CaseIterable, Sendable {
    case refused, replaced, displaced, cancelledWhileWaiting, cancelRuns, cancelledBefore, nested

    var policy: Overlap {
      switch self {
      case .refused, .nested: .dropNew
      case .replaced: .keepLatest
      case .displaced: .cancelPrevious
      default: .serial
      }
    }
  }

  private let turnstile = Turnstile()
  private let log = Recorder<String>()

  private func chain(_ policy: Overlap?) -> Chain<Int, Int> {
    let plain = Chain("use the folder", undo: { [log] (number: Int) in log.record("undo \(number)") }) {
      [turnstile] (number: Int) in
      if number == 0 { await turnstile.passWhateverHappens() }
      return number
    }
    .onError { [log] error in log.record("onError \(error)") }
    .finally { [log] in log.record("finally \($0.brief)") }
    return policy.map { plain.overlap($0) } ?? plain
  }

  // G12
  // G21
  // G53
  @Test(arguments: Ending.allCases)
  func `A run that is never admitted calls its completion once and no handler`(ending: Ending) async throws {
    let chain = chain(ending.policy)
    let completions = Recorder<String>()
    let token = CancellationToken()
    if ending == .cancelledBefore { token.cancel(reason: "early") }
    let first = chain.start(0)
    await turnstile.visitors(atLeast: 1)
    let whole = ending == .nested ? Chain { (number: Int) in number }.appending(chain) : chain
    let second = whole.start(1, cancelledBy: token) { result in completions.record(result.brief) }
    var third: Run<Int>?
    switch ending {
    case .replaced, .displaced: third = chain.start(3)
    case .cancelledWhileWaiting: second.cancel(reason: "the screen was closed")
    case .cancelRuns: chain.cancelRuns(reason: "all")
    default: break
    }
    let outcome = await second.outcome.brief
    #expect(outcome.hasPrefix("cancelled") || ending == .nested, "\(outcome)")
    #expect(await completions.elements(atLeast: 1) == ["failure CancellationError()"])
    #expect(log.elements.isEmpty)
    turnstile.open()
    // Its step has returned a value, which no cancellation discards.
    #expect(await first.outcome.brief == "resolved 0")
    _ = await third?.outcome
    #expect(log.elements.filter { $0.hasPrefix("finally") }.count == (third == nil ? 1 : 2))
    #expect(completions.elements.count == 1)
  }

  // G12
  // G28
  @Test(arguments: [nil, Overlap.serial, .dropNew], [false, true])
  func `An admitted run that is cancelled before its first step calls finally`(
    policy: Overlap?,
    started: Bool
  ) async throws {
    guard policy == nil || started else { return }
    let chain = chain(policy)
    let task = Task { @MainActor in
      if started {
        // Admitted by `start`; the executor of its task is free only later.
        let run = chain.start(1)
        run.cancel()
        return await run.outcome.brief
      }
      withUnsafeCurrentTask { $0?.cancel() }
      return await resultOf { try await chain.run(1) }.brief
    }
    let end = await task.value
    if end == "cancelled -" || !started { #expect(log.elements == ["finally cancelled -"]) }
    #expect(log.elements.count == 1)
  }

  // G53
  /// A run that waits is admitted or cancelled, whichever comes first: it calls `finally` exactly when it held the slot.
  @Test func `Handlers never run beside another run, for every seed`() async {
    await forEachSeed { _ in
      let inside = Watched(0)
      let overlaps = Watched(0)
      let chain = Chain { (number: Int) in
        let isAlone = inside.mutate { count in
          count += 1
          return count == 1
        }
        if !isAlone { overlaps.mutate { $0 += 1 } }
        await Task.yield()
        inside.mutate { $0 -= 1 }
        return number
      }
      .finally { _ in
        if inside.read({ $0 }) > 0 { overlaps.mutate { $0 += 1 } }
        await Task.yield()
        if inside.read({ $0 }) > 0 { overlaps.mutate { $0 += 1 } }
      }
      .overlap(.serial)
      let runs = (0..<4).map { chain.start($0) }
      let cancel = spawn { for run in runs { run.cancel() } }
      for run in runs { _ = await run.outcome }
      await cancel.value
      try require(overlaps.read { $0 } == 0, "overlapped")
    }
  }
}
