// SPDX-License-Identifier: MIT
// Copyright (c) 2026 Stepwise contributors

/// A random number generator that gives the same numbers for the same seed.
///
/// It is SplitMix64: G. Steele, D. Lea, C. Flood, "Fast Splittable Pseudorandom Number Generators", OOPSLA 2014, with
/// the constants of S. Vigna's `splitmix64.c` (public domain, https://prng.di.unimi.it/splitmix64.c). Every seed is a
/// good one, and neighbouring seeds give unrelated numbers. It is not for secrets.
public struct SeededGenerator: RandomNumberGenerator, Sendable {
  private var state: UInt64

  /// Makes the generator of a seed.
  public init(seed: UInt64) {
    state = seed
  }

  /// Returns the next number, any of all 2^64 with equal chance.
  public mutating func next() -> UInt64 {
    state &+= 0x9E37_79B9_7F4A_7C15
    var mixed = state
    mixed = (mixed ^ (mixed >> 30)) &* 0xBF58_476D_1CE4_E5B9
    mixed = (mixed ^ (mixed >> 27)) &* 0x94D0_49BB_1331_11EB
    return mixed ^ (mixed >> 31)
  }
}
