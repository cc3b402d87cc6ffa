// SPDX-License-Identifier: MIT
// Copyright (c) 2026 Stepwise contributors

import StepwiseTesting
import Testing

@testable import Stepwise

/// Progress without a handle, and the progress of a run inside a step.
@Suite(.timeLimit(.minutes(5)))
struct RunProgressTests {
  private struct Bar: RunObserver {
    let fractions: Recorder<String>

    func runProgressed(_ run: ObservedRun, progress: ChainProgress) {
      fractions.record("\(run.name) \(Int(progress.fractionCompleted * 100)) \(progress.step)")
    }
  }

  private let inner = Chain("a") { (number: Int) in number }.then("b") { $0 }.then("c") { $0 }.then("d") { $0 }

  @Test func `An observer receives the progress of a plain run`() async throws {
    let bar = Bar(fractions: Recorder())
    try await withRunObserver(bar) { _ = try await inner.named("run").run(1) }
    #expect(bar.fractions.elements == ["run 25 a", "run 50 b", "run 75 c", "run 100 d"])
  }

  @Test(arguments: [false, true])
  func `The progress of a run in a step is that of the step`(isObserved: Bool) async throws {
    let inner = isObserved ? inner.observed(by: Bar(fractions: Recorder())) : inner
    let chain = Chain("first") { (number: Int) in number }.then("second") { try await inner.run($0) }
    var fractions: [Int] = []
    let run = chain.start(1)
    let bar = Bar(fractions: Recorder())
    _ = try await run.value
    _ = try await chain.named("run").observed(by: bar).run(1)
    for await progress in run.progress { fractions.append(Int(progress.fractionCompleted * 100)) }
    #expect(fractions == [100])
    #expect(
      bar.fractions.elements.map { $0.split(separator: " ")[1] }.map { Int($0) ?? -1 } == [50, 62, 75, 87, 100, 100]
    )
  }
}
