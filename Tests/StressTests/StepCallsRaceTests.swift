// SPDX-License-Identifier: MIT
// Copyright (c) 2026 Stepwise contributors

import Foundation
import Testing

@testable import Stepwise

extension Races {
  /// The last call of `step` in abandoned work, on real threads.
  @Suite struct StepCallsRaceTests {
    private final class Arena: Sendable {
      let calls = InFlightCounter()
      let isClosed = DispatchSemaphore(value: 0)

      init() {
        _ = calls.begin()
        let begun = DispatchSemaphore(value: 0)
        Task {
          begun.signal()
          await calls.close(hasValue: true)
          isClosed.signal()
        }
        begun.wait()
      }
    }

    @Test func `The end of the last call races with abandoning its work`() async {
      await race(
        in: Arena.init,
        { $0.calls.end() },
        { $0.calls.abandon() },
        referee: { arena in
          arena.isClosed.wait(timeout: .now() + 20) == .success ? nil : "what waits for the call never resumes"
        }
      )
    }
  }
}
