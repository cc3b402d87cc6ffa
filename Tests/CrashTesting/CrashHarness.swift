// SPDX-License-Identifier: MIT
// Copyright (c) 2026 Stepwise contributors

#if os(Linux) || os(macOS)
  import StepwiseCheckpoints
  import StepwiseTesting

  #if canImport(FoundationEssentials)
    import FoundationEssentials
  #else
    import Foundation
  #endif

  /// Kills a child process repeatedly, and checks that its checkpoints lead to the same result as without a kill.
  ///
  /// The child is a program that you write. It receives a directory, its workspace, as its last argument. It runs a
  /// progression under a checkpoint in the directory `store` of the workspace, records its stages in the
  /// ``CrashJournal`` of the workspace, prints the result, and exits with 0. It receives the variables that programs
  /// need to find each other, and those that you pass.
  ///
  /// ```swift
  /// let report = try await CrashHarness(program: child).killAtEveryCall()
  /// #expect(report.problems.isEmpty && report.kills > 100)
  /// ```
  package struct CrashHarness: Sendable {
    /// Separate threads, because a child occupies one for a long time.
    private static let threads = IOThreads(limit: 4, patience: 1_000_000_000)

    let program: String
    let arguments: [String]
    let environment: [String: String]
    let timeLimit: Duration
    private let workspaces: String?
    /// Returns the problems of a workspace whose last child has completed; nil for progressions.
    let problems: (@Sendable (_ workspace: String, _ output: String) -> [String])?

    /// Creates a harness without starting a process.
    ///
    /// - Parameters:
    ///   - program: The path of the child's program.
    ///   - arguments: Its arguments, followed by the workspace.
    ///   - environment: Additional variables of the child.
    ///   - timeLimit: The time limit for a child. One that exceeds it is killed and reported as a problem.
    ///   - workspaces: An empty directory for the workspaces; nil for a temporary one, which is removed afterwards
    ///     unless there are problems. For `killAtEveryCall` its path must not contain spaces or colons.
    ///   - problems: Returns the problems of a workspace, instead of the comparison with an uninterrupted child and of
    ///     the check of the journal; receives the output of the last child.
    package init(
      program: String,
      arguments: [String] = [],
      environment: [String: String] = [:],
      timeLimit: Duration = .seconds(60),
      workspaces: String? = nil,
      problems: (@Sendable (_ workspace: String, _ output: String) -> [String])? = nil
    ) {
      self.problems = problems
      self.program = program
      self.arguments = arguments
      self.environment = environment
      self.timeLimit = timeLimit
      // Calls of the child are matched by the paths that the kernel reports.
      self.workspaces = workspaces.map(ChildProcess.absolute)
    }

    /// Kills a child at its first call to the file system that concerns its store, another one at its second call, and
    /// so on, until one completes.
    ///
    /// After each kill, a child that is not killed has to produce the same result as an uninterrupted one.
    ///
    /// This requires Linux and a C compiler, which is part of the Swift toolchain.
    ///
    /// - Parameters:
    ///   - torn: Whether a child that is killed at a write performs half of it first.
    ///   - folder: The folder of the workspace whose files count.
    /// - Returns: The findings.
    /// - Throws: ``CrashHarnessError`` when no child can be started, or killed in this way, or none made such a call,
    ///   or the uninterrupted one exceeds the time limit.
    @concurrent
    package func killAtEveryCall(torn: Bool = false, under folder: String = "/store") async throws -> CrashReport {
      try await report { trial in
        let shim = try KillShim(in: trial.directory)
        let expected = try trial.undisturbed().output
        for call in 1... {
          let workspace = try trial.workspace("call-\(torn)-\(call)")
          let kill = shim.environment(call: call, torn: torn, under: workspace + folder)
          let end = try trial.child(workspace, kill)
          guard end.isKilled else {
            trial.report.calls = call - 1
            if call == 1, end.code == 0 {
              throw CrashHarnessError(reason: "the child made no call to the file system under \(workspace)/store")
            }
            trial.check(end, "call \(call)")
            break
          }
          try trial.finish(workspace, "killed at call \(call)", expected)
        }
      }
    }

    /// Returns the calls to the file system that concern the store, in an uninterrupted run: each with its name and the
    /// last component of the path, as in `fsync store`.
    ///
    /// - Returns: The calls, in order.
    /// - Throws: ``CrashHarnessError`` when no child can be started, or observed in this way.
    @concurrent
    package func callsUndisturbed() async throws -> [String] {
      var calls: [String] = []
      _ = try await report { trial in
        let (shim, workspace) = (try KillShim(in: trial.directory), try trial.workspace("watched"))
        var environment = shim.environment(call: 0, torn: false, under: workspace + "/store")
        environment["KILL_LOG"] = workspace + "/calls"
        let end = try trial.child(workspace, environment)
        guard end.code == 0 else { throw CrashHarnessError(reason: "the watched child \(trial.description(of: end))") }
        trial.calls = ChildProcess.content(of: workspace + "/calls").split(separator: "\n").map { line in
          let name = line.prefix { $0 != " " }
          return name + " " + (line.split(separator: "/").last ?? "")
        }
      } then: { trial in
        calls = trial.calls
      }
      return calls
    }

    /// Kills children at random instants: each workspace up to three times, or until its child completes.
    ///
    /// - Parameters:
    ///   - kills: The required number of kills.
    ///   - seed: The seed for the instants, as far as a clock is deterministic.
    /// - Returns: The findings.
    /// - Throws: ``CrashHarnessError`` when no child can be started, or the uninterrupted one exceeds the time limit.
    @concurrent
    package func killAtRandom(kills: Int, seed: UInt64) async throws -> CrashReport {
      try await report { trial in
        var random = SeededGenerator(seed: seed)
        let clock = ContinuousClock()
        let start = clock.now
        let expected = try trial.undisturbed().output
        var lifetime = start.duration(to: clock.now)
        var number = 0
        while trial.report.kills < kills {
          number += 1
          let workspace = try trial.workspace("random-\(number)")
          for attempt in 0..<3 {
            let delay = lifetime * Double.random(in: 0..<1, using: &random)
            let start = clock.now
            let end = try trial.child(workspace, [:], killedAfter: delay)
            if end.isTimedOut { trial.check(end, "trial \(number)") }
            guard end.isKilled else {
              // The machine may have less to do than before.
              if attempt == 0 { lifetime = start.duration(to: clock.now) }
              break
            }
          }
          try trial.finish(workspace, "killed at random, trial \(number)", expected)
        }
      }
    }

    /// Runs a trial on a separate thread.
    private func report(
      _ body: @escaping @Sendable (inout CrashTrial) throws -> Void,
      then: (CrashTrial) -> Void = { _ in }
    ) async throws -> CrashReport {
      let trial = try await Self.threads.run {
        var trial = try CrashTrial(self, in: workspaces)
        do {
          try body(&trial)
        } catch {
          trial.cleanUp()
          throw error
        }
        trial.cleanUp()
        return trial
      }
      then(trial)
      return trial.report
    }
  }

  /// An error that prevents a `CrashHarness` from working.
  package struct CrashHarnessError: Error, Sendable, CustomStringConvertible {
    /// What is missing.
    package let reason: String

    /// What is missing.
    package var description: String { reason }
  }

  /// The findings of a `CrashHarness`.
  package struct CrashReport: Sendable {
    /// The number of children that were killed by SIGKILL, as observed by their parent.
    package internal(set) var kills = 0

    /// The number of calls to the file system at which a child could be killed; 0 for kills at random instants.
    package internal(set) var calls = 0

    /// How many children were started.
    package internal(set) var runs = 0

    /// The directory of the workspaces that the harness made and kept, because there are problems; nil otherwise.
    package internal(set) var workspaces: String?

    /// What was repeated, lost, damaged, or different from the undisturbed run.
    ///
    /// Empty when all is well.
    package internal(set) var problems: [String] = []
  }

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
      if let problems = harness.problems {
        report.problems += problems(workspace, end.output).map { "\(what): \($0)" }
        return
      }
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
