// SPDX-License-Identifier: MIT
// Copyright (c) 2026 Stepwise contributors

import Stepwise
import StepwiseTesting

/// Where consumers of shared stages wait for one another, each with its first stage.
struct Start: Sendable {
  let count: Int
  private let arrived = Recorder<Void>()

  init(of count: Int) {
    self.count = count
  }

  func arrive() async {
    arrived.record(())
    await arrived.elements(atLeast: count)
  }
}

extension AsyncSequence where Self: Sendable, Element == Scripted {
  /// Takes stages to the end; those who share a start have all joined before one of them asks for more.
  func numbers(
    _ start: Start? = nil,
    _ take: @Sendable (Int) async -> Void = { _ in }
  ) async throws -> [Int] {
    var numbers: [Int] = []
    for try await stage in self {
      numbers.append(stage.number)
      await take(stage.number)
      if numbers.count == 1 { await start?.arrive() }
    }
    return numbers
  }
}
