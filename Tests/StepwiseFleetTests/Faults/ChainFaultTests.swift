// SPDX-License-Identifier: MIT
// Copyright (c) 2026 Stepwise contributors

#if Postgres
  import FleetWorkerChild
  import Foundation
  import Stepwise
  @testable import StepwiseFleet
  import Testing

  @Suite(.serialized, .timeLimit(.minutes(10)), .enabled(if: server != nil, "STEPWISE_POSTGRES names no server"))
  struct ChainFaultTests {
    let test = TestFleet()

    @Test
    func `Each order completes or is undone while workers are killed, stopped and drained`() async throws {
      let fleet = test.fleet()
      // Few attempts: an order that waits, or whose worker drains, loses none.
      let workers = WorkerProcesses(server ?? "", schema: test.schema, lease: 1, slots: 4, attempts: 8)
      let total = Lock(0)
      // A third fail, a third complete, a third are cancelled at some time; half are approved before they wait.
      func enqueue(_ count: Int) async throws {
        let first = total.withLock { total in
          defer { total += count }
          return total
        }
        for number in first..<first + count {
          let order = CrashOrder(journal: workers.journal, rounds: 5_000, fails: number % 3 == 0)
          let options = FleetOptions(keepsStages: false)
          try await fleet.enqueue(CrashOrder.chain, order, id: "\(number)", options: options)
          if number.isMultiple(of: 2) { try await approve(number) }
        }
      }
      func approve(_ number: Int) async throws {
        for _ in 0..<2 {
          do {
            try await fleet.send(number, to: "\(number)", signal: "approval", id: "approval of \(number)")
          } catch FleetError.ended {
            continue
          }
        }
      }
      // What people do while workers die.
      func act(_ next: Range<Int>) async throws {
        for number in next where !number.isMultiple(of: 2) { try await approve(number) }
        for number in next where number % 3 == 2 { try await fleet.cancel("\(number)") }
      }
      try await enqueue(100)
      for _ in 0..<4 { try workers.launch() }
      var (kills, stops, drains, terminations, acted, surplus) = (0, 0, 0, 0, 0, 0)
      var stopped: [Int32] = []
      try await waitUntil("300 workers are killed; there are \(kills)", within: .seconds(540)) {
        let counts = try await fleet.counts()
        let ended = counts.filter(\.key.isFinal).values.reduce(0, +)
        if ended > total.withLock({ $0 }) - 60 { try await enqueue(50) }
        let next = min(acted + Int.random(in: 0...2), total.withLock { $0 })
        try await act(acted..<next)
        acted = next
        guard let victim = try await fleet.busyWorkers().filter(workers.isAlive).randomElement() else { return false }
        if stopped.contains(victim) { return false }
        if kills >= 6 * (stops + 1), stops < 50 {
          // It is woken when others have its orders.
          workers.signal(victim, SIGSTOP)
          stopped.append(victim)
          stops += 1
          try workers.launch()
        } else if kills >= 6 * (drains + 1) - 3, drains < 50 {
          #expect(try await workers.drain(victim) == 0)
          drains += 1
          try workers.launch()
        } else if kills >= 5 * (terminations + 1), terminations < 60 {
          terminations += try await fleet.terminate(1)
        } else if try await workers.kill(victim) {
          kills += 1
          if kills.isMultiple(of: 20) {
            for process in stopped { workers.signal(process, SIGCONT) }
            surplus += stopped.count
            stopped = []
          }
          // Those that were woken are workers again.
          if surplus > 0 { surplus -= 1 } else { try workers.launch() }
        }
        return kills == 300 && stops == 50 && drains == 50
      }
      for process in stopped { workers.signal(process, SIGCONT) }
      let count = total.withLock { $0 }
      try await act(acted..<count)
      try await waitUntil("all orders have ended", within: .seconds(120)) {
        try await fleet.counts().filter(\.key.isFinal).values.reduce(0, +) == count
      }
      await #expect(throws: CrashOrder.Refused()) { try await fleet.result(of: "0", as: CrashOrder.chain) }
      #expect(try await fleet.result(of: "1", as: CrashOrder.chain) != 0)
      #expect(try await fleet.database.run("SELECT count(*) FROM @.entries").first?.integer(0) == 0)
      let states = try await fleet.statuses(of: (0..<count).map { "\($0)" })
      let ledger = try Ledger(workers.journal)
      let violations = states.flatMap { ledger.violations(of: $0) }
      #expect(states.count == count)
      #expect(violations.isEmpty, "\(violations.prefix(5))")
      #expect(ledger.repeats <= (kills + stops + drains + terminations) * 4)
      #expect(states.allSatisfy { $0.error?.contains("worker died") != true })
      print(
        "orders \(count), kills \(kills), stops \(stops), drains \(drains), connections \(terminations), "
          + "repeats \(ledger.repeats)"
      )
    }
  }

  /// What orders did, as their steps and undos wrote it.
  struct Ledger {
    /// The lines of each order: what was done, and the key.
    let lines: [Int: [(action: String, key: String)]]
    /// What began while it was in progress elsewhere, or had been when a worker was killed.
    let overlaps: [String]

    init(_ path: String) throws {
      var lines: [Int: [(action: String, key: String)]] = [:]
      var (inProgress, overlaps): (Set<String>, [String]) = ([], [])
      for line in try String(contentsOfFile: path, encoding: .utf8).split(separator: "\n") {
        let parts = line.split(separator: ".", maxSplits: 1)
        guard parts.count == 2, let id = Int(parts[0]), let space = parts[1].lastIndex(of: " ") else { continue }
        if parts[1].hasPrefix("> ") {
          let action = "\(id).\(parts[1].dropFirst(2))"
          if !inProgress.insert(action).inserted { overlaps.append(action) }
          continue
        }
        inProgress.remove("\(id).\(parts[1][..<space])")
        lines[id, default: []].append((String(parts[1][..<space]), String(parts[1][space...].dropFirst())))
      }
      (self.lines, self.overlaps) = (lines, overlaps)
    }

    /// How often something was done again.
    var repeats: Int {
      lines.values.reduce(0) { sum, lines in sum + lines.count - Set(lines.map(\.action)).count }
    }

    func violations(of status: FleetStatus) -> [String] {
      guard let id = Int(status.id) else { return ["unknown order \(status.id)"] }
      let lines = lines[id] ?? []
      let firsts = lines.map(\.action).reduce(into: [String]()) { if !$0.contains($1) { $0.append($1) } }
      let bodies = ["reserve", "charge", "approve \(id)", "pack", "ship"]
      let undos = { (actions: [String]) in
        actions.filter { ["reserve", "charge", "ship"].contains($0) }.reversed().map { "undo \($0)" }
      }
      let isRight =
        switch (status.state, id % 3) {
        case (.done, 1), (.done, 2): firsts == bodies
        // The last step has failed, and is not undone.
        case (.failed, 0): firsts == bodies + undos(bodies.dropLast())
        case (.cancelled, 2):
          (0...bodies.count).contains { firsts == bodies.prefix($0) + undos(Array(bodies.prefix($0))) }
        default: false
        }
      var violations = isRight ? [] : ["order \(id) is \(status.state) and did \(firsts); \(status.error ?? "")"]
      for action in firsts where Set(lines.filter { $0.action == action }.map(\.key)).count != 1 {
        violations.append("order \(id) has several keys for \(action)")
      }
      return violations
    }
  }

  extension Fleet {
    /// Terminates connections of the server's other clients; returns how many.
    fileprivate func terminate(_ count: Int) async throws -> Int {
      let rows = try await database.run(
        """
        SELECT pg_terminate_backend(pid) FROM (
          SELECT pid FROM pg_stat_activity
          WHERE backend_type = 'client backend' AND query LIKE '%' || $1 || '%' AND pid <> pg_backend_pid()
          ORDER BY random() LIMIT \(count)
        ) AS victims
        """,
        [.text(configuration.schema)]
      )
      return rows.count
    }
  }
#endif
