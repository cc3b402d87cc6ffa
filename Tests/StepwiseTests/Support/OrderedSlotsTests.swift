// SPDX-License-Identifier: MIT
// Copyright (c) 2026 Stepwise contributors

import StepwiseTesting
import Testing

@testable import Stepwise

@Suite(.timeLimit(.minutes(5)))
struct OrderedSlotsTests {
  @Test func `Elements come in the order of arrival`() {
    var slots = OrderedSlots<Int>()
    for number in 0..<5 { _ = slots.append(number) }
    #expect(slots.popFirst() == 0)
    #expect(slots.removeAll() == [1, 2, 3, 4])
    #expect(slots.popFirst() == nil)
    #expect(slots.isEmpty)
  }

  @Test func `The key of a removed element finds nothing`() {
    var slots = OrderedSlots<Int>()
    let gone = slots.append(1)
    #expect(slots.remove(gone) == 1)
    _ = slots.append(2)
    #expect(slots.remove(gone) == nil)
    #expect(slots.elements == [2])
  }

  @Test func `Optional elements are supported`() {
    var slots = OrderedSlots<Int?>()
    let key = slots.append(nil)
    #expect(slots.count == 1)
    #expect(slots.remove(key) == .some(nil))
    #expect(slots.isEmpty)
  }

  @Test func `Every order of events gives what an array gives`() {
    for seed in seeds(3_000) {
      var generator = SeededGenerator(seed: seed)
      var slots = OrderedSlots<Int>()
      var array: [(key: OrderedSlots<Int>.Key, element: Int)] = []
      var keys: [OrderedSlots<Int>.Key] = []
      for element in 0..<Int.random(in: 1...80, using: &generator) {
        switch (Int.random(in: 0..<10, using: &generator), keys.randomElement(using: &generator)) {
        case (0...2, let key?):
          let index = array.firstIndex { $0.key == key }
          #expect(slots.remove(key) == index.map { array[$0].element }, "seed \(seed)")
          if let index { array.remove(at: index) }
        case (3...5, _):
          #expect(slots.popFirst() == array.first?.element, "seed \(seed)")
          array = Array(array.dropFirst())
        case (6, _) where element.isMultiple(of: 7):
          #expect(slots.removeAll() == array.map(\.element), "seed \(seed)")
          array = []
        default:
          let key = slots.append(element)
          array.append((key, element))
          keys.append(key)
        }
        #expect(slots.count == array.count, "seed \(seed)")
        #expect(slots.isEmpty == array.isEmpty, "seed \(seed)")
        #expect(slots.elements == array.map(\.element), "seed \(seed)")
      }
      #expect(Set(keys).count == keys.count, "seed \(seed): a key was used twice")
    }
  }

  @Test func `Memory follows the peak and not the throughput`() {
    var slots = OrderedSlots<Int>()
    _ = slots.append(-1)
    var keys: [OrderedSlots<Int>.Key] = []
    for number in 0..<100_000 {
      keys.append(slots.append(number))
      if keys.count == 10 { for key in keys.drain() { slots.remove(key) } }
    }
    #expect(places(of: slots) == 11)
  }

  @Test func `An emptied long list retains nothing`() {
    var slots = OrderedSlots<Int>()
    for number in 0..<10_000 { _ = slots.append(number) }
    #expect(places(of: slots) == 10_000)
    while slots.popFirst() != nil {}
    #expect(places(of: slots) == 0)
  }

  @Test func `Removed elements are released`() {
    let tracker = LifetimeTracker()
    var slots = OrderedSlots<LifetimeTracker.Tracked>()
    _ = slots.append(tracker.track())
    let second = slots.append(tracker.track())
    slots.remove(second)
    #expect(tracker.alive == 1, "the place of an element that is gone keeps nothing alive")
    _ = slots.popFirst()
    #expect(tracker.alive == 0)
  }

  /// How many places the list has made, taken or free.
  private func places<Element>(of slots: OrderedSlots<Element>) -> Int? {
    Mirror(reflecting: slots).descendant("slots").map { Mirror(reflecting: $0).children.count }
  }
}

extension Array {
  fileprivate mutating func drain() -> Self {
    defer { self = [] }
    return self
  }
}
