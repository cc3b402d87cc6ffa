// SPDX-License-Identifier: MIT
// Copyright (c) 2026 Stepwise contributors

import CommandKit

#if !Postgres
  extension Scene {
    static let fleet = Scene(
      "fleet",
      "share 2,000 imports over PostgreSQL; needs --traits Postgres",
      parameters: ["[worker]"]
    ) { _ in
      Console.writeError("Tour: this scene needs libpq; type: swift run --traits Postgres Tour fleet")
      return .usage
    }
  }
#else
  import Foundation
  import Stepwise
  import StepwiseFleet

  extension Scene {
    static let fleet = Scene(
      "fleet",
      "share 2,000 imports over PostgreSQL, and kill some workers",
      parameters: ["[worker]"],
      details: [
        "STEPWISE_FLEET is the connection string.",
        "While it runs, 'swift run --traits Postgres stepctl fleet watch' shows it; the scene starts the workers.",
      ]
    ) { arguments in
      guard let connection = ProcessInfo.processInfo.environment["STEPWISE_FLEET"], !connection.isEmpty else {
        throw CommandError(
          "STEPWISE_FLEET is not set; give a PostgreSQL's connection string, such as 'host=127.0.0.1 user=postgres'",
          code: .usage
        )
      }
      switch arguments.first {
      case nil:
        return try await FleetShow().run(on: connection) ? .success : .failure
      case "worker":
        let fleet = FleetShow.fleet(connection)
        fleet.register(FleetImport.self, retry: FleetShow.retry)
        try await fleet.work { if case .leaseLost = $0 { Console.writeLine(FleetImport.lostLease) } }
        return .success
      default:
        throw CommandError(
          "wrong arguments; 'swift run --traits Postgres stepctl fleet' operates a fleet",
          code: .usage
        )
      }
    }
  }

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

    /// Returns whether every import is done as it should be.
    func run(on connectionString: String) async throws -> Bool {
      let fleet = Self.fleet(connectionString)
      // What an earlier show has left; jobs that did not end then are run now, too.
      try await fleet.prune(olderThan: .zero, states: [.done, .failed, .cancelled])
      let prefix = UUID().uuidString.prefix(8)
      let ids = (0..<jobCount).map { "\(prefix)-\($0)" }
      try await fleet.enqueue(ids.enumerated().map { (id: $1, progression: FleetImport.read(number: $0)) })
      Console.writeLine(
        "Jobs \(prefix)-0 to \(prefix)-\(jobCount - 1); elsewhere: stepctl fleet show \(prefix)-0 --schema stepwise_tour"
      )
      // What the workers write: each stage that ran, and each lease that was lost.
      let path = FileManager.default.temporaryDirectory.appendingPathComponent("stepwise-\(prefix).journal").path
      _ = FileManager.default.createFile(atPath: path, contents: nil, attributes: [.posixPermissions: 0o600])
      defer { try? FileManager.default.removeItem(atPath: path) }
      let journal = try FileHandle(forWritingTo: URL(fileURLWithPath: path))
      var workers = try (0..<4).map { _ in try launch(connectionString, journal) }
      defer { for worker in workers { worker.terminate() } }
      var (killed, tenths) = (0, -1)
      while true {
        let counts = try await fleet.counts()
        let (done, total) = (counts[.done] ?? 0, counts.values.reduce(0, +))
        if done * 10 / total > tenths {
          tenths = done * 10 / total
          Console.writeLine("\(done) of \(total) done, \(killed) workers killed")
        }
        if counts.keys.allSatisfy(\.isFinal) { break }
        if kills > killed, done > (killed + 1) * total / (kills + 2) {
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
      let lines = try String(contentsOfFile: path, encoding: .utf8).split(separator: "\n")
      return try await check(fleet, ids, lines, killed)
    }

    /// Compares each result with that of an undisturbed run, and counts the stages that ran twice.
    private func check(_ fleet: Fleet, _ ids: [String], _ lines: [Substring], _ killed: Int) async throws -> Bool {
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
      let stages = lines.filter { $0 != FleetImport.lostLease }
      let repeated = stages.count - Set(stages).count
      // A machine with much else to do may renew a lease too late.
      let lost = lines.count - stages.count
      Console.writeLine("\n\(ids.count - wrong) of \(ids.count) imports have the result of an undisturbed run.")
      Console.writeLine(
        "\(killed) workers were killed, \(lost) leases lost; \(repeated) of \(stages.count) stages were repeated."
      )
      return wrong == 0 && repeated <= (killed + lost) * Self.slots
    }

    private func launch(_ connectionString: String, _ journal: FileHandle) throws -> Process {
      let process = Process()
      process.standardOutput = journal
      process.executableURL = program
      process.arguments = ["fleet", "worker"]
      process.environment = ProcessInfo.processInfo.environment.merging(["STEPWISE_FLEET": connectionString]) { $1 }
      try process.run()
      return process
    }
  }

  /// An import of a text that is made up from its number: read, count the words of each part, add them up.
  enum FleetImport: Progression, Codable, Equatable {
    static let partCount = 4

    case read(number: Int)
    case count(number: Int, part: Int, words: Int)
    case done(words: Int)

    func next() async throws -> FleetImport {
      defer { if let id = FleetJob.current?.id { Console.writeLine("\(id) \(self)") } }
      switch self {
      case .read(let number): return .count(number: number, part: 0, words: 0)
      case .count(let number, Self.partCount, let words): return .done(words: words + number % 3)
      case .count(let number, let part, let words):
        let text = (0..<2_000).map { ($0 * (number + part)).isMultiple(of: 7) ? " " : "x" }.joined()
        return .count(number: number, part: part + 1, words: words + text.split(separator: " ").count)
      case .done: return try completed()
      }
    }

    var result: Int? { if case .done(let words) = self { words } else { nil } }

    /// The line for a lease that was lost.
    static let lostLease = "lease lost"
  }
#endif
