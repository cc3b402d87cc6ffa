// SPDX-License-Identifier: MIT
// Copyright (c) 2026 Stepwise contributors

#if os(Linux) || os(macOS)
  import StepwiseCheckpoints

  /// Kills a child process again and again, and looks whether its checkpoints bring it to the end it comes to undisturbed.
  ///
  /// The child is a program of yours. It is given a directory, its workspace, as its last argument; runs a progression
  /// under a checkpoint in the directory `store` of the workspace; notes its stages in the ``CrashJournal`` of the
  /// workspace; prints the result; and exits with 0.
  ///
  /// ```swift
  /// let report = try await CrashHarness(program: child, workspaces: directory).killAtEveryCall()
  /// #expect(report.problems.isEmpty && report.kills > 100)
  /// ```
  public struct CrashHarness: Sendable {
    /// Its own, as it takes one for long.
    private static let threads = IOThreads(limit: 4, patience: 1_000_000_000)

    private let program: String
    private let arguments: [String]
    private let workspaces: String

    /// Makes a harness; nothing is started.
    ///
    /// - Parameters:
    ///   - program: The path of the child's program.
    ///   - arguments: Its arguments, which the workspace follows.
    ///   - workspaces: A directory in which the workspaces are made; it has to be empty.
    public init(program: String, arguments: [String] = [], workspaces: String) {
      self.program = program
      self.arguments = arguments
      // The child's calls are known by their paths, as the kernel tells them.
      self.workspaces = ChildProcess.absolute(workspaces)
    }

    /// Kills a child at its first call to the file system that concerns its store, another at its second, and so on until
    /// one ends by itself; after each kill a child that is left alone has to come to the undisturbed end.
    ///
    /// It needs a C compiler, which comes with Swift, and works on Linux.
    ///
    /// - Parameter torn: Whether a child that is killed at a write does half of it first.
    /// - Returns: What was found.
    /// - Throws: ``CrashHarnessError`` when no child can be started, or killed in this way, or none made such a call.
    @concurrent
    public func killAtEveryCall(torn: Bool = false) async throws -> CrashReport {
      try await Self.threads.run {
        var report = CrashReport()
        let expected = try undisturbed(&report).output
        let shim = try KillShim(in: workspaces)
        for call in 1... {
          let workspace = try workspace("call-\(torn)-\(call)")
          let kill = shim.environment(call: call, torn: torn, under: workspace + "/store")
          let end = try child(workspace, kill, &report)
          guard end.isKilled else {
            report.calls = call - 1
            if call == 1, end.code == 0 {
              throw CrashHarnessError(reason: "the child made no call to the file system under \(workspace)/store")
            }
            if end.code != 0 { report.problems.append("call \(call): exit code \(end.code), \(end.output)") }
            break
          }
          try finish(workspace, "killed at call \(call)", expected, &report)
        }
        return report
      }
    }

    /// The calls to the file system that concern the store, in an undisturbed run: the name of each and the path's last
    /// part, as in `fsync store`.
    ///
    /// - Returns: The calls, in their order.
    /// - Throws: ``CrashHarnessError`` when no child can be started, or watched in this way.
    @concurrent
    public func callsUndisturbed() async throws -> [String] {
      try await Self.threads.run {
        var report = CrashReport()
        let (shim, workspace) = (try KillShim(in: workspaces), try workspace("watched"))
        var environment = shim.environment(call: 0, torn: false, under: workspace + "/store")
        environment["KILL_LOG"] = workspace + "/calls"
        let end = try child(workspace, environment, &report)
        guard end.code == 0 else { throw CrashHarnessError(reason: "the watched child ended with \(end.code)") }
        return ChildProcess.content(of: workspace + "/calls").split(separator: "\n").map { line in
          let name = line.prefix { $0 != " " }
          return name + " " + (line.split(separator: "/").last ?? "")
        }
      }
    }

    /// Kills children at random instants: each workspace up to three times, until it was killed so often, or came to its end.
    ///
    /// - Parameters:
    ///   - kills: How many kills there have to be.
    ///   - seed: Decides on the instants, as far as a clock can be told.
    /// - Returns: What was found.
    /// - Throws: ``CrashHarnessError`` when no child can be started.
    @concurrent
    public func killAtRandom(kills: Int, seed: UInt64) async throws -> CrashReport {
      try await Self.threads.run {
        var report = CrashReport()
        var random = SeededGenerator(seed: seed)
        let clock = ContinuousClock()
        let start = clock.now
        let expected = try undisturbed(&report).output
        let lifetime = start.duration(to: clock.now)
        var trial = 0
        // A child that is too quick is not killed: there may be more trials than kills, but not without end.
        while report.kills < kills, trial < 4 * kills {
          trial += 1
          let workspace = try workspace("random-\(trial)")
          for _ in 0..<3 {
            let delay = lifetime * Double.random(in: 0..<1, using: &random)
            guard try child(workspace, [:], killedAfter: delay, &report).isKilled else { break }
          }
          try finish(workspace, "killed at random, trial \(trial)", expected, &report)
        }
        return report
      }
    }

    private func undisturbed(_ report: inout CrashReport) throws -> ChildProcess.End {
      let end = try child(try workspace("undisturbed-\(report.runs)-\(UInt32.random(in: 0 ... .max))"), [:], &report)
      guard end.code == 0, !end.isKilled else {
        throw CrashHarnessError(reason: "the undisturbed child ended with \(end.code): \(end.output)")
      }
      return end
    }

    private func finish(_ workspace: String, _ what: String, _ expected: String, _ report: inout CrashReport) throws {
      let end = try child(workspace, [:], &report)
      if end.code != 0 || end.isKilled { report.problems.append("\(what): exit code \(end.code), \(end.output)") }
      if end.output != expected { report.problems.append("\(what): the result is \(end.output), not \(expected)") }
      let lines = CrashJournal(workspace: workspace).lines
      report.problems += CrashJournal.problems(in: lines).map { "\(what): \($0)" }
    }

    private func child(
      _ workspace: String,
      _ environment: [String: String],
      killedAfter delay: Duration? = nil,
      _ report: inout CrashReport
    ) throws -> ChildProcess.End {
      CrashJournal(workspace: workspace).run()
      let child = try ChildProcess(
        program,
        arguments + [workspace],
        environment: environment,
        output: workspace + "/output"
      )
      let end = child.wait(killAfter: delay)
      report.runs += 1
      if end.isKilled { report.kills += 1 }
      return end
    }

    private func workspace(_ name: String) throws -> String {
      let path = workspaces + "/" + name
      try ChildProcess.makeDirectory(path)
      return path
    }
  }

  /// Why a `CrashHarness` cannot do its work.
  public struct CrashHarnessError: Error, Sendable, CustomStringConvertible {
    /// What is missing.
    public let reason: String

    /// What is missing.
    public var description: String { reason }
  }
#endif
