// SPDX-License-Identifier: MIT
// Copyright (c) 2026 Stepwise contributors

import Stepwise
import StepwiseTesting
import Testing

/// A run that is cancelled before it begins is not admitted, and displaces no other run.
@Suite(.timeLimit(.minutes(5)))
struct EarlyCancelledOverlapTests {
  enum Origin: CaseIterable, Sendable { case task, tokenAround, tokenAroundStart }

  private static let policies = [Overlap.serial, .cancelPrevious, .dropNew, .keepLatest]

  private let turnstile = Turnstile()
  private let log = Recorder<String>()

  private func makeChain(_ policy: Overlap) -> Chain<Int, Int> {
    Chain { [turnstile] (number: Int) in
      if number == 0 { try await turnstile.pass() }
      return number
    }
    .finally { [log] in log.record($0.brief) }
    .overlap(policy)
  }

  /// Begins a run that is cancelled already, and waits for its end.
  private func beginCancelled(_ chain: Chain<Int, Int>, _ origin: Origin) async throws {
    let token = CancellationToken()
    token.cancel(reason: "early")
    switch origin {
    case .task:
      await Task {
        withUnsafeCurrentTask { $0?.cancel() }
        await #expect(throws: CancellationError.self) { try await chain.run(9) }
      }.value
    case .tokenAround:
      let result = try await withCancellation(by: token) { await resultOf { try await chain.run(9) } }
      #expect(result.brief == "failure CancellationError()")
    case .tokenAroundStart:
      let run = try await withCancellation(by: token) { chain.start(9) }
      #expect(await run.outcome.brief == "cancelled early")
    }
  }

  // G28
  @Test(arguments: policies, Origin.allCases)
  func `A run that is cancelled early leaves the other runs alone`(policy: Overlap, origin: Origin) async throws {
    let chain = makeChain(policy)
    let live = chain.start(0)
    await turnstile.visitors(atLeast: 1)
    let waiting = ["serial", "keepLatest"].contains(policy.name) ? chain.start(1) : nil
    try await beginCancelled(chain, origin)
    #expect(log.elements.isEmpty, "its handlers are not called")
    turnstile.open()
    #expect(await live.outcome.brief == "resolved 0")
    if let waiting { #expect(await waiting.outcome.brief == "resolved 1") }
    #expect(try await chain.run(2) == 2)
  }

  /// The newest search wins, also when the Task of an older one, which was cancelled, comes to its `run` later.
  @Test func `The newest search is not lost`() async {
    await forEachSeed { _ in
      let chain = Chain { (number: Int) in
        await Task.yield()
        return number
      }
      .overlap(.cancelPrevious)
      let old = spawn { await resultOf { try await chain.run(1) } }
      old.cancel()
      let new = spawn { await resultOf { try await chain.run(2) } }
      _ = await old.value
      let result = await new.value.brief
      try require(result == "success 2", result)
    }
  }
}
