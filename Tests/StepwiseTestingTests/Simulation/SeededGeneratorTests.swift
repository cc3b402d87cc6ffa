// SPDX-License-Identifier: MIT
// Copyright (c) 2026 Stepwise contributors

import StepwiseTesting
import Testing

@Suite(.timeLimit(.minutes(5)))
struct SeededGeneratorTests {
  /// The published numbers of SplitMix64 for this seed.
  @Test func `The generator gives the numbers of SplitMix64`() {
    var generator = SeededGenerator(seed: 1_234_567)
    let numbers = (0..<5).map { _ in generator.next() }
    #expect(
      numbers == [
        6_457_827_717_110_365_317, 3_203_168_211_198_807_973, 9_817_491_932_198_370_423, 4_593_380_528_125_082_431,
        16_408_922_859_458_223_821,
      ]
    )
  }

  @Test func `A copy is independent`() {
    var generator = SeededGenerator(seed: 1)
    var copy = generator
    #expect(generator.next() == copy.next())
    _ = copy.next()
    #expect(generator.next() != copy.next())
  }

  @Test func `Neighbouring seeds differ`() {
    let first = (0..<1_000 as Range<UInt64>).map { seed in
      var generator = SeededGenerator(seed: seed)
      return generator.next()
    }
    #expect(Set(first).count == first.count)
  }
}
