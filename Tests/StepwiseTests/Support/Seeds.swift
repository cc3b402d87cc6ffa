// SPDX-License-Identifier: MIT
// Copyright (c) 2026 Stepwise contributors

/// The seeds of a simulation.
///
/// They are fewer under ThreadSanitizer, which is slow and has nothing to find where one thread does all.
func seeds(_ count: UInt64 = 1_000) -> Range<UInt64> {
  #if TSAN
    0..<count / 20
  #else
    0..<count
  #endif
}
