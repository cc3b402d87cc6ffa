// SPDX-License-Identifier: MIT
// Copyright (c) 2026 Stepwise contributors

#if Postgres
  import CommandKit
  import Foundation
  import Loopback
  import Stepwise
  import StepwiseFleet
  import StepwiseTracing

  /// Serves the page of a fleet on 127.0.0.1, to those who know its address.
  ///
  /// The address has a random token. A request that names another host, as one does after DNS rebinding, and one that
  /// a page of another origin sends are refused, the token notwithstanding.
  struct FleetServer: Sendable {
    let server: LoopbackServer
    let address: String

    /// Starts to listen.
    ///
    /// - Throws: `SocketError` when the port is taken.
    init(_ fleet: Fleet, hasValues: Bool, port: UInt16 = 0) throws {
      let site = FleetSite(hasValues: hasValues, snapshots: FleetSnapshots(fleet))
      let token = Self.random()
      let host = Lock("")
      let server = try LoopbackServer(port: port, maximumBodySize: 64 * 1024) { request in
        if let refusal = Self.refusal(of: request, token, host.withLock { $0 }) {
          return .text("\(refusal)\n", status: 403)
        }
        let path = String(request.path.dropFirst(token.utf8.count + 2))
        let (reply, done) = (Once<LoopbackServer.Reply>(), DispatchSemaphore(value: 0))
        _ = spawn {
          reply.settle(await site.reply(to: request, path: path))
          done.signal()
        }
        // It blocks the connection's own thread.
        done.wait()
        return reply.settled ?? .silent
      }
      host.withLock { $0 = ":\(server.port)" }
      (self.server, address) = (server, "\(server.address)/\(token)/")
    }

    /// Returns 126 random bits in 32 digits.
    static func random() -> String {
      (0..<2).map { _ in String(UInt64.random(in: 0 ... .max) | 1 << 60, radix: 16) }.joined()
    }

    /// Why a request is refused; nil for one that may be answered.
    private static func refusal(of request: LoopbackServer.Request, _ token: String, _ port: String) -> String? {
      let hosts = ["127.0.0.1\(port)", "localhost\(port)"]
      guard let host = request.header("Host"), hosts.contains(host) else { return "This is not the page's host." }
      let origin = request.header("Origin")
      guard origin == nil ? request.method != "POST" : origin == "http://\(host)" else {
        return "The request comes from another page."
      }
      let given = Array(request.path.utf8.prefix(token.utf8.count + 2))
      let expected = Array("/\(token)/".utf8)
      // The time that it takes does not depend on where they differ.
      let difference = zip(given, expected).reduce(UInt8(given.count == expected.count ? 0 : 1)) { $0 | ($1.0 ^ $1.1) }
      return difference == 0 ? nil : "Open the address that stepctl has printed; it has a token."
    }
  }

  /// Answers the requests for the pages.
  private struct FleetSite: Sendable {
    let hasValues: Bool
    let snapshots: FleetSnapshots
    private var fleet: Fleet { snapshots.fleet }

    func reply(to request: LoopbackServer.Request, path: String) async -> LoopbackServer.Reply {
      let fields = FormEncoding.fields(request.query ?? "")
      do {
        switch (request.method, path) {
        case ("GET", ""): return page("Fleet", try await overview(), fields)
        case ("GET", "jobs"):
          return page("Jobs", FleetPages.jobs(try await fleet.jobs(fields, limit: 50), fields), fields)
        case ("GET", "job"):
          let job = try await JobTimeline(of: fields["id"] ?? "", in: fleet)
          return page(job.status.id, FleetPages.job(job, hasValues: hasValues), fields)
        case ("POST", let action):
          return try await change(action, FormEncoding.fields(String(decoding: request.body, as: UTF8.self)))
        default: return .notFound
        }
      } catch {
        let status = [.usage: 400, .notFound: 404][(error as? CommandError)?.code] ?? 503
        return page("Error", "<p class=\"error\">\(String(describing: error))</p>", fields, status: status)
      }
    }

    private func overview() async throws -> HTML {
      async let running = fleet.jobs(in: [.running], limit: 200).jobs
      async let failed = fleet.deadLetters(limit: 20)
      let report = try await snapshots.latest()
      return try await FleetPages.overview(report, running: running, failed: failed)
    }

    private func change(_ action: String, _ fields: [String: String]) async throws -> LoopbackServer.Reply {
      let (id, name) = (fields["id"] ?? "", fields["name"] ?? "")
      switch action {
      case "retry":
        if try await !fleet.requeue(id), let reason = try await fleet.status(of: id)?.retryRefusal {
          return page("Not retried", "<h1>\(.link(to: id)) was not retried</h1><p>\(reason)</p>", fields, status: 409)
        }
      case "cancel": try await fleet.cancel(id, reason: "cancelled by hand")
      case "pause": try await fleet.pause(name)
      case "resume": try await fleet.resume(name)
      default: return .notFound
      }
      await snapshots.expire()
      return .redirect(to: fields["id"] == nil ? "./" : "job?id=\(FormEncoding.encoded(id))", status: 303)
    }

    private func page(_ title: String, _ body: HTML, _ fields: [String: String], status: Int = 200)
      -> LoopbackServer.Reply
    {
      PageLayout.reply(title, schema: fleet.schemaName, body, fields, status: status)
    }
  }

  /// The content of the pages.
  enum FleetPages {
    /// How many jobs are in each state, the last hour, the workers, and what failed.
    static func overview(_ report: FleetReport?, running: [FleetStatus], failed: [FleetStatus]) -> HTML {
      let failures = Table(failed.map(\.record), ["id", "name", "stage", "ended", "error"], else: "None.")
      return """
        \(report.map { counts($0, Dictionary(grouping: running) { $0.worker }) } ?? .note("Counting the jobs…"))
        <section><h2>Failed jobs</h2>
        \(.table(failures, last: ("", { failed[$0].isRequeueable ? .button("retry", "id", failed[$0].id) : "" })))</section>
        """
    }

    private static func counts(_ report: FleetReport, _ jobs: [Int64?: [FleetStatus]]) -> HTML {
      let states = Set(FleetState.all.map(\.description))
      let names = HTML.table(
        report.nameTable,
        last: ("", { .button(report.names[$0].isPaused ? "resume" : "pause", "name", report.names[$0].name) })
      ) { row, state, count in
        guard states.contains(state), case .number(let count?) = count, count > 0 else { return nil }
        let query = "state=\(state)&name=\(FormEncoding.encoded(report.names[row].name))"
        return "<a href=\"jobs?\(query)\">\(count.formatted())</a>"
      }
      let links = { (row: Int) -> HTML in
        let shown = (jobs[report.workers[row].id] ?? []).prefix(4).map { "\(.link(to: $0.id)) " as HTML }
        let more = report.workers[row].runningCount - shown.count
        return "\(shown)\(more > 0 ? "<a href=\"jobs?state=running\">\(more) more</a>" : nil)"
      }
      return """
        <section><h2>Jobs by name</h2>\(names)
        \(.note("Counted \(JSON.age((.now - report.began) / .seconds(1))) ago."))</section>
        <section><h2>Last hour</h2>\(chart(report.minutes))</section>
        <section><h2>Workers</h2>\(.table(report.workerTable, last: ("jobs", links)))</section>
        """
    }

    /// A page of jobs.
    static func jobs(_ page: FleetPage, _ fields: [String: String]) -> HTML {
      let filters = ["state", "name", "search"].compactMap { key in fields[key].map { (key, $0) } }
      let title = filters.isEmpty ? "All jobs" : "Jobs: " + filters.map { "\($0) \($1)" }.joined(separator: ", ")
      let next = page.next.map { next -> HTML in
        let query = (filters + [("after", next)]).map { "\($0)=\(FormEncoding.encoded($1))" }
        return "<p><a href=\"jobs?\(query.joined(separator: "&"))\">Next page</a></p>"
      }
      return "<h1>\(title)</h1><section>\(.table(page.table))</section>\(next)"
    }

    /// One job, with its stages or steps as a timeline.
    static func job(_ job: JobTimeline, hasValues: Bool) -> HTML {
      let status = job.status
      let fields = status.record.filter { !["id", "state", "error"].contains($0.name) && $0.value.brief != nil }
      let table = Table(fields.map { [("name", .string($0.name)), ("value", $0.value)] }, ["name", "value"], else: "")
      let cancel = HTML.button("cancel", "id", status.id, question: "Cancel this job?")
      let retry = status.isRequeueable ? HTML.button("retry", "id", status.id) : status.retryRefusal.map(HTML.note)
      let button = status.state.isFinal ? retry : cancel
      let steps = job.steps.map { $0.record(hasValue: hasValues) }
      let refused: HTML? =
        job.refusedSignals.isEmpty ? nil : "<section>\(.table(job.refusedTable(hasValues: hasValues)))</section>"
      return """
        <h1>\(status.id) \(.badge("\(status.state)"))</h1>\(status.state == .done ? nil : button)
        \(status.error.map { "<p class=\"error\">\($0)</p>" } as HTML?)
        <section class="timeline">\(HTML(trusted: job.trace.svg))</section><section>
        \(.table(table) { row, name, value in name == "value" ? .value(fields[row].name, value) : nil })</section>
        <section>\(.table(.steps(steps)))</section>\(refused)
        """
    }

    /// The jobs that ended in each minute of the last hour, and how long they took.
    private static func chart(_ minutes: [FleetActivity]) -> HTML {
      let first = (Date().timeIntervalSince1970 / 60).rounded(.down) - 59
      let shown = minutes.map { (x: ($0.start.timeIntervalSince1970 / 60).rounded() - first, minute: $0) }
        .filter { (0..<60).contains($0.x) && $0.minute.endedCount > 0 }
      guard let most = shown.map(\.minute.endedCount).max() else { return .note("No job has ended.") }
      let bars = shown.map { x, minute -> HTML in
        func bar(_ name: String, _ height: Double) -> HTML {
          "<rect class=\"\(name)\" x=\"\(x)\" y=\"\(Double(most) - height)\" width=\"0.8\" height=\"\(height)\"/>"
        }
        // A single failure among thousands is visible.
        let failed = minute.failedCount == 0 ? 0 : max(Double(minute.failedCount), Double(most) / 25)
        let title = Table.lines(of: minute.record).joined(separator: "\n")
        return "<g><title>\(title)</title>\(bar("done", Double(minute.endedCount)))\(bar("failed", failed))</g>"
      }
      func logarithm(_ time: Duration?) -> Double? { time.map { log10(max(0.001, $0 / .seconds(1))) } }
      let times = shown.flatMap { [logarithm($0.minute.median), logarithm($0.minute.percentile99)] }.compactMap(\.self)
      let low = floor(times.min() ?? 0)
      let high = max(low + 1, ceil(times.max() ?? 0))
      func marks(_ name: String, _ time: KeyPath<FleetActivity, Duration?>) -> HTML {
        let marks = shown.compactMap { x, minute in
          logarithm(minute[keyPath: time]).map { "M\(x) \(high - $0)h0.8" }
        }
        return "<path class=\"\(name)\" d=\"\(marks.joined())\"/>"
      }
      let grid = stride(from: 1, to: high - low, by: 1).map { "<path d=\"M0 \($0)H60\"/>" as HTML }
      let limits = [high, low].compactMap { JSON.duration(.seconds(pow(10, $0))).brief }
      let lines = grid + [marks("p99", \.percentile99), marks("p50", \.median)]
      return """
        <div class="charts">\(plot("Ended jobs a minute", ["done", "failed"], ["\(most)", "0"], Double(most), bars))
        \(plot("From start to end", ["p50", "p99"], limits, high - low, lines))</div>
        """
    }

    private static func plot(_ title: String, _ keys: [String], _ limits: [String], _ height: Double, _ content: [HTML])
      -> HTML
    {
      """
      <figure><figcaption>\(title) \(keys.map { "<span class=\"key \($0)\">\($0)</span>" as HTML })</figcaption>
      <div class="plot">\(limits.map { "<span>\($0)</span>" as HTML })
      <svg viewBox="0 0 60 \(height)" preserveAspectRatio="none" role="img" aria-label="\(title)">\(content)</svg></div>
      <div class="axis"><span>1 h ago</span><span>30 min</span><span>now</span></div></figure>
      """
    }
  }
#endif
