// SPDX-License-Identifier: MIT
// Copyright (c) 2026 Stepwise contributors

#if Postgres
  import Foundation
  import Stepwise
  import StepwiseFleet

  /// Runs 2,000 imports in four worker processes, and kills the workers at random.
  struct FleetShow: Sendable {
    static let jobCount = 2_000
    static let kills = 12
    static let slots = 4
    static let retry = RetryPolicy(maxAttempts: 100, backoff: .none)

    private let given: String?

    init(_ connectionString: String?) { given = connectionString }

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

    /// Returns whether every import is done as it should be.
    func run() async throws -> Bool {
      guard let given else {
        let server = try PrivatePostgres()
        defer { server.stop() }
        Console.writeLine("A private PostgreSQL runs: STEPWISE_FLEET='\(server.connectionString)'")
        return try await run(on: server.connectionString)
      }
      return try await run(on: given)
    }

    private func run(on connectionString: String) async throws -> Bool {
      let fleet = Self.fleet(connectionString)
      let prefix = UUID().uuidString.prefix(8)
      let ids = (0..<Self.jobCount).map { "\(prefix)-\($0)" }
      try await fleet.enqueue(ids.enumerated().map { (id: $1, progression: FleetImport.read(number: $0)) })
      let journal = FileManager.default.temporaryDirectory.appendingPathComponent("stepwise-\(prefix).journal").path
      defer { try? FileManager.default.removeItem(atPath: journal) }
      var workers = try (0..<4).map { _ in try launch(connectionString, journal) }
      defer { for worker in workers { worker.terminate() } }
      var killed = 0
      while true {
        let counts = try await fleet.counts()
        let done = counts[.done] ?? 0
        draw(counts, workers.map(\.processIdentifier), killed)
        if done >= Self.jobCount || (counts[.failed] ?? 0) + (counts[.cancelled] ?? 0) > 0 && done == 0 { break }
        if FleetState.all.allSatisfy({ $0.isFinal || (counts[$0] ?? 0) == 0 }) { break }
        if Self.kills > killed, done > (killed + 1) * Self.jobCount / (Self.kills + 2) {
          let index = Int.random(in: workers.indices)
          kill(workers[index].processIdentifier, SIGKILL)
          workers[index].waitUntilExit()
          workers[index] = try launch(connectionString, journal)
          killed += 1
        }
        try await Task.sleep(for: .milliseconds(50))
      }
      for worker in workers { worker.terminate() }
      for worker in workers { worker.waitUntilExit() }
      return try await check(fleet, ids, journal, killed)
    }

    /// Compares each result with that of an undisturbed run, and counts the stages that ran twice.
    private func check(_ fleet: Fleet, _ ids: [String], _ journal: String, _ killed: Int) async throws -> Bool {
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
      let lines = try String(contentsOfFile: journal, encoding: .utf8).split(separator: "\n")
      let repeated = lines.count - Set(lines).count
      Console.writeLine("\n\(ids.count - wrong) of \(ids.count) imports have the result of an undisturbed run.")
      Console.writeLine("\(killed) workers were killed; \(repeated) of \(lines.count) stages were repeated.")
      return wrong == 0 && repeated <= killed * Self.slots
    }

    private func launch(_ connectionString: String, _ journal: String) throws -> Process {
      let process = Process()
      process.executableURL = Bundle.main.executableURL
      process.arguments = ["fleet", "worker", journal]
      process.environment = ProcessInfo.processInfo.environment.merging(["STEPWISE_FLEET": connectionString]) { $1 }
      try process.run()
      return process
    }

    private func draw(_ counts: [FleetState: Int], _ workers: [Int32], _ killed: Int) {
      let states = FleetState.all.filter { (counts[$0] ?? 0) > 0 }.map { "\($0) \(counts[$0] ?? 0)" }
      let line =
        states.joined(separator: "  ")
        + "  |  workers \(workers.map(String.init).joined(separator: " "))  killed \(killed)"
      if Console.isTerminal(.output) {
        Console.write("\r\u{1B}[2K" + line, to: .output)
      } else {
        Console.writeLine(line)
      }
    }

    /// What people on call type.
    static func control(_ command: String, _ id: String, _ fleet: Fleet) async throws -> ExitCode {
      switch command {
      case "cancel":
        guard try await fleet.cancel(id, reason: "cancelled by hand") else { throw FleetError.notFound(id: id) }
      case "retry":
        guard try await fleet.requeue(id) else { throw FleetError.notFound(id: id) }
      default: break
      }
      guard let status = try await fleet.status(of: id) else { throw FleetError.notFound(id: id) }
      let worker = status.worker.map { ", worker \($0)" } ?? ""
      let error = status.error.map { ", last error: \($0)" } ?? ""
      let cancelling = status.isCancellationRequested && !status.state.isFinal ? ", cancellation requested" : ""
      Console.writeLine(
        "\(status.id): \(status.state), stage \(status.stageCount), attempt \(status.attempt)\(worker)\(cancelling)\(error)"
      )
      return .success
    }
  }
#endif
