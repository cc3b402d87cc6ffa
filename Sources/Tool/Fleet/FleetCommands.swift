// SPDX-License-Identifier: MIT
// Copyright (c) 2026 Stepwise contributors

import CommandKit

#if !Postgres
  extension Tool {
    static let fleetCommands = [
      ToolCommand(line: "fleet …", summary: "needs --traits Postgres and libpq", options: nil) { arguments, _ in
        let line = ["swift run --traits Postgres stepctl fleet"] + arguments.words
        throw CommandError("this command needs libpq; type: \(line.joined(separator: " "))")
      }
    ]
  }
#else
  import Foundation
  import Loopback
  import StepwiseFleet
  import StepwiseTracing

  extension Tool {
    private static let schema = ("--schema <name>", "the tables' schema, if not stepwise")
    private static let state = ("--state <states>", "only these, such as failed,cancelled")

    static let fleetCommands = [
      command("status", "shows jobs by name, workers, the last hour") { try await $0.status() },
      command(
        "jobs",
        "lists jobs",
        options: [
          state, ("--name <name>", "only those of this progression"),
          ("--search <text>", "only those whose id, key or error contains it"),
          ("--after <id>", "those after this id, for the next page"),
          ("--limit <number>", "how many at most, instead of 50"),
        ]
      ) { try await $0.jobs() },
      command("show <id>", "shows one job: its state, stages, errors", options: [values]) { try await $0.show() },
      command("retry <id> …", "queues failed or cancelled jobs again") {
        let refusal = { (status: FleetStatus) in status.retryRefusal ?? "only a failed or cancelled job can be retried"
        }
        try await $0.change(refusal) { try await $0.requeue($1) }
      },
      command("cancel <id> …", "cancels jobs", options: [("--reason <text>", "the reason, for the job's status")]) {
        let reason = $0.arguments.options["reason"] ?? "cancelled by hand"
        return try await $0.change({ _ in "it has ended, so it cannot be cancelled" }) {
          try await $0.cancel($1, reason: reason)
        }
      },
      command("pause <name>", "starts no further job of a progression") { try await $0.pause(true) },
      command("resume <name>", "starts jobs of a paused progression again") { try await $0.pause(false) },
      command(
        "prune",
        "removes jobs that have ended",
        options: [("--older-than <age>", "how long ago, such as 12h or 7d; required"), state]
      ) { try await $0.prune() },
      ToolCommand(line: "fleet sql", summary: "prints the SQL that creates the tables", options: [schema]) {
        let sql = FleetCommand.fleet("", $0).schemaSQL + ";"
        $1.show(sql.split(separator: "\n").map(String.init), .object([("sql", .string(sql))]))
      },
      command("watch", "shows the status until Ctrl-C") { try await $0.watch() },
      command(
        "serve",
        "opens a page for a browser on 127.0.0.1",
        options: [("--port <number>", "the port, instead of a free one"), values]
      ) { try await $0.serve() },
    ]

    private static func command(
      _ line: String,
      _ summary: String,
      options: [ToolCommand.Option] = [],
      _ body: @escaping @Sendable (FleetCommand) async throws -> Void
    ) -> ToolCommand {
      let database = ("--database <string>", "the connection string, instead of $STEPWISE_FLEET")
      return ToolCommand(line: "fleet \(line)", summary: summary, options: options + [database, schema]) {
        try await body(FleetCommand($0, $1))
      }
    }
  }

  /// Operates a fleet that exists.
  struct FleetCommand: Sendable {
    let fleet: Fleet
    let arguments: Arguments
    let output: Output

    /// Connects to the database.
    ///
    /// - Throws: `CommandError` when there is no fleet: its operations would create the tables.
    init(_ arguments: Arguments, _ output: Output) async throws {
      let variable = ProcessInfo.processInfo.environment["STEPWISE_FLEET"] ?? ""
      guard let connection = arguments.options["database"] ?? (variable.isEmpty ? nil : variable) else {
        throw CommandError("set STEPWISE_FLEET='host=db.internal dbname=work', or pass --database", code: .usage)
      }
      (fleet, self.arguments, self.output) = (Self.fleet(connection, arguments), arguments, output)
      guard try await fleet.isInstalled else {
        let problem = "there is no fleet in the schema '\(fleet.schemaName)'; --schema names another"
        throw CommandError(problem, code: .notFound)
      }
    }

    static func fleet(_ connection: String, _ arguments: Arguments) -> Fleet {
      var configuration = FleetConfiguration(maxConnections: 3, listens: false, workerName: "stepctl")
      if let schema = arguments.options["schema"] { configuration.schema = schema }
      return Fleet(connection, configuration: configuration)
    }

    func status() async throws {
      let report = try await FleetReport(of: fleet)
      output.show(report.lines, report.json)
    }

    func jobs() async throws {
      let limit = try arguments.number("limit", in: 1...10_000, otherwise: 50)
      let page = try await fleet.jobs(arguments.options, limit: limit)
      output.show(
        page.table.lines + (page.next.map { ["There are more: add --after '\($0)'."] } ?? []),
        .object([("jobs", .list(page.jobs.map(\.record))), ("next", .string(page.next))])
      )
    }

    func show() async throws {
      let job = try await JobTimeline(of: arguments.words[0], in: fleet)
      let steps = job.steps.map { $0.record(hasValue: arguments.has("values")) }
      let refused = job.refusedSignals.isEmpty ? [] : job.refusedTable(hasValues: arguments.has("values")).lines + [""]
      let lines = job.trace.text.split(separator: "\n").map(String.init) + [""]
      output.show(job.status.record, steps: steps, lines + refused)
    }

    /// Changes jobs one by one, and reports for each what came of it.
    func change(_ refusal: (FleetStatus) -> String, _ change: (Fleet, String) async throws -> Bool) async throws {
      var (records, code) = ([Record](), ExitCode.success)
      for id in arguments.words {
        let isDone = try await change(fleet, id)
        let status = try await fleet.status(of: id)
        let state = status.map { $0.isCancelling ? "cancelling" : "\($0.state)" }
        let problem = isDone ? nil : status == nil ? "\(FleetError.notFound(id: id))" : status.map(refusal)
        if !isDone { code = status == nil && code != .failure ? .notFound : .failure }
        records.append([("id", .string(id)), ("state", .string(state)), ("problem", .string(problem))])
      }
      output.show(Table(records, ["id", "state", "problem"], else: "").lines, .list(records))
      if code != .success { throw CommandError("not every job was changed", code: code) }
    }

    func pause(_ isPaused: Bool) async throws {
      let name = arguments.words[0]
      let isKnown = try await fleet.names(endedWithin: .seconds(86_400)).contains { $0.name == name }
      let isChanged = isPaused ? try await fleet.pause(name) : try await fleet.resume(name)
      let note = isKnown ? nil : "no worker and no recent job has this name"
      output.show([
        ("name", .string(name)), ("paused", .flag(isPaused)), ("changed", .flag(isChanged)), ("note", .string(note)),
      ])
    }

    func prune() async throws {
      let units: [Character: Int] = ["s": 1, "m": 60, "h": 3_600, "d": 86_400]
      guard let text = arguments.options["older-than"], let unit = text.last.flatMap({ units[$0] }),
        let number = Int(text.dropLast()), (0...1_000_000).contains(number)
      else { throw CommandError("pass --older-than with an age such as 30m, 12h or 7d", code: .usage) }
      let states = try arguments.options["state"].map { try Self.states($0) } ?? [.done, .cancelled]
      guard states.allSatisfy(\.isFinal) else {
        throw CommandError("only jobs that have ended can be pruned: done, failed, cancelled", code: .usage)
      }
      output.show([("removed", .number(try await fleet.prune(olderThan: .seconds(number * unit), states: states)))])
    }

    func watch() async throws {
      var report = try await FleetReport(of: fleet)
      while true {
        if Console.isTerminal && !output.isJSON { output.write("\u{1B}[H\u{1B}[J", .output) }
        output.show(report.lines, report.json)
        try await Task.sleep(until: report.nextDue)
        report = try await FleetReport(of: fleet, after: report)
      }
    }

    func serve() async throws {
      let port = try arguments.number("port", in: 1...65_535, otherwise: 0)
      let page = try FleetServer(fleet, hasValues: arguments.has("values"), port: UInt16(port))
      defer { page.server.stop() }
      let note = "everyone who has this address can read and change the fleet; Ctrl-C closes it"
      output.show([("address", .string(page.address)), ("note", .string(note))])
      while true { try await Task.sleep(for: .seconds(3_600)) }
    }

    fileprivate static func states(_ text: String?) throws(CommandError) -> Set<FleetState> {
      let all = FleetState.all.map(\.description)
      let words = (text ?? "").split(separator: ",").map(String.init)
      if let word = words.first(where: { !all.contains($0) }) {
        throw CommandError("there is no state '\(word)'; there are \(all.joined(separator: ", "))", code: .usage)
      }
      return Set(FleetState.all.filter { words.contains($0.description) })
    }
  }

  extension Fleet {
    /// Returns a page of jobs with filters by their names: state, name, search and after.
    func jobs(_ filters: [String: String], limit: Int) async throws -> FleetPage {
      let states = try FleetCommand.states(filters["state"])
      let (name, text, last) = (filters["name"], filters["search"], filters["after"])
      return try await jobs(in: states, named: name, containing: text, after: last, limit: limit)
    }
  }

  extension FleetPage {
    var table: Table {
      let names = ["id", "name", "state", "paused", "stage", "attempt", "enqueued", "error", "reason"]
      return Table(jobs.map(\.record), names, else: "There are no such jobs.")
    }
  }

  extension FleetStatus {
    /// Why a chain that has ended is not retried, and what can be done instead; nil for another job.
    var retryRefusal: String? {
      guard state == .failed || state == .cancelled, !isRequeueable else { return nil }
      return
        "It \(state == .failed ? "failed" : "was cancelled") and has undone its steps, so there is nothing to retry. "
        + "Enqueue it again: under a new id, or under this one with `replacing: .finished`."
    }
  }
#endif
