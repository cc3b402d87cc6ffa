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
    private let processes = Lock<[Int32: TestProcess]>([:])
    private let arguments: [String]

    init(_ connectionString: String, schema: String, lease: Double, slots: Int, attempts: Int = 1_000) {
      arguments = [connectionString, schema, "\(lease)", "\(slots)", "\(attempts)"]
    }

    deinit {
      for process in processes.withLock({ $0.values }) { process.signal(SIGKILL) }
      try? FileManager.default.removeItem(atPath: journal)
    }

    static var program: String {
      let products =
        Bundle.main.executableURL?.deletingLastPathComponent() ?? URL(fileURLWithPath: ".build-fleet/debug")
      return products.appendingPathComponent("FleetWorkerChild").path
    }

    @discardableResult
    func launch(environment: [String: String] = [:]) throws -> Int32 {
      let process = try TestProcess([Self.program] + arguments, environment: environment)
      processes.withLock { $0[process.identifier] = process }
      return process.identifier
    }

    /// Starts as many workers as have ended.
    func replaceDead() throws {
      let dead = processes.withLock { processes in
        let dead = processes.values.filter { !$0.isRunning }.map(\.identifier)
        for identifier in dead { processes[identifier] = nil }
        return dead
      }
      for _ in dead { try launch() }
    }

    /// Asks a process to drain and returns when it has ended, with its exit code.
    func drain(_ identifier: Int32) async throws -> Int32? {
      let process = processes.withLock { $0.removeValue(forKey: identifier) }
      process?.signal(SIGTERM)
      return try await process?.ended()
    }

    /// Kills a process and returns when it has ended; false when it had ended before.
    @discardableResult
    func kill(_ identifier: Int32) async throws -> Bool {
      guard let process = processes.withLock({ $0.removeValue(forKey: identifier) }) else { return false }
      process.signal(SIGKILL)
      return try await process.ended() == -SIGKILL
    }

    /// Stops or wakes a process.
    func signal(_ identifier: Int32, _ number: Int32) { processes.withLock { $0[identifier] }?.signal(number) }

    func isAlive(_ identifier: Int32) -> Bool { processes.withLock { $0[identifier]?.isRunning == true } }

    func work(last: Int = 6, rounds: Int = 5_000, isPoison: Bool = false) -> CrashWork {
      CrashWork(journal: journal, last: last, rounds: rounds, isPoison: isPoison)
    }

    /// How often each stage ran.
    func executions() throws -> [String: Int] {
      let lines = try String(contentsOfFile: journal, encoding: .utf8).split(separator: "\n").map(String.init)
      return Dictionary(lines.map { ($0, 1) }, uniquingKeysWith: +)
    }
  }

  extension Fleet {
    /// The process numbers of workers that run jobs now.
    func busyWorkers() async throws -> [Int32] {
      try await database.run(
        "SELECT DISTINCT w.name FROM @.workers w JOIN @.jobs j ON j.worker = w.id AND j.state = 'running'"
      ).compactMap { $0.text(0).flatMap { Int32($0) } }
    }
  }
#endif
