// SPDX-License-Identifier: MIT
// Copyright (c) 2026 Stepwise contributors

import Testing

@testable import LegacyStepwise

/// The pure part of a step that has a handler: which event ends it.
@Suite struct EndingMachineTests {
  @Test
  func `The first call ends the step, and later ones are counted`() {
    var machine = EndingMachine()
    let counts = [machine.call(), machine.call()]
    let ends = [machine.closureReturned(), machine.abandon()]
    #expect(counts == [1, 2] && ends == [false, false])
  }

  @Test
  func `A handler released in its closure ends the step`() {
    var machine = EndingMachine()
    let ends = [machine.abandon(), machine.closureReturned()]
    #expect(ends == [false, true])
  }

  @Test
  func `A step ends once in every order of events`() {
    let events: [(inout EndingMachine) -> Bool] = [
      { $0.call() == 1 }, { $0.closureReturned() }, { $0.abandon() },
    ]
    // The handler cannot be called after its release, and each of the other events comes once.
    for order in [[0, 1, 2], [1, 0, 2], [0, 2, 1], [1, 2], [2, 1], [0, 0, 1, 2], [1, 0, 0, 2], [0, 1, 0, 2]] {
      var machine = EndingMachine()
      let ends = order.filter { events[$0](&machine) }
      #expect(ends.count == 1, "\(order)")
    }
  }
}
