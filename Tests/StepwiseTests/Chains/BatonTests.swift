// SPDX-License-Identifier: MIT
// Copyright (c) 2026 Stepwise contributors

import StepwiseTesting
import Testing

@testable import Stepwise

@Suite(.timeLimit(.minutes(5)))
struct BatonTests {
  private struct Large: Equatable {
    var numbers = (1, 2, 3, 4, 5, 6, 7, 8)
    var more = (9, 10, 11, 12)
    var text = "thirteen, and long enough to be kept on the heap"

    static func == (left: Large, right: Large) -> Bool {
      left.numbers.7 == right.numbers.7 && left.more.3 == right.more.3 && left.text == right.text
    }
  }

  @Test func valuesOfAllSizesComeOutAsTheyWentIn() {
    var baton = Baton()
    baton.put(())
    baton.take(Void.self)
    baton.put(UInt8(7))
    #expect(baton.take() == UInt8(7))
    baton.put("text that is too long to be kept in the string itself")
    #expect(baton.take() == "text that is too long to be kept in the string itself")
    #expect(MemoryLayout<Large>.size > 64)
    baton.put(Large())
    #expect(baton.take() == Large())
    baton.put(true)
    #expect(baton.take() == true)
  }

  /// How much a vector wants differs with the machine: 16 bytes at least, 128 at most.
  @Test func overAlignedValuesLieWhereTheyMay() {
    let vector = SIMD16<Double>(repeating: 0.5)
    var baton = Baton()
    for _ in 0..<50 {
      baton.put(1)
      #expect(baton.take() == 1)
      baton.put(vector)
      let address = UInt(bitPattern: baton.memory)
      #expect(address.isMultiple(of: UInt(MemoryLayout<SIMD16<Double>>.alignment)))
      #expect(baton.take() == vector)
      baton.put(Large())
      #expect(baton.take() == Large())
    }
  }

  @Test func optionalsAndExistentialsKeepTheirLayers() {
    var baton = Baton()
    baton.put(Int??.some(nil))
    #expect(baton.take(Int??.self) == Int??.some(nil))
    baton.put(Int?.none)
    #expect(baton.take(Int?.self) == Int?.none)
    baton.put(Fault(3) as any Error)
    #expect(baton.take((any Error).self) as? Fault == Fault(3))
    baton.put(Fault(4) as (any Error)?)
    #expect(baton.take(((any Error)?).self) as? Fault == Fault(4))
    baton.put([1, 2] as any Sendable)
    #expect(baton.take((any Sendable).self) as? [Int] == [1, 2])
  }

  @Test func aValueThatIsTakenIsNotKept() {
    let tracker = LifetimeTracker()
    var baton = Baton()
    baton.put(tracker.track())
    do {
      let taken = baton.take(LifetimeTracker.Tracked.self)
      withExtendedLifetime(taken) { #expect(tracker.alive == 1) }
    }
    #expect(tracker.alive == 0)
  }

  @Test func aValueThatNobodyTakesIsReleasedWithTheBaton() {
    let tracker = LifetimeTracker()
    do {
      var baton = Baton()
      baton.put(tracker.track())
      #expect(tracker.alive == 1)
    }
    do {
      var baton = Baton()
      baton.put((Large(), SIMD8<Double>(), tracker.track()))
      #expect(tracker.alive == 1)
    }
    #expect(tracker.alive == 0)
  }

  @Test func aRunThatEndsInBetweenReleasesWhatWasHandedOn() async {
    let tracker = LifetimeTracker()
    let chain = Chain { (_: Int) -> LifetimeTracker.Tracked in
      withUnsafeCurrentTask { $0?.cancel() }
      return tracker.track()
    }
    .then { _ in 1 }
    await Task { _ = await #expect(throws: CancellationError.self) { try await chain.run(0) } }.value
    #expect(tracker.made == 1)
    await tracker.allReleased()
  }
}
