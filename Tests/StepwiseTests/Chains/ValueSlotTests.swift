// SPDX-License-Identifier: MIT
// Copyright (c) 2026 Stepwise contributors

import StepwiseTesting
import Testing

@testable import Stepwise

@Suite(.timeLimit(.minutes(5)))
struct ValueSlotTests {
  private struct Large: Equatable {
    var numbers = (1, 2, 3, 4, 5, 6, 7, 8)
    var more = (9, 10, 11, 12)
    var text = "thirteen, and long enough to be kept on the heap"

    static func == (left: Large, right: Large) -> Bool {
      left.numbers.7 == right.numbers.7 && left.more.3 == right.more.3 && left.text == right.text
    }
  }

  @Test func `Values of all sizes come out as they went in`() {
    var slot = ValueSlot()
    slot.put(())
    slot.take(Void.self)
    slot.put(UInt8(7))
    #expect(slot.take() == UInt8(7))
    slot.put("text that is too long to be kept in the string itself")
    #expect(slot.take() == "text that is too long to be kept in the string itself")
    #expect(MemoryLayout<Large>.size > 64)
    slot.put(Large())
    #expect(slot.take() == Large())
    slot.put(true)
    #expect(slot.take() == true)
  }

  /// How much a vector wants differs with the machine: 16 bytes at least, 128 at most.
  @Test func `Over-aligned values are aligned`() {
    let vector = SIMD16<Double>(repeating: 0.5)
    var slot = ValueSlot()
    for _ in 0..<50 {
      slot.put(1)
      #expect(slot.take() == 1)
      slot.put(vector)
      let address = UInt(bitPattern: slot.memory)
      #expect(address.isMultiple(of: UInt(MemoryLayout<SIMD16<Double>>.alignment)))
      #expect(slot.take() == vector)
      slot.put(Large())
      #expect(slot.take() == Large())
    }
  }

  @Test func `Optionals and existentials keep their layers`() {
    var slot = ValueSlot()
    slot.put(Int??.some(nil))
    #expect(slot.take(Int??.self) == Int??.some(nil))
    slot.put(Int?.none)
    #expect(slot.take(Int?.self) == Int?.none)
    slot.put(Fault(3) as any Error)
    #expect(slot.take((any Error).self) as? Fault == Fault(3))
    slot.put(Fault(4) as (any Error)?)
    #expect(slot.take(((any Error)?).self) as? Fault == Fault(4))
    slot.put([1, 2] as any Sendable)
    #expect(slot.take((any Sendable).self) as? [Int] == [1, 2])
  }

  @Test func `A value that is taken is not kept`() {
    let tracker = LifetimeTracker()
    var slot = ValueSlot()
    slot.put(tracker.track())
    do {
      let taken = slot.take(LifetimeTracker.Tracked.self)
      withExtendedLifetime(taken) { #expect(tracker.alive == 1) }
    }
    #expect(tracker.alive == 0)
  }

  @Test func `An unused value is released with the slot`() {
    let tracker = LifetimeTracker()
    do {
      var slot = ValueSlot()
      slot.put(tracker.track())
      #expect(tracker.alive == 1)
    }
    do {
      var slot = ValueSlot()
      slot.put((Large(), SIMD8<Double>(), tracker.track()))
      #expect(tracker.alive == 1)
    }
    #expect(tracker.alive == 0)
  }

  @Test func `A run that ends between steps releases the passed value`() async {
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
