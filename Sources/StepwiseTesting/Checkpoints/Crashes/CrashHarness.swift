// SPDX-License-Identifier: MIT
// Copyright (c) 2026 Stepwise contributors

#if os(Linux) || os(macOS)
  import StepwiseCheckpoints

  /// Kills a child process again and again, and checks whether its checkpoints bring it to the end it comes to undisturbed.
  ///
  /// The child is a program of yours. It receives a directory, its workspace, as its last argument; runs a progression
  /// under a checkpoint in the directory `store` of the workspace; notes its stages in the ``CrashJournal`` of the
  /// workspace; prints the result; and exits with 0. It receives the variables that programs need to find each other, and
  /// those that you give.
  ///
  /// ```swift
  /// let report = try await CrashHarness(program: child).killAtEveryCall()
  /// #expect(report.problems.isEmpty && report.kills > 100)
  /// ```
  public struct CrashHarness: Sendable {
    /// Its own, as it takes one for long.
    private static let threads = IOThreads(limit: 4, patience: 1_000_000_000)

    let program: String
    let arguments: [String]
    let environment: [String: String]
    let timeLimit: Duration
    private let workspaces: String?

    /// Creates a harness; nothing is started.
    ///
    /// - Parameters:
    ///   - program: The path of the child's program.
    ///   - arguments: Its arguments, which the workspace follows.
    ///   - environment: Further variables of the child.
    ///   - timeLimit: How long a child may take. One that takes longer is killed and reported as a problem.
    ///   - workspaces: An empty directory in which the workspaces are made; nil for a temporary one, which is removed
    ///     afterwards unless there are problems. For `killAtEveryCall` its path may have no space and no colon.
    public init(
      program: String,
      arguments: [String] = [],
      environment: [String: String] = [:],
      timeLimit: Duration = .seconds(60),
      workspaces: String? = nil
    ) {
      self.program = program
      self.arguments = arguments
      self.environment = environment
      self.timeLimit = timeLimit
      // The child's calls are known by their paths, as the kernel tells them.
      self.workspaces = workspaces.map(ChildProcess.absolute)
    }

    /// Kills a child at its first call to the file system that concerns its store, another at its second, and so on until
    /// one ends by itself; after each kill a child that is left alone has to come to the undisturbed end.
    ///
    /// It needs a C compiler, which comes with Swift, and works on Linux.
    ///
    /// - Parameter torn: Whether a child that is killed at a write does half of it first.
    /// - Returns: What was found.
    /// - Throws: ``CrashHarnessError`` when no child can be started, or killed in this way, or none made such a call, or the
    ///   undisturbed one does not end in time.
    @concurrent
    public func killAtEveryCall(torn: Bool = false) async throws -> CrashReport {
      try await report { trial in
        let shim = try KillShim(in: trial.directory)
        let expected = try trial.undisturbed().output
        for call in 1... {
          let workspace = try trial.workspace("call-\(torn)-\(call)")
          let kill = shim.environment(call: call, torn: torn, under: workspace + "/store")
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

    /// The calls to the file system that concern the store, in an undisturbed run: the name of each and the path's last
    /// part, as in `fsync store`.
    ///
    /// - Returns: The calls, in their order.
    /// - Throws: ``CrashHarnessError`` when no child can be started, or watched in this way.
    @concurrent
    public func callsUndisturbed() async throws -> [String] {
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

    /// Kills children at random instants: each workspace up to three times, until it was killed so often, or came to its end.
    ///
    /// - Parameters:
    ///   - kills: How many kills there have to be.
    ///   - seed: Decides on the instants, as far as a clock can be told.
    /// - Returns: What was found.
    /// - Throws: ``CrashHarnessError`` when no child can be started, or the undisturbed one does not end in time.
    @concurrent
    public func killAtRandom(kills: Int, seed: UInt64) async throws -> CrashReport {
      try await report { trial in
        var random = SeededGenerator(seed: seed)
        let clock = ContinuousClock()
        let start = clock.now
        let expected = try trial.undisturbed().output
        let lifetime = start.duration(to: clock.now)
        var number = 0
        // A child that is too quick is not killed: there may be more trials than kills, but not without end.
        while trial.report.kills < kills, number < 4 * kills {
          number += 1
          let workspace = try trial.workspace("random-\(number)")
          for _ in 0..<3 {
            let delay = lifetime * Double.random(in: 0..<1, using: &random)
            let end = try trial.child(workspace, [:], killedAfter: delay)
            if end.isTimedOut { trial.check(end, "trial \(number)") }
            guard end.isKilled else { break }
          }
          try trial.finish(workspace, "killed at random, trial \(number)", expected)
        }
      }
    }

    /// Runs a trial on a thread of its own.
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

  /// Why a `CrashHarness` cannot do its work.
  public struct CrashHarnessError: Error, Sendable, CustomStringConvertible {
    /// What is missing.
    public let reason: String

    /// What is missing.
    public var description: String { reason }
  }
#endif
