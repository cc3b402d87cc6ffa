// SPDX-License-Identifier: MIT
// Copyright (c) 2026 Stepwise contributors

#if Postgres
  import Foundation
  import Stepwise
  import StepwiseFleet

  /// Runs imports in four worker processes, and kills the workers at random.
  struct FleetShow: Sendable {
    static let slots = 4
    static let retry = RetryPolicy(maxAttempts: 100, backoff: .none)

    var jobCount = 2_000
    var kills = 12
    /// The program that the workers run: this one.
    var program = Bundle.main.executableURL

    static func fleet(_ connectionString: String) -> Fleet {
      Fleet(
        connectionString,
        configuration: FleetConfiguration(
          schema: "stepwise_tour",
          slots: slots,
          leaseDuration: .seconds(1),
          pollInterval: .milliseconds(100),
          maxConnections: 2,
          workerName: "\(ProcessInfo.processInfo.processIdentifier)"
        )
      )
    }

    /// Returns whether every import is done as it should be, on a given server or on a private one.
    func run(on connectionString: String?) async throws -> Bool {
      let token = CancellationToken()
      Interrupts.onInterrupt { token.cancel(reason: "Ctrl-C") }
      if let connectionString { return try await run(on: connectionString, until: token) }
      let server = try PrivatePostgres()
      defer { server.stop() }
      Console.writeLine("A private PostgreSQL runs: STEPWISE_FLEET='\(server.connectionString)'")
      return try await run(on: server.connectionString, until: token)
    }

    private func run(on connectionString: String, until token: CancellationToken) async throws -> Bool {
      let fleet = Self.fleet(connectionString)
      // What an earlier show has left; jobs that did not end then are run now, too.
      try await fleet.prune(olderThan: .zero, states: [.done, .failed, .cancelled])
      let prefix = UUID().uuidString.prefix(8)
      let ids = (0..<jobCount).map { "\(prefix)-\($0)" }
      try await fleet.enqueue(ids.enumerated().map { (id: $1, progression: FleetImport.read(number: $0)) })
      Console.writeLine("Jobs \(prefix)-0 to \(prefix)-\(jobCount - 1); elsewhere: Tour fleet status \(prefix)-0")
      let path = FileManager.default.temporaryDirectory.appendingPathComponent("stepwise-\(prefix).journal").path
      defer { try? FileManager.default.removeItem(atPath: path) }
      var workers = try (0..<4).map { _ in try launch(connectionString, path) }
      defer { for worker in workers { worker.terminate() } }
      let board = FleetBoard()
      var (journal, killed) = (FleetJournal(path: path), 0)
      while !token.isCancelled {
        let counts = try await fleet.counts()
        let (done, total) = (counts[.done] ?? 0, counts.values.reduce(0, +))
        try await board.show(counts, fleet.workers(), journal.stages(), killed: killed)
        if counts.keys.allSatisfy(\.isFinal) { break }
        if kills > killed, done > (killed + 1) * total / (kills + 2) {
          let index = Int.random(in: workers.indices)
          kill(workers[index].processIdentifier, SIGKILL)
          workers[index].waitUntilExit()
          workers[index] = try launch(connectionString, path)
          killed += 1
        }
        try await Task.sleep(for: .milliseconds(50))
      }
      for worker in workers { worker.terminate() }
      for worker in workers { worker.waitUntilExit() }
      guard !token.isCancelled else { return false }
      return try await check(fleet, ids, journal.lines(), killed)
    }

    /// Compares each result with that of an undisturbed run, and counts the stages that ran twice.
    private func check(_ fleet: Fleet, _ ids: [String], _ lines: [String], _ killed: Int) async throws -> Bool {
      var wrong = 0
      for (number, id) in ids.enumerated() {
        let expected = try await FleetImport.read(number: number).run()
        do {
          if try await fleet.result(of: id, as: FleetImport.self) != expected { wrong += 1 }
        } catch let error as FleetError {
          Console.writeLine("\(error)")
          wrong += 1
        }
      }
      let repeated = lines.count - Set(lines).count
      Console.writeLine("\n\(ids.count - wrong) of \(ids.count) imports have the result of an undisturbed run.")
      Console.writeLine("\(killed) workers were killed; \(repeated) of \(lines.count) stages were repeated.")
      return wrong == 0 && repeated <= killed * Self.slots
    }

    private func launch(_ connectionString: String, _ journal: String) throws -> Process {
      let process = Process()
      process.executableURL = program
      process.arguments = ["fleet", "worker", journal]
      process.environment = ProcessInfo.processInfo.environment.merging(["STEPWISE_FLEET": connectionString]) { $1 }
      try process.run()
      return process
    }
  }
#endif
