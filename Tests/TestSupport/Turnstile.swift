// SPDX-License-Identifier: MIT
// Copyright (c) 2026 Stepwise contributors

import Stepwise
import StepwiseTesting

/// A place in a step where it stays until the test opens it.
package final class Turnstile: Sendable {
  private let visitors = Watched(0)
  private let opened = Once<Void>()

  package init() {}

  /// Stays until it is opened; throws as soon as the Task is cancelled.
  package nonisolated(nonsending) func pass() async throws {
    visitors.mutate { $0 += 1 }
    guard await opened.value() != nil else { throw CancellationError() }
  }

  /// Stays until it is opened, also in a cancelled Task.
  package nonisolated(nonsending) func passWhateverHappens() async {
    visitors.mutate { $0 += 1 }
    await opened.valueIgnoringCancellation()
  }

  /// Waits until so many have come.
  package nonisolated(nonsending) func visitors(atLeast count: Int) async {
    await visitors.wait { $0 >= count }
  }

  /// How many have come.
  package var visitorCount: Int { visitors.read { $0 } }

  package func open() { opened.settle(()) }
}
