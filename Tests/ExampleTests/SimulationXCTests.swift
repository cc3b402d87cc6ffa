// SPDX-License-Identifier: MIT
// Copyright (c) 2026 Stepwise contributors

import StepwiseTesting
import XCTest

extension Account {
  func withdraw(_ amount: Int) -> Bool {
    guard balance >= amount else { return false }
    debit(amount)
    return true
  }
}

final class AccountTests: XCTestCase {
  func testNoOrderOverdrawsTheAccount() async throws {
    try await explore(seeds: 0..<1_000) { _ in
      let account = Account()
      async let first = account.withdraw(80)
      async let second = account.withdraw(80)
      let answers = await [first, second]
      try require(answers.count { $0 } == 1, "\(answers)")
    }
  }
}

/// What XCTest does with its main thread must not stop a simulation.
final class SimulationXCTests: XCTestCase {
  func testAFailureNamesTheCallersLine() async throws {
    let line = #line + 2
    do {
      try await explore(seeds: 0..<10) { clock in
        try await clock.sleep(for: .seconds(60))
        try require(await MainActor.run { false }, "not so")
      }
      XCTFail("explore found nothing")
    } catch let failure as SimulationFailure {
      XCTAssertEqual(failure.line, line)
      XCTAssertEqual(failure.seed, 0)
      XCTAssertTrue(failure.description.contains("not so"))
    }
  }
}
