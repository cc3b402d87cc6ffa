// SPDX-License-Identifier: MIT
// Copyright (c) 2026 Stepwise contributors

import Foundation

/// The seeds of a simulation: so many, or `STEPWISE_ROUNDS` if that is more.
///
/// They are fewer under ThreadSanitizer, which is slow and has nothing to find where one thread does all.
package func seeds(_ count: UInt64 = 1_000) -> Range<UInt64> {
  #if TSAN
    0..<count / 20
  #else
    0..<max(count, rounds)
  #endif
}

/// A number for the tests whose work grows with it: a debug build, which is slow, shows the same with a fifth.
package func scaled(_ count: Int) -> Int {
  _isDebugAssertConfiguration() ? count / 5 : count
}

private let rounds = ProcessInfo.processInfo.environment["STEPWISE_ROUNDS"].flatMap(UInt64.init) ?? 0
