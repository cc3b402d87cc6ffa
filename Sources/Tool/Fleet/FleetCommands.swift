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
    private static let database = ("--database <string>", "the connection string, instead of $STEPWISE_FLEET")
    private static let job = ("--job", "the word is the id of a job, not a name")

    static let fleetCommands = [
      command("status", "shows jobs by name, their errors, workers") { try await $0.status() },
      command(
        "jobs",
        "lists jobs, and what they wait for",
        options: FleetCommand.filter + [
          ("--after <id>", "those after this id, for the next page"),
          ("--limit <number>", "how many at most, instead of 50"),
        ]
      ) { try await $0.jobs() },
      command("show <id>", "shows one job: its wait, attempts, stages", options: [values]) { try await $0.show() },
      command("retry …", "queues failed jobs again, by id or filter", options: FleetCommand.bulk) {
        try await $0.change(.retry) { try await $0.requeue($1) }
      },
      command(
        "cancel …",
        "cancels jobs, by id or filter",
        options: FleetCommand.bulk + [("--reason <text>", "the reason, for the job's status")]
      ) {
        let reason = $0.arguments.options["reason"] ?? "cancelled by hand"
        try await $0.change(.cancel(reason: reason)) { try await $0.cancel($1, reason: reason) }
      },
      command(
        "prioritize …",
        "sets a priority, by id or filter",
        options: FleetCommand.bulk + [("--priority <number>", "the priority; required")]
      ) { try await $0.prioritize() },
      command("pause <name>", "starts no further job of a progression", options: [job]) { try await $0.pause(true) },
      command("resume <name>", "starts jobs of a paused progression again", options: [job]) {
        try await $0.pause(false)
      },
      command("prune", "removes jobs that have ended, by filter", options: FleetCommand.bulk) {
        try await $0.prune()
      },
      command(
        "schedules",
        "lists schedules with their next times",
        options: [("--run <schedule>", "enqueue a job of this one now")]
      ) { try await $0.schedules() },
      command(
        "health",
        "checks the database and a worker's lease",
        options: [("--worker <name>", "fail unless a worker of this name has a lease")]
      ) { try await $0.health() },
      ToolCommand(
        line: "fleet migrate",
        summary: "creates or converts the tables",
        options: [("--print", "print the SQL instead, for a role that may not"), database, schema]
      ) {
        if $0.has("print") {
          let sql = FleetCommand.fleet("", $0).schemaSQL + ";"
          return $1.show(sql.split(separator: "\n").map(String.init), .object([("sql", .string(sql))]))
        }
        let connection = try FleetCommand.connection($0)
        let (before, after) = try await FleetCommand.fleet(connection, $0).migrate()
        let note = before == after ? "the tables are up to date" : before == 0 ? "the tables were created" : "converted"
        $1.show([("before", .number(before)), ("after", .number(after)), ("note", .string(note))])
      },
      command("watch", "shows the status until Ctrl-C") { try await $0.watch() },
      command(
        "serve",
        "opens a page for a browser on 127.0.0.1",
        options: [
          ("--port <number>", "the port, instead of a free one"), values,
          ("--read-only", "a page that changes nothing"),
          ("--url <url>", "its address behind a reverse proxy"),
          ("--token-file <file>", "a file with the token, instead of a random one"),
        ]
      ) { try await $0.serve() },
    ]

    private static func command(
      _ line: String,
      _ summary: String,
      options: [ToolCommand.Option] = [],
      _ body: @escaping @Sendable (FleetCommand) async throws -> Void
    ) -> ToolCommand {
      ToolCommand(line: "fleet \(line)", summary: summary, options: options + [database, schema]) {
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
      let connection = try Self.connection(arguments)
      (fleet, self.arguments, self.output) = (Self.fleet(connection, arguments), arguments, output)
      guard try await fleet.isInstalled else {
        let problem = "there is no fleet in the schema '\(fleet.schemaName)'; --schema names another"
        throw CommandError(problem, code: .notFound)
      }
    }

    static func connection(_ arguments: Arguments) throws(CommandError) -> String {
      let variable = ProcessInfo.processInfo.environment["STEPWISE_FLEET"] ?? ""
      guard let connection = arguments.options["database"] ?? variable.nonEmpty else {
        throw CommandError("set STEPWISE_FLEET='host=db.internal dbname=work', or pass --database", code: .usage)
      }
      return connection
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
      let attempts = job.attempts.isEmpty ? [] : job.attemptTable.lines + [""]
      output.show(
        job.record,
        steps: steps,
        lines + attempts + refused,
        also: [("attempts", .list(job.attempts.map(\.record)))]
      )
    }

    func schedules() async throws {
      if let name = arguments.options["run"] {
        return output.show([("id", .string(try await fleet.runSchedule(name)))])
      }
      let schedules = try await fleet.schedules().map(\.record)
      output.show(Table(schedules, FleetSchedule.columns, else: "There are no schedules.").lines, .list(schedules))
    }

    func health() async throws {
      let workers = try await fleet.workers()
      output.show([("database", .string("ok")), ("workers", .number(workers.count))])
      guard let name = arguments.options["worker"] else { return }
      if !workers.contains(where: { $0.name == name }) {
        throw CommandError("no worker of the name '\(name)' has a lease", code: .failure)
      }
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
      let page = try FleetServer(
        fleet,
        hasValues: arguments.has("values"),
        isReadOnly: arguments.has("read-only"),
        port: UInt16(port),
        url: arguments.options["url"],
        token: try arguments.options["token-file"].map { try FleetServer.token(in: $0) }
      )
      defer { page.server.stop() }
      let rights = arguments.has("read-only") ? "read" : "read and change"
      let note = "everyone who has this address can \(rights) the fleet; Ctrl-C closes it"
      output.show([("address", .string(page.address)), ("note", .string(note))])
      while true { try await Task.sleep(for: .seconds(3_600)) }
    }

    static func states(_ text: String?) throws(CommandError) -> Set<FleetState> {
      let all = FleetState.all.map(\.description)
      let words = (text ?? "").split(separator: ",").map(String.init)
      if let word = words.first(where: { !all.contains($0) }) {
        throw CommandError("there is no state '\(word)'; there are \(all.joined(separator: ", "))", code: .usage)
      }
      return Set(FleetState.all.filter { words.contains($0.description) })
    }
  }

  extension Fleet {
    /// Returns a page of jobs with a filter, after an id.
    func jobs(_ options: [String: String], limit: Int) async throws -> FleetPage {
      try await jobs(matching: FleetFilter(options), after: options["after"], limit: limit)
    }
  }

  extension FleetPage {
    var table: Table {
      let names = [
        "id", "name", "state", "waitsFor", "since", "until", "stage", "attempt", "tags", "enqueued", "error", "reason",
      ]
      let records = jobs.map { job in
        job.record.map { $0.name == "waitsFor" ? ($0.name, .string(job.wait?.summary)) : $0 }
      }
      return Table(records, names, else: "There are no such jobs.")
    }
  }
#endif
