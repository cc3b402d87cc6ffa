// SPDX-License-Identifier: MIT
// Copyright (c) 2026 Stepwise contributors

#if Postgres
  import CommandKit
  import Foundation
  import StepwiseFleet

  /// The commands that change jobs by id or by filter.
  extension FleetCommand {
    static let filter: [ToolCommand.Option] = [
      ("--state <states>", "only these, such as failed,cancelled"),
      ("--name <name>", "only those of this progression or chain"),
      ("--key <key>", "only those with this key"),
      ("--tag <tag>", "only those with this tag"),
      ("--error <text>", "only those with this in the error; numbers match any"),
      ("--search <text>", "only those whose id, key or error contains it"),
      ("--older-than <age>", "only those that ended, or were added, 30m, 12h, 7d ago"),
    ]

    static let bulk: [ToolCommand.Option] =
      filter + [("--all", "permit a filter that matches every job"), ("--dry-run", "count the jobs, and change none")]

    /// Changes the jobs that the words name, or those that the options match.
    func change(_ change: FleetChange, _ single: (Fleet, String) async throws -> Bool) async throws {
      let hasFilter = Self.bulk.contains { arguments.has(String($0.usage.split(separator: " ")[0].dropFirst(2))) }
      if arguments.words.isEmpty { return try await apply(change) }
      guard !hasFilter else {
        throw CommandError("name the jobs, or pass a filter, to which --all and --dry-run belong", code: .usage)
      }
      var (records, code) = ([Record](), ExitCode.success)
      for id in arguments.words {
        // What refuses it is the state of before.
        let refusal = try await fleet.status(of: id).map { change.refusal(of: $0) }
        let isDone = try await single(fleet, id)
        let status = try await fleet.status(of: id)
        let state = status.map { $0.isCancelling ? "cancelling" : "\($0.state)" }
        let problem = isDone ? nil : refusal.map { $0 ?? "it has changed since" } ?? "\(FleetError.notFound(id: id))"
        if !isDone { code = status == nil && code != .failure ? .notFound : .failure }
        records.append([("id", .string(id)), ("state", .string(state)), ("problem", .string(problem))])
      }
      output.show(Table(records, ["id", "state", "problem"], else: "").lines, .list(records))
      if code != .success { throw CommandError("not every job was changed", code: code) }
    }

    /// Changes the jobs that the options match.
    func apply(_ change: FleetChange, states: Set<FleetState> = []) async throws {
      var filter = try FleetFilter(arguments.options)
      if filter.states.isEmpty { filter.states = states }
      let hasBar = Console.isTerminal && !output.isJSON
      let progress = try await fleet.apply(
        change,
        to: filter,
        includesAll: arguments.has("all"),
        isDryRun: arguments.has("dry-run")
      ) { if hasBar { output.write("\r\($0.bar)", .error) } }
      if hasBar, progress.changedCount > 0 { output.write("\n", .error) }
      output.show([
        ("matched", .number(progress.matchedCount)), ("applicable", .number(progress.applicableCount)),
        ("changed", .number(progress.changedCount)), ("note", .string(progress.refusal)),
      ])
    }

    func prioritize() async throws {
      guard arguments.has("priority") else { throw CommandError("pass --priority with a number", code: .usage) }
      let priority = try arguments.number("priority", in: -1_000_000...1_000_000, otherwise: 0)
      try await change(.reprioritize(priority)) { fleet, id in try await fleet.prioritize(id, priority) }
    }

    func prune() async throws {
      guard arguments.has("older-than") else {
        throw CommandError("pass --older-than with an age such as 30m, 12h or 7d", code: .usage)
      }
      let states = try Self.states(arguments.options["state"])
      guard states.allSatisfy(\.isFinal) else {
        throw CommandError("only jobs that have ended can be pruned: done, failed, cancelled", code: .usage)
      }
      try await apply(.prune, states: [.done, .cancelled])
    }

    /// Pauses or resumes a name, or with `--job` a job.
    func pause(_ isPaused: Bool) async throws {
      let name = arguments.words[0]
      if arguments.has("job") { return try await pause(job: name, isPaused) }
      let isKnown = try await fleet.names(endedWithin: .seconds(86_400)).contains { $0.name == name }
      let isChanged = isPaused ? try await fleet.pause(name) : try await fleet.resume(name)
      let notes = [
        isKnown ? nil : "no worker and no recent job has this name",
        isChanged ? nil : isPaused ? "it was paused already" : "it was not paused",
      ]
      output.show([
        ("name", .string(name)), ("paused", .flag(isPaused)), ("changed", .flag(isChanged)),
        ("note", .string(notes.compactMap(\.self).joined(separator: "; ").nonEmpty)),
      ])
    }

    private func pause(job id: String, _ isPaused: Bool) async throws {
      let isChanged = isPaused ? try await fleet.pause(job: id) : try await fleet.resume(job: id)
      guard let status = try await fleet.status(of: id) else {
        throw CommandError("\(FleetError.notFound(id: id))", code: .notFound)
      }
      guard isChanged else {
        throw CommandError(
          "nothing was changed: \(status.pauseRefusal(isPaused) ?? "it has changed since")",
          code: .failure
        )
      }
      let isLater = isPaused && status.wait?.reason != .jobPause
      output.show([
        ("id", .string(id)), ("state", .string("\(status.state)")), ("paused", .flag(isPaused)),
        ("note", .string(isLater ? "it is paused when its attempt or its wait ends" : nil)),
      ])
    }
  }

  extension FleetProgress {
    /// A bar of 40 characters with the numbers.
    var bar: String {
      let width = applicableCount == 0 ? 40 : min(40, 40 * changedCount / applicableCount)
      let bar = String(repeating: "#", count: width) + String(repeating: "-", count: 40 - width)
      return "[\(bar)] \(changedCount) of \(applicableCount)"
    }
  }

  extension FleetFilter {
    /// Reads state, name, key, tag, error, search and older-than.
    init(_ options: [String: String]) throws(CommandError) {
      self.init()
      func text(_ name: String) -> String? { options[name]?.nonEmpty }
      states = try FleetCommand.states(options["state"])
      (name, key, tag) = (text("name"), text("key"), text("tag"))
      (error, self.text) = (text("error"), text("search"))
      do { try check() } catch { throw CommandError("\(error)", code: .usage) }
      guard let age = text("older-than") else { return }
      let units: [Character: Int] = ["s": 1, "m": 60, "h": 3_600, "d": 86_400]
      guard let unit = age.last.flatMap({ units[$0] }), let number = Int(age.dropLast()),
        (0...1_000_000).contains(number)
      else { throw CommandError("'--older-than' is an age such as 30m, 12h or 7d", code: .usage) }
      self.age = .seconds(number * unit)
    }

    /// The options and fields of which it is made.
    static let names = ["state", "name", "key", "tag", "error", "search", "older-than"]
  }

  extension FleetStatus {
    /// Why the job cannot be paused or resumed; nil when it can.
    func pauseRefusal(_ isPaused: Bool) -> String? {
      if state.isFinal { return "it is \(state): a job that has ended does not run again unless it is retried" }
      if isPaused, isCancelling { return "it is being cancelled" }
      if isPaused { return pausedAt == nil ? nil : "it was paused already" }
      return pausedAt == nil ? "it was not paused" : nil
    }
  }

  extension String {
    /// The text; nil when it is empty.
    var nonEmpty: String? { isEmpty ? nil : self }
  }
#endif
