// SPDX-License-Identifier: MIT
// Copyright (c) 2026 Stepwise contributors

#if Postgres
  import Stepwise
  @testable import StepwiseFleet

  /// Waits until a condition holds; throws what it waited for when that takes too long.
  func waitUntil(
    _ what: @autoclosure () -> String,
    within limit: Duration = .seconds(120),
    _ holds: () async throws -> Bool
  ) async throws {
    let deadline = ContinuousClock.now + limit
    while try await !holds() {
      guard ContinuousClock.now < deadline else { throw Failure(text: "waited \(limit) in vain: \(what())") }
      // Safety: a pause between two looks at what other processes do; its length matters to no result.
      try await Task.sleep(for: .milliseconds(20))
    }
  }

  extension Once {
    /// Waits for the value; throws what it waited for when that takes too long.
    func value(of what: String, within limit: Duration = .seconds(120)) async throws -> Value {
      let value = await withTaskGroup { group in
        group.addTask { await self.value() }
        group.addTask { () -> Value? in
          // Safety: a limit for what comes sooner unless something hangs.
          try? await Task.sleep(for: limit)
          return nil
        }
        defer { group.cancelAll() }
        return await group.next() ?? nil
      }
      guard let value else { throw Failure(text: "waited \(limit) in vain: \(what)") }
      return value
    }
  }

  extension Fleet {
    /// Waits until so many jobs are done.
    func waitUntilDone(_ count: Int, within limit: Duration = .seconds(120)) async throws {
      var counts: [FleetState: Int] = [:]
      try await waitUntil("\(count) jobs are done; there are \(counts)", within: limit) {
        counts = try await self.counts()
        return counts[.done] ?? 0 >= count
      }
    }

    /// Waits until a job is in a state; polls, as that is what a user can do.
    func waitForState(_ state: FleetState, of id: String) async throws {
      var found: FleetState?
      try await waitUntil("job \(id) is \(state); it is \(found.map { "\($0)" } ?? "unknown")") {
        found = try await status(of: id)?.state
        return found == state
      }
    }
  }
#endif
