// SPDX-License-Identifier: MIT
// Copyright (c) 2026 Stepwise contributors

#if Postgres
  import CommandKit
  import Foundation
  import Loopback
  import Stepwise
  import StepwiseFleet

  /// Answers the requests for the pages.
  struct FleetSite: Sendable {
    let pages: FleetPages
    let snapshots: FleetSnapshots
    let changes = FleetChanges()
    private var fleet: Fleet { snapshots.fleet }

    /// An action that was not carried out, and why.
    private struct Refusal: Error {
      let title: String
      let body: HTML
    }

    func reply(to request: LoopbackServer.Request, path: String) async -> LoopbackServer.Reply {
      let fields = FormEncoding.fields(request.query ?? "")
      do {
        switch (request.method, path) {
        case ("GET", "/metrics"): return try await metrics()
        case ("GET", "/health"): return try await health()
        case ("GET", ""): return page("Fleet", try await overview(), fields)
        case ("GET", "jobs"):
          let jobs = try await fleet.jobs(fields, limit: 50)
          return page("Jobs", "\(pages.changes(await changes.shown))\(pages.jobs(jobs, fields))", fields)
        case ("GET", "job"):
          let job = try await JobTimeline(of: fields["id"] ?? "", in: fleet)
          return page(job.status.id, pages.job(job), fields)
        case ("POST", _) where pages.isReadOnly:
          throw Refusal(
            title: "Nothing was changed",
            body: "<p>The page is read-only: it was opened with --read-only.</p>"
          )
        case ("POST", let action):
          return try await change(action, FormEncoding.fields(String(decoding: request.body, as: UTF8.self)))
        default: return .notFound
        }
      } catch let refusal as Refusal {
        let status = pages.isReadOnly ? 403 : 409
        return page(refusal.title, "<h1>\(refusal.title)</h1>\(refusal.body)", fields, status: status)
      } catch {
        if path.hasPrefix("/") { return .text("\(error)\n", status: 503) }
        let status = [.usage: 400, .notFound: 404][(error as? CommandError)?.code] ?? 503
        return page("Error", "<p class=\"error\">\(String(describing: error))</p>", fields, status: status)
      }
    }

    private func overview() async throws -> HTML {
      async let running = fleet.jobs(in: [.running], limit: 200).jobs
      async let failed = fleet.deadLetters(limit: 20)
      async let schedules = fleet.schedules()
      let report = try await snapshots.latest()
      return try await """
      \(pages.changes(changes.shown))
      \(pages.overview(report, running: running, failed: failed, schedules: schedules))
      """
    }

    private func metrics() async throws -> LoopbackServer.Reply {
      guard let report = try await snapshots.latest(waitingUpTo: .seconds(30)) else {
        return .text("the jobs are being counted\n", status: 503)
      }
      let headers = [("Content-Type", "text/plain; version=0.0.4; charset=utf-8")]
      return LoopbackServer.Reply(headers: headers, body: Array(report.metrics.utf8))
    }

    /// Fails when the database does not answer.
    private func health() async throws -> LoopbackServer.Reply {
      let workers = try await fleet.workers()
      return .text("ok: the database answers, and \(workers.count) workers have a lease\n")
    }

    private func change(_ action: String, _ fields: [String: String]) async throws -> LoopbackServer.Reply {
      let (id, name) = (fields["id"] ?? "", fields["name"] ?? "")
      func refused(_ subject: HTML, _ what: String, _ reason: String?) -> Refusal {
        let sentence =
          reason.map { $0.prefix(1).uppercased() + $0.dropFirst() + "." } ?? "It has changed in the meantime."
        return Refusal(title: "Not \(what)", body: "<p>\(subject) was not \(what). \(sentence)</p>")
      }
      func change(_ change: FleetChange, _ what: String, _ apply: () async throws -> Bool) async throws {
        // What refuses it is the state of before.
        let status = try await fleet.status(of: id)
        guard let status else { throw CommandError("\(FleetError.notFound(id: id))", code: .notFound) }
        if try await !apply() { throw refused(.link(to: id), what, change.refusal(of: status)) }
      }
      switch action {
      case "retry": try await change(.retry, "retried") { try await fleet.requeue(id) }
      case "cancel":
        let reason = "cancelled by hand"
        try await change(.cancel(reason: reason), "cancelled") { try await fleet.cancel(id, reason: reason) }
      case "pause" where fields["id"] != nil, "resume" where fields["id"] != nil:
        let isPausing = action == "pause"
        let isDone = isPausing ? try await fleet.pause(job: id) : try await fleet.resume(job: id)
        guard let status = try await fleet.status(of: id) else {
          throw CommandError("\(FleetError.notFound(id: id))", code: .notFound)
        }
        if !isDone { throw refused(.link(to: id), action + "d", status.pauseRefusal(isPausing)) }
      case "pause": if try await !fleet.pause(name) { throw refused("\(name)", "paused", "it was paused already") }
      case "resume": if try await !fleet.resume(name) { throw refused("\(name)", "resumed", "it was not paused") }
      case "run": return .redirect(to: "job?id=\(FormEncoding.encoded(try await fleet.runSchedule(name)))", status: 303)
      case "bulk": return try await bulk(fields)
      default: return .notFound
      }
      await snapshots.expire()
      return .redirect(to: fields["id"] == nil ? "./" : "job?id=\(FormEncoding.encoded(id))", status: 303)
    }

    /// Counts the jobs that a filter matches and shows what would be changed; with the field "sure", begins to change them.
    private func bulk(_ fields: [String: String]) async throws -> LoopbackServer.Reply {
      let filter = try FleetFilter(fields)
      let action = fields["action"] ?? ""
      let change: FleetChange
      switch action {
      case "retry": change = .retry
      case "cancel": change = .cancel(reason: "cancelled by hand")
      case "prune": change = .prune
      case "prioritize":
        guard let priority = Int(fields["priority"] ?? "") else {
          throw CommandError("the priority is a number", code: .usage)
        }
        change = .reprioritize(priority)
      default: throw CommandError("choose what to do with the jobs", code: .usage)
      }
      let title = "\(action.capitalized) \(pages.title(of: fields))"
      do {
        let count = try await fleet.apply(change, to: filter, includesAll: fields["all"] != nil, isDryRun: true)
        guard fields["sure"] != nil else { return page(title, pages.confirmation(title, count, fields), fields) }
        await changes.start(title, count) { [fleet, snapshots] report in
          try await fleet.apply(change, to: filter, includesAll: fields["all"] != nil) { progress in report(progress) }
          await snapshots.expire()
        }
      } catch FleetError.refused(let reason) {
        let isAll = fields["all"] == nil && reason.contains("all ")
        // What follows is how to permit all jobs elsewhere; here it is a button.
        let reason = String(reason.prefix { $0 != ";" })
        throw Refusal(title: "Nothing was changed", body: pages.refusal(reason, isAll ? fields : nil))
      } catch FleetError.unknownTag(let tag) {
        let reason = "no job of the fleet has the tag \(tag)"
        throw Refusal(title: "Nothing was changed", body: pages.refusal(reason, nil))
      }
      return .redirect(to: "jobs?\(pages.query(fields))", status: 303)
    }

    private func page(_ title: String, _ body: HTML, _ fields: [String: String], status: Int = 200)
      -> LoopbackServer.Reply
    {
      PageLayout.reply(title, schema: fleet.schemaName, body, fields, status: status)
    }
  }

  /// The changes by filter that the page has started.
  actor FleetChanges {
    final class Change: Sendable {
      let title: String
      let progress: Lock<FleetProgress>
      let end = Once<Result<Void, any Error>>()

      init(_ title: String, _ progress: FleetProgress) {
        self.title = title
        self.progress = Lock(progress)
      }
    }

    /// The last five.
    private(set) var shown: [Change] = []

    /// Starts a change in the background.
    func start(
      _ title: String,
      _ count: FleetProgress,
      _ body: @escaping @Sendable (_ report: @Sendable (FleetProgress) -> Void) async throws -> Void
    ) {
      let change = Change(title, count)
      shown = [change] + shown.prefix(4)
      _ = spawn {
        let report = { @Sendable (progress: FleetProgress) in change.progress.withLock { $0 = progress } }
        change.end.settle(await Result.of { try await body(report) })
      }
    }
  }
#endif
