// SPDX-License-Identifier: MIT
// Copyright (c) 2026 Stepwise contributors

import Stepwise
import StepwiseTesting
import Testing

@Suite(.timeLimit(.minutes(5)))
struct ThenMapProgressTests {
  /// The fractions of the step's progress, in a run on one thread.
  private func fractions<Elements: Sequence & Sendable>(
    of elements: Elements,
    maxConcurrent: Int = 1,
    _ transform: nonisolated(nonsending) @escaping @Sendable (Elements.Element) async throws -> Int
  ) throws -> [Double] where Elements.Element: Sendable {
    let chain = Chain { elements }.thenMap("each", maxConcurrent: maxConcurrent, transform)
    return try SeededExecutor(seed: 1).run {
      let run = chain.start()
      var fractions: [Double] = []
      for await event in run.events {
        if case .stepProgress(_, let fraction) = event, fractions.last != fraction { fractions.append(fraction) }
      }
      return fractions
    }
  }

  /// Lets those who observe the run go first, so that no progress is superseded.
  private static let pause: @Sendable () async -> Void = { for _ in 0..<20 { await Task.yield() } }

  // G51
  @Test
  func `Each element is a share of the step's progress`() throws {
    let seen = try fractions(of: Array(1...4)) { number in
      await Self.pause()
      return number
    }
    #expect(seen.allSatisfy { [0.25, 0.5, 0.75, 1].contains($0) })
    #expect(seen.prefix(3) == [0.25, 0.5, 0.75])
  }

  // G51
  @Test
  func `Progress within an element counts for its share of the whole`() throws {
    let seen = try fractions(of: [0, 1], maxConcurrent: 2) { number in
      for fraction in [0.5, 0.25, -1, .nan, 1.0] {
        StepProgress.report(fraction)
        await Self.pause()
      }
      return number
    }
    #expect(seen == seen.sorted())
    // Elements alone would report halves.
    #expect(seen.contains { $0 == 0.25 || $0 == 0.75 }, "\(seen)")
    #expect(seen.allSatisfy { $0 <= 1 })
  }

  @Test
  func `The run's progress follows the elements`() throws {
    let chain = Chain { Array(1...10) }.thenMap("each", maxConcurrent: 3) { number in
      await Self.pause()
      return number
    }
    let seen = try SeededExecutor(seed: 1).run {
      let run = chain.start()
      var seen: [Double] = []
      for await progress in run.progress { seen.append(progress.fractionCompleted) }
      return seen
    }
    #expect(seen == seen.sorted())
    #expect(seen.last == 1)
    #expect(Set(seen).count > 5)
  }

  /// Four numbers, which cannot be counted without an iteration.
  private struct UncountedSequence: Sequence, Sendable {
    func makeIterator() -> some IteratorProtocol<Int> { sequence(first: 1) { $0 < 4 ? $0 + 1 : nil }.makeIterator() }
  }

  @Test
  func `A sequence of unknown length reports progress at its last element`() throws {
    let seen = try fractions(of: UncountedSequence(), maxConcurrent: 2) { number in
      await Self.pause()
      return number
    }
    #expect(seen.allSatisfy { $0 >= 0.75 }, "\(seen)")
    #expect(!seen.isEmpty)
  }

  @Test
  func `A plain run of many elements reports nothing and keeps their order`() async throws {
    let output = try await Chain { Array(0..<1_000) }.thenMap(maxConcurrent: 8) { $0 * 2 }.run()
    #expect(output == (0..<1_000).map { $0 * 2 })
  }
}
