// SPDX-License-Identifier: MIT
// Copyright (c) 2026 Stepwise contributors

#if os(Linux) || os(macOS)
  #if canImport(FoundationEssentials)
    import FoundationEssentials
  #else
    import Foundation
  #endif

  /// One use of a `CrashHarness`: its directory and its findings.
  struct CrashTrial: Sendable {
    var report = CrashReport()
    var calls: [String] = []
    let directory: String
    private let harness: CrashHarness
    private let isTemporary: Bool

    init(_ harness: CrashHarness, in workspaces: String?) throws {
      self.harness = harness
      isTemporary = workspaces == nil
      directory = try workspaces ?? ChildProcess.makeTemporaryDirectory()
    }

    /// Removes the harness's own directory, unless there are problems to inspect.
    mutating func cleanUp() {
      guard isTemporary else { return }
      if report.problems.isEmpty {
        try? FileManager.default.removeItem(atPath: directory)
      } else {
        report.workspaces = directory
      }
    }

    mutating func undisturbed() throws -> ChildProcess.End {
      let end = try child(try workspace("undisturbed-\(report.runs)-\(UInt32.random(in: 0 ... .max))"), [:])
      guard end.code == 0, !end.isKilled else {
        throw CrashHarnessError(reason: "the undisturbed child \(description(of: end))")
      }
      return end
    }

    mutating func finish(_ workspace: String, _ what: String, _ expected: String) throws {
      let end = try child(workspace, [:])
      check(end, what)
      if end.output != expected { report.problems.append("\(what): the result is \(end.output), not \(expected)") }
      let lines = CrashJournal(workspace: workspace).lines
      report.problems += CrashJournal.problems(in: lines).map { "\(what): \($0)" }
    }

    /// Records a child that did not end correctly.
    mutating func check(_ end: ChildProcess.End, _ what: String) {
      if end.code != 0 { report.problems.append("\(what): the child \(description(of: end))") }
    }

    func description(of end: ChildProcess.End) -> String {
      end.isTimedOut
        ? "did not end within \(harness.timeLimit) and was killed: \(end.output)"
        : "ended with exit code \(end.code): \(end.output)"
    }

    mutating func child(
      _ workspace: String,
      _ environment: [String: String],
      killedAfter delay: Duration? = nil
    ) throws -> ChildProcess.End {
      CrashJournal(workspace: workspace).run()
      let child = try ChildProcess(
        harness.program,
        harness.arguments + [workspace],
        environment: harness.environment.merging(environment) { _, new in new },
        output: workspace + "/output"
      )
      let end = child.wait(killAfter: delay, limit: harness.timeLimit)
      report.runs += 1
      if end.isKilled { report.kills += 1 }
      return end
    }

    func workspace(_ name: String) throws -> String {
      let path = directory + "/" + name
      try ChildProcess.makeDirectory(path)
      return path
    }
  }
#endif
