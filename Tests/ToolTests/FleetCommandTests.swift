// SPDX-License-Identifier: MIT
// Copyright (c) 2026 Stepwise contributors

#if Postgres
  import CommandKit
  import Foundation
  import Stepwise
  @testable import StepwiseFleet
  import Testing

  @testable import stepctl

  /// The commands of a fleet, against jobs in every state.
  @Suite(
    .serialized,
    .timeLimit(.minutes(5)),
    .enabled(if: SampleFleet.server != nil, "STEPWISE_POSTGRES names no server")
  )
  struct FleetCommandTests {
    private func withFleet(_ body: (SampleFleet, (String...) async -> ToolResult) async throws -> Void) async throws {
      let sample = try await SampleFleet()
      do {
        try await sample.fillWithTen()
        try await body(sample) { (words: String...) in
          let place = ["--database", SampleFleet.server ?? "", "--schema", sample.schema]
          return await tool(["fleet", words[0]] + place + words.dropFirst())
        }
      } catch {
        try? await sample.drop()
        throw error
      }
      try await sample.drop()
    }

    private func isPausedMail(_ line: String) -> Bool { line.hasPrefix("Mail ") && line.hasSuffix("  yes") }

    @Test
    func `The status has jobs by name, the workers and the last hour`() async throws {
      try await withFleet { _, fleet in
        let text = await fleet("status")
        #expect(text.code == .success && text.error == "")
        #expect(text.lines.contains(where: isPausedMail), "\(text)")
        #expect(text.lines.contains { $0.hasPrefix("web-1 (host a)        1  ") }, "\(text)")
        #expect(text.output.contains("In the last hour: 1 done, 3 failed."), "\(text)")
        let json = try #require(await fleet("status", "--json").object)
        let names = try #require(json["names"] as? [[String: Any]])
        #expect(
          Set(names.compactMap { $0["name"] as? String }) == [
            "Mail", "Resize", "ToolTests.SampleFleet.Import", "Import", SampleFleet.script,
          ]
        )
        let jobs = try #require(names.first { $0["name"] as? String == "Import" })
        let expected = [
          "queued": 0, "scheduled": 1, "running": 1, "waiting": 1, "done": 1, "failed": 2, "cancelled": 0,
        ]
        for (state, count) in expected { #expect(jobs[state] as? Int == count, "\(state)") }
        #expect((json["workers"] as? [[String: Any]])?.first?["running"] as? Int == 1)
      }
    }

    // G259
    @Test
    func `Of what a codec has encoded, a job shows the codec and the sizes`() async throws {
      try await withFleet { sample, fleet in
        try await sample.fillEncoded()
        for id in ["encoded-import", "encoded-order", "encoded-wait", "encoded-input"] {
          for values in [[], ["--values"]] {
            let text = values.isEmpty ? await fleet("show", id) : await fleet("show", id, "--values")
            #expect(text.code == .success && !text.output.contains("hunter2"), "\(text)")
            #expect(!text.output.contains("//////") && !text.output.contains("damaged"), "\(text)")
            let sizes = text.output.matches(of: /\d+ bytes, encoded by "sample-1"/).count
            let expected = ["encoded-import": 3, "encoded-order": 2, "encoded-wait": values.isEmpty ? 1 : 3]
            #expect(sizes >= expected[id, default: 0] && (sizes > 0 || id == "encoded-input"), "\(text)")
            #expect(text.lines.contains { $0.hasPrefix("codec") && $0.hasSuffix("sample-1") }, "\(text)")
          }
          #expect(await fleet("show", id, "--json").object?["codec"] as? String == "sample-1")
        }
        #expect(await fleet("show", "failed-1", "--json").object?["codec"] is NSNull)
      }
    }

    // G235
    @Test
    func `Jobs are listed and changed by tag, and a wrong tag is named`() async throws {
      try await withFleet { sample, fleet in
        try await sample.fleet.database.run("UPDATE @.jobs SET tags = '{gpu}' WHERE id = 'mail-1'")
        let jobs = await fleet("jobs", "--tag", "gpu", "--json").object?["jobs"] as? [[String: Any]]
        #expect(jobs?.map { $0["id"] as? String } == ["mail-1"])
        #expect(jobs?.first?["tags"] as? String == "gpu")
        let unknown = await fleet("retry", "--tag", "tpu")
        #expect(unknown.code == .failure && unknown.error.contains("\"tpu\""), "\(unknown)")
        let malformed = await fleet("retry", "--tag", "a,b")
        #expect(malformed.code == .usage && malformed.error.contains("\"a,b\""), "\(malformed)")
      }
    }

    @Test
    func `Jobs are listed by state, name and text, in pages`() async throws {
      try await withFleet { _, fleet in
        func ids(_ result: ToolResult) throws -> [String] {
          try #require(result.object?["jobs"] as? [[String: Any]]).compactMap { $0["id"] as? String }
        }
        #expect(try ids(await fleet("jobs", "--json")).count == 10)
        #expect(
          try ids(await fleet("jobs", "--state", "failed", "--json")) == [SampleFleet.script, "damaged-1", "failed-1"]
        )
        #expect(try ids(await fleet("jobs", "--state", "waiting,cancelled", "--json")) == ["cancelled-1", "waiting-1"])
        #expect(try ids(await fleet("jobs", "--name", "Mail", "--json")) == ["mail-1"])
        #expect(try ids(await fleet("jobs", "--search", "disk", "--json")) == ["failed-1"])
        let first = await fleet("jobs", "--limit", "4", "--json")
        let next = try #require(first.object?["next"] as? String)
        let second = await fleet("jobs", "--after", next, "--limit", "10", "--json")
        #expect(try ids(first).count == 4 && ids(second).count == 6)
        #expect(second.object?["next"] is NSNull)
        let text = await fleet("jobs", "--limit", "4")
        #expect(text.lines.count == 6 && text.lines.last == "There are more: add --after '\(next)'.", "\(text)")
        #expect(await fleet("jobs", "--search", "no such").output == "There are no such jobs.\n")
        #expect(await fleet("jobs", "--state", "lost").code == .usage)
        #expect(await fleet("jobs", "--limit", "0").code == .usage)
        #expect(await fleet("jobs", "--name", "--state", "failed").error.contains("'--name' needs <name>"))
        #expect(await fleet("jobs", "--name=--state").output == "There are no such jobs.\n")
      }
    }

    @Test
    func `A job that waits for a signal has no due time`() async throws {
      try await withFleet { sample, fleet in
        try await sample.fleet.database.run(
          "UPDATE @.jobs SET run_at = 'infinity', waits_for = '{approval}' WHERE id = 'scheduled-1'"
        )
        for text in [await fleet("status"), await fleet("jobs"), await fleet("show", "scheduled-1")] {
          #expect(text.code == .success, "\(text)")
        }
        let job = try #require(await fleet("show", "scheduled-1", "--json").object)
        #expect(job["due"] is NSNull, "\(job)")
      }
    }

    // G225
    @Test
    func `A job's note is shown by the tool and on the page`() async throws {
      try await withFleet { sample, fleet in
        try await sample.fleet.database.run("UPDATE @.jobs SET note = 'packs <box> 3' WHERE id = 'running-1'")
        #expect(await fleet("show", "running-1").output.contains("packs <box> 3"))
        let job = try #require(await fleet("show", "running-1", "--json").object)
        #expect(job["note"] as? String == "packs <box> 3")
        let pages = FleetPages(hasValues: false, isReadOnly: false)
        let page = pages.job(try await JobTimeline(of: "running-1", in: sample.fleet))
        #expect(page.text.contains("packs &lt;box&gt; 3"))
      }
    }

    @Test
    func `A job is shown with its error, and with its values only on request`() async throws {
      try await withFleet { _, fleet in
        let failed = await fleet("show", "failed-1")
        #expect(failed.code == .success && failed.output.contains("the disk is full at line 2"), "\(failed)")
        #expect(failed.output.contains("├─ read") && failed.output.contains("╰─ count"), "\(failed)")
        for id in ["queued-1", "failed-1", "damaged-1", "waiting-1", "cancelled-1", "scheduled-1", "running-1"] {
          for options in [[], ["--json"]] {
            let words = ["fleet", "show", id] + options
            let without = await fleet("show", id, options.first ?? "--")
            #expect(without.code == .success && !without.output.contains("hunter2"), "\(words): \(without)")
          }
          #expect(await fleet("show", id, "--values").output.contains("hunter2"), "\(id)")
          #expect(await fleet("show", id, "--values", "--json").output.contains("hunter2"), "\(id)")
        }
        let stages = try #require(await fleet("show", "running-1", "--json").object?["steps"] as? [[String: Any]])
        #expect(stages.map { $0["name"] as? String } == ["read", "count", "count"])
        #expect(await fleet("show", "other").code == .notFound)
        let script = await fleet("show", "--json", "--", SampleFleet.script)
        #expect(script.object?["id"] as? String == SampleFleet.script)
      }
    }

    @Test
    func `Jobs are retried and cancelled, or refused with a reason`() async throws {
      try await withFleet { sample, fleet in
        let retried = await fleet("retry", "failed-1", "cancelled-1")
        #expect(
          retried.code == .success
            && retried.lines == ["id           state", "failed-1     queued", "cancelled-1  queued"]
        )
        let refused = await fleet("retry", "waiting-1", "--json")
        #expect(refused.code == .failure && refused.error == "stepctl: not every job was changed\n")
        #expect(refused.list?.first?["state"] as? String == "waiting")
        #expect(
          refused.list?.first?["problem"] as? String == "it is waiting: only a failed or cancelled job can be retried"
        )
        #expect(await fleet("retry", "other").code == .notFound)
        let all = await fleet("retry")
        #expect(all.code == .failure && all.error.contains("matches all 10 jobs of the fleet"), "\(all)")
        #expect(await fleet("retry", "failed-1", "--state", "failed").code == .usage)
        let cancelled = await fleet("cancel", "queued-1", "running-1", "--reason", "a mistake")
        #expect(
          cancelled.code == .success && cancelled.lines.suffix(2) == ["queued-1   cancelled", "running-1  cancelling"]
        )
        let status = try await sample.fleet.status(of: "queued-1")
        #expect(status?.cancellationReason == "a mistake")
        let done = await fleet("cancel", "done-1")
        #expect(
          done.code == .failure
            && done.lines.last == "done-1  done   it is done: a job that has ended cannot be cancelled"
        )
      }
    }

    @Test
    func `A name is paused and resumed, and one that is unknown is remarked on`() async throws {
      try await withFleet { sample, fleet in
        #expect(await fleet("pause", "Import").lines == ["name     Import", "paused   yes", "changed  yes"])
        #expect(
          await fleet("pause", "Import").lines == [
            "name     Import", "paused   yes", "changed  no", "note     it was paused already",
          ]
        )
        let status = try await sample.fleet.status(of: "failed-1")
        #expect(status?.isPaused == true)
        #expect(await fleet("resume", "Import").lines == ["name     Import", "paused   no", "changed  yes"])
        #expect(await fleet("resume", "Import").lines.last == "note     it was not paused")
        let typo = await fleet("pause", "Improt", "--json").object
        #expect(typo?["paused"] as? Bool == true && typo?["note"] is String)
      }
    }

    @Test
    func `A filter changes all that it matches, and nothing in a dry run`() async throws {
      try await withFleet { sample, fleet in
        try await sample.fill(10_000)
        let status = await fleet("status")
        #expect(
          status.lines.contains { $0.contains("connection to 10.0.3.17 timed out after 30 seconds") },
          "\(status)"
        )
        let words = ["--state", "failed", "--error", "timed out after 1 seconds", "--json"]
        let dry = await fleet("retry", words[0], words[1], words[2], words[3], words[4], "--dry-run").object
        let count = try #require(dry?["matched"] as? Int)
        #expect(count > 30 && dry?["changed"] as? Int == 0)
        let retried = await fleet("retry", words[0], words[1], words[2], words[3], words[4]).object
        #expect(retried?["changed"] as? Int == count)
        #expect(try await sample.fleet.counts()[.failed] == 3)
        #expect(await fleet("prioritize", "--name", "Mail").code == .usage)
        let mails = await fleet("prioritize", "--name", "Mail", "--priority", "7", "--json").object
        #expect(mails?["changed"] as? Int ?? 0 > 100 && mails?["note"] is String)
        #expect(await fleet("cancel", "--search", "mail-1", "--reason", "wrong").lines.last == "changed     1")
        #expect(try await sample.fleet.status(of: "mail-1")?.cancellationReason == "wrong")
      }
    }

    @Test
    func `A job says why it does not run, with its attempts, and is paused alone`() async throws {
      try await withFleet { sample, fleet in
        let paused = await fleet("show", "mail-1", "--json").object
        #expect(paused?["waitsFor"] as? String == "its name to be resumed" && paused?["since"] is String)
        #expect(await fleet("jobs", "--name", "Mail").lines[1].contains("its name to be resumed"))
        try await sample.fleet.database.run(
          "UPDATE @.jobs SET run_at = now() + interval '150 minutes' WHERE id = 'scheduled-1'"
        )
        let later = await fleet("jobs", "--state", "scheduled").lines
        #expect(later[0].contains("waitsFor") && later[0].contains("since") && later[0].contains("until"), "\(later)")
        #expect(later[1].contains("its next attempt") && later[1].contains("in 2 h"), "\(later)")
        #expect(
          await fleet("show", "scheduled-1").lines.contains {
            $0.hasPrefix("waitsFor") && $0.hasSuffix("its next attempt")
          }
        )
        let held = await fleet("pause", "--job", "queued-1")
        #expect(held.lines == ["id      queued-1", "state   scheduled", "paused  yes"], "\(held)")
        #expect(await fleet("show", "queued-1", "--json").object?["waitsFor"] as? String == "the job to be resumed")
        #expect(await fleet("pause", "--job", "queued-1").error.contains("it was paused already"))
        #expect(await fleet("resume", "--job", "queued-1").lines[1] == "state   queued")
        #expect(await fleet("resume", "--job", "queued-1").error.contains("it was not paused"))
        #expect(await fleet("pause", "--job", "done-1").error.contains("a job that has ended"))
        #expect(await fleet("pause", "--job", "other").code == .notFound)
        try await sample.fleet.database.run(
          "UPDATE @.jobs SET claimed_at = started_at, claimed_by = 'web-1' WHERE id = 'done-1'"
        )
        let attempts = await fleet("show", "done-1", "--json").object?["attempts"] as? [[String: Any]]
        #expect(attempts?.map { $0["worker"] as? String } == ["web-1"])
        #expect(await fleet("show", "done-1").lines.contains { $0.hasPrefix("attempt  stage  worker") })
      }
    }

    @Test
    func `A job that ended says what a retry does, and a list names no children`() async throws {
      try await withFleet { sample, fleet in
        try await sample.fleet.database.run(
          """
          UPDATE @.jobs SET name = 'chain order', fence = 1, stage = CASE WHEN id = 'damaged-1' THEN '{}' END
          WHERE id IN ('damaged-1', 'cancelled-1')
          """
        )
        func effect(_ id: String) async -> String? { await fleet("show", id, "--json").object?["retry"] as? String }
        #expect(await effect("failed-1") == "runs stage 2 again")
        #expect(await effect("cancelled-1") == "continues the run, whose completed steps are kept")
        #expect(await effect("damaged-1") == "starts a new run with its input: it has undone its steps")
        #expect(await effect("done-1") == nil)
        try await sample.fleet.database.run(
          "UPDATE @.jobs SET state = 'queued', run_at = now() WHERE id = 'waiting-1'"
        )
        try await sample.fleet.database.run(
          "UPDATE @.jobs SET state = 'waiting', waits_for = '{queued-1,mail-1}' WHERE id = 'waiting-1'"
        )
        let list = await fleet("jobs", "--state", "waiting")
        #expect(list.lines[1].contains("2 of its 2 children  ") && !list.output.contains("mail-1"), "\(list)")
        #expect(await fleet("show", "waiting-1").output.contains("2 of its 2 children: mail-1, queued-1"))
      }
    }

    @Test
    func `Schedules are listed and run, and a worker's health is checked`() async throws {
      try await withFleet { sample, fleet in
        #expect(await fleet("schedules").lines == ["There are no schedules."])
        try await sample.fleet.schedule("nightly", cron: "0 3 * * *", SampleFleet.Import.done(1))
        let list = await fleet("schedules", "--json").list
        #expect(list?.first?["schedule"] as? String == "nightly" && list?.first?["next"] is String)
        #expect(await fleet("schedules").lines[1].contains("  in "))
        let id = try #require(await fleet("schedules", "--run", "nightly", "--json").object?["id"] as? String)
        #expect(try await sample.fleet.status(of: id)?.state == .queued)
        #expect(await fleet("schedules", "--run", "weekly").error.contains("no schedule of this name"))
        #expect(await fleet("health").lines == ["database  ok", "workers   1"])
        #expect(await fleet("health", "--worker", "web-1 (host a)").code == .success)
        #expect(await fleet("health", "--worker", "web-2").code == .failure)
      }
    }

    @Test
    func `The tables are created or converted by a command`() async throws {
      try await withFleet { sample, fleet in
        #expect(await fleet("migrate").lines.last == "note    the tables are up to date")
        let schema = "tool_\(UUID().uuidString.prefix(8))"
        let created = await tool(["fleet", "migrate", "--database", SampleFleet.server ?? "", "--schema", schema])
        #expect(created.lines.last == "note    the tables were created", "\(created)")
        try await sample.fleet.database.run("DROP SCHEMA \"\(schema)\" CASCADE")
      }
    }

    @Test
    func `Jobs that ended are pruned by age and state`() async throws {
      try await withFleet { _, fleet in
        #expect(await fleet("prune").code == .usage)
        #expect(await fleet("prune", "--older-than", "1 week").code == .usage)
        #expect(await fleet("prune", "--older-than", "1m", "--state", "queued").code == .usage)
        #expect(await fleet("prune", "--older-than", "30m", "--dry-run").lines.last == "changed     0")
        #expect(
          await fleet("prune", "--older-than", "30m").lines == ["matched     1", "applicable  1", "changed     1"]
        )
        #expect(
          await fleet("prune", "--older-than", "20m", "--state", "failed", "--json").object?["changed"] as? Int == 2
        )
        let none = await fleet("prune", "--older-than", "30m")
        #expect(none.code == .failure && none.error.contains("matches 0 jobs"))
      }
    }

    @Test
    func `The watch shows what has changed until it is cancelled`() async throws {
      try await withFleet { sample, _ in
        let (shown, show) = AsyncStream.makeStream(of: String.self)
        let watch = Task {
          await Tool.execute(["fleet", "watch", "--database", SampleFleet.server ?? "", "--schema", sample.schema]) {
            text,
            _ in
            show.yield(text)
          }
        }
        var texts = shown.makeAsyncIterator()
        func isPaused(_ text: String) -> Bool {
          text.split(separator: "\n").map(String.init).contains(where: isPausedMail)
        }
        #expect(isPaused(try #require(await texts.next())))
        try await sample.fleet.resume("Mail")
        while let text = await texts.next(), isPaused(text) {}
        watch.cancel()
        _ = await watch.value
      }
    }

    @Test
    func `The SQL creates the tables that a fleet finds`() async throws {
      try await withFleet { sample, _ in
        let schema = "tool_\(UUID().uuidString.prefix(8))"
        let sql = await tool(["fleet", "migrate", "--print", "--schema", schema])
        #expect(sql.code == .success && sql.output.hasPrefix("DO $"))
        try await sample.fleet.database.run(sql.output.replacing("@", with: ""))
        #expect(
          await tool(["fleet", "status", "--database", SampleFleet.server ?? "", "--schema", schema]).code == .success
        )
        try await sample.fleet.database.run("DROP SCHEMA \"\(schema)\" CASCADE")
      }
    }

    @Test
    func `The steps of a chain are shown, also after its end`() async throws {
      try await withFleet { sample, fleet in
        struct Refused: Error, CustomStringConvertible { let description = "no courier" }
        let order = Chain("order") { (item: String) in
          try await step("reserve") {
            "the \(item)"
          } undo: { _ in
          }
          if item == "lamp" { try await step("ship") { throw Refused() } }
          return item
        }
        sample.fleet.register(order)
        try await sample.fleet.enqueue(order, "lamp", id: "order-7")
        let work = Task { try await sample.fleet.work() }
        await #expect(throws: (any Error).self) { try await sample.fleet.result(of: "order-7", as: order) }
        work.cancel()
        _ = await work.result
        let shown = await fleet("show", "order-7", "--json")
        let steps = try #require(shown.object?["steps"] as? [[String: Any]])
        #expect(steps.map { $0["name"] as? String } == ["order/reserve", "order/ship"], "\(shown)")
        #expect(steps.map { $0["state"] as? String } == ["undone", "failed"])
        let text = await fleet("show", "order-7")
        #expect(text.output.contains("reserve · undone") && !text.output.contains("the lamp"), "\(text)")
        #expect(await fleet("show", "order-7", "--values").output.contains("the lamp"))
        // A damaged entry does not hide the others.
        try await sample.fleet.database.run(
          "UPDATE @.entries SET entry = '\\xFF' WHERE job = 'order-7' AND number = (SELECT max(number) FROM @.entries)"
        )
        let damaged = await fleet("show", "order-7", "--json")
        let read = try #require(damaged.object?["steps"] as? [[String: Any]])
        #expect(read.first?["name"] as? String == "order/reserve", "\(damaged)")
        #expect(read.last?["state"] as? String == "damaged" && read.last?["error"] is String, "\(damaged)")
        #expect(await fleet("show", "order-7").output.contains("a damaged entry · damaged"))
      }
    }

    @Test
    func `A database without a fleet is left as it is`() async throws {
      let schema = "tool_\(UUID().uuidString.prefix(8))"
      for command in ["status", "jobs", "watch", "serve"] {
        let result = await tool(["fleet", command, "--database", SampleFleet.server ?? "", "--schema", schema])
        #expect(result.code == .notFound && result.error.contains("no fleet in the schema '\(schema)'"), "\(result)")
      }
      let fleet = Fleet(SampleFleet.server ?? "", configuration: FleetConfiguration(schema: schema, listens: false))
      #expect(try await fleet.isInstalled == false)
      #expect(await tool(["fleet", "status", "--database", "host=127.0.0.1 port=1"]).code == .failure)
    }
  }
#endif
