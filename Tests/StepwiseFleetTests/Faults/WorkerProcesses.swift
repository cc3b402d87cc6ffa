// SPDX-License-Identifier: MIT
// Copyright (c) 2026 Stepwise contributors

#if Postgres
  import Foundation
  import FleetWorkerChild
  import Stepwise
  @testable import StepwiseFleet

  /// Worker processes, and the journal in which their stages write.
  final class WorkerProcesses: Sendable {
    let journal = NSTemporaryDirectory() + "stepwise-journal-\(UUID().uuidString)"
    private let processes = Lock<[Process]>([])
    private let arguments: [String]

    init(_ connectionString: String, schema: String, lease: Double, slots: Int) {
      arguments = [connectionString, schema, "\(lease)", "\(slots)"]
    }

    deinit {
      for process in processes.withLock({ $0 }) where process.isRunning {
        Foundation.kill(process.processIdentifier, SIGKILL)
        process.waitUntilExit()
      }
      try? FileManager.default.removeItem(atPath: journal)
    }

    @discardableResult
    func launch(environment: [String: String] = [:]) throws -> Int32 {
      let process = Process()
      let products =
        Bundle.main.executableURL?.deletingLastPathComponent() ?? URL(fileURLWithPath: ".build-fleet/debug")
      process.executableURL = products.appendingPathComponent("FleetWorkerChild")
      process.arguments = arguments
      process.environment = ProcessInfo.processInfo.environment.merging(environment) { $1 }
      process.standardInput = Pipe()
      try process.run()
      processes.withLock { $0.append(process) }
      return process.processIdentifier
    }

    /// Kills a process and returns when it has ended; false when it had ended before.
    @discardableResult
    func kill(_ identifier: Int32) -> Bool {
      let process = processes.withLock { processes in
        processes.firstIndex { $0.processIdentifier == identifier }.map { processes.remove(at: $0) }
      }
      guard let process else { return false }
      Foundation.kill(identifier, SIGKILL)
      process.waitUntilExit()
      return true
    }

    /// Stops or wakes a process.
    func signal(_ identifier: Int32, _ number: Int32) { Foundation.kill(identifier, number) }

    func isAlive(_ identifier: Int32) -> Bool {
      processes.withLock { $0.contains { $0.processIdentifier == identifier } }
    }

    func work(last: Int = 6, rounds: Int = 5_000) -> CrashWork {
      CrashWork(journal: journal, last: last, rounds: rounds)
    }

    /// How often each stage ran.
    func executions() throws -> [String: Int] {
      let lines = try String(contentsOfFile: journal, encoding: .utf8).split(separator: "\n").map(String.init)
      return Dictionary(lines.map { ($0, 1) }, uniquingKeysWith: +)
    }
  }

  extension Fleet {
    /// Lets a little time pass on the server.
    func pause() async throws { try await database.run("SELECT pg_sleep(0.02)") }

    /// The process numbers of workers that run jobs now.
    func busyWorkers() async throws -> [Int32] {
      try await database.run(
        "SELECT DISTINCT w.name FROM @.workers w JOIN @.jobs j ON j.worker = w.id AND j.state = 'running'"
      ).compactMap { $0.text(0).flatMap { Int32($0) } }
    }

    /// Waits until so many jobs are done.
    func waitUntilDone(_ count: Int) async throws {
      while try await counts()[.done] ?? 0 < count { try await pause() }
    }
  }
#endif
