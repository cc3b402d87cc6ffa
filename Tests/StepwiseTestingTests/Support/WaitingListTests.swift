// SPDX-License-Identifier: MIT
// Copyright (c) 2026 Stepwise contributors

import StepwiseTesting
import Testing

@Suite(.timeLimit(.minutes(5)))
struct WaitingListTests {
  @Test func parksInTheOrderOfKeys() {
    var list = WaitingList<Int, String>()
    for key in [3, 1, 2] {
      list.enter(key)
      #expect(list.park(key, "\(key)") == true)
    }
    #expect(list.count == 3)
    #expect(list.first?.key == 1)
    let taken = (0..<4).map { _ in list.removeFirst() }
    #expect(taken == ["1", "2", "3", nil])
    #expect(list.isEmpty)
  }

  @Test func earlyCancellationRefusesTheParking() {
    var list = WaitingList<Int, String>()
    list.enter(1)
    #expect(list.cancel(1) == nil)
    #expect(list.cancel(1) == nil)
    #expect(list.park(1, "a") == false)
    #expect(list.isEmpty)
  }

  @Test func cancellationTakesTheWaiterOut() {
    var list = WaitingList<Int, String>()
    for key in 1...3 {
      list.enter(key)
      #expect(list.park(key, "\(key)") == true)
    }
    #expect(list.cancel(2) == "2")
    #expect(list.cancel(2) == nil)
    #expect(list.removeAll { _ in true } == ["1", "3"])
  }

  @Test func lateCancellationDoesNothingAndIsForgotten() {
    var list = WaitingList<Int, String>()
    list.enter(1)
    #expect(list.park(1, "a") == true)
    #expect(list.removeFirst() == "a")
    #expect(list.cancel(1) == nil)
    #expect(list.isEmpty)
  }

  @Test func parkingWithoutEnteringIsRefused() {
    var list = WaitingList<Int, String>()
    #expect(list.park(1, "a") == false)
    #expect(list.isEmpty)
  }

  @Test func removesThoseThatTheConditionHoldsFor() {
    var list = WaitingList<Int, Int>()
    for key in (0..<6).reversed() {
      list.enter(key)
      #expect(list.park(key, key * 10) == true)
    }
    #expect(list.removeAll { $0.isMultiple(of: 20) } == [0, 20, 40])
    #expect(list.removeAll { _ in false } == [])
    #expect(list.removeAll { _ in true } == [10, 30, 50])
  }

  /// Any order of events hands each waiter out exactly once: parked ones by the list, refused ones by `park`.
  @Test(arguments: 0..<200 as Range<UInt64>)
  func handsEachWaiterOutOnce(seed: UInt64) {
    var dice = SeededGenerator(seed: seed)
    var list = WaitingList<Int, Int>()
    var entering: Set<Int> = []
    var cancelledEarly: Set<Int> = []
    var parked: Set<Int> = []
    var handedOut: [Int] = []
    var entered = 0
    for _ in 0..<200 {
      switch Int.random(in: 0..<5, using: &dice) {
      case 0:
        list.enter(entered)
        entering.insert(entered)
        entered += 1
      case 1:
        guard let key = entering.sorted().randomElement(using: &dice) else { continue }
        entering.remove(key)
        if list.park(key, key) {
          parked.insert(key)
          #expect(!cancelledEarly.contains(key))
        } else {
          #expect(cancelledEarly.contains(key))
          handedOut.append(key)
        }
      case 2:
        guard entered > 0 else { continue }
        let key = Int.random(in: 0..<entered, using: &dice)
        if entering.contains(key) { cancelledEarly.insert(key) }
        let waiter = list.cancel(key)
        #expect(waiter == parked.remove(key))
        handedOut += [waiter].compactMap(\.self)
      case 3:
        let waiter = list.removeFirst()
        #expect(waiter == parked.min())
        if let waiter { parked.remove(waiter) }
        handedOut += [waiter].compactMap(\.self)
      default:
        let taken = list.removeAll { $0.isMultiple(of: 7) }
        #expect(taken == parked.filter { $0.isMultiple(of: 7) }.sorted())
        parked.subtract(taken)
        handedOut += taken
      }
      #expect(list.count == parked.count)
      #expect(list.first?.key == parked.min())
    }
    #expect(Set(handedOut).count == handedOut.count)
    #expect(handedOut.count + parked.count + entering.count == entered)
  }
}
