// SPDX-License-Identifier: MIT
// Copyright (c) 2026 Stepwise contributors

import StepwiseTesting
import Testing

@testable import Stepwise

@Suite(.timeLimit(.minutes(5)))
struct RankedSlotsTests {
  @Test("The highest rank comes first, and equal ranks in order of arrival")
  func theHighestRankComesFirstAndWithinItTheOrderOfArrival() {
    var slots = RankedSlots<String>()
    let elements = [("a", 1), ("b", 3), ("c", 1), ("d", 2), ("e", 3), ("f", -1)]
    for (name, rank) in elements { _ = slots.append(name, rank: rank) }
    #expect(slots.count == 6)
    #expect(slots.removeAll() == ["b", "e", "d", "a", "c", "f"])
    #expect(slots.isEmpty)
  }

  @Test func aKeyOfAnElementThatIsGoneRemovesNothing() {
    var slots = RankedSlots<String>()
    let key = slots.append("a", rank: 1)
    #expect(slots.popFirst() == "a")
    _ = slots.append("b", rank: 1)
    #expect(slots.remove(key) == nil)
    #expect(slots.count == 1)
  }

  @Test func everyOrderOfEventsGivesWhatASortedArrayGives() {
    for seed in seeds(2_000) {
      var generator = SeededGenerator(seed: seed)
      var slots = RankedSlots<Int>()
      var reference: [(element: Int, rank: Int, key: RankedSlots<Int>.Key)] = []
      for element in 0..<Int.random(in: 1...60, using: &generator) {
        switch Int.random(in: 0..<6, using: &generator) {
        case 0:
          let highest = reference.map(\.rank).max()
          let index = reference.firstIndex { $0.rank == highest }
          let expected = index.map { reference.remove(at: $0).element }
          #expect(slots.popFirst() == expected, "seed \(seed)")
        case 1:
          guard let index = reference.indices.randomElement(using: &generator) else { continue }
          let gone = reference.remove(at: index)
          let removed = [slots.remove(gone.key), slots.remove(gone.key)]
          #expect(removed == [gone.element, nil], "seed \(seed)")
        default:
          let rank = Int.random(in: 0..<4, using: &generator)
          reference.append((element, rank, slots.append(element, rank: rank)))
        }
        #expect(slots.count == reference.count, "seed \(seed)")
      }
      let rest = (0..<4).reversed().flatMap { rank in reference.filter { $0.rank == rank }.map(\.element) }
      #expect(slots.removeAll() == rest, "seed \(seed)")
    }
  }
}
