// SPDX-License-Identifier: MIT
// Copyright (c) 2026 Stepwise contributors

#if Postgres
  import Foundation
  import Loopback
  import Stepwise
  import Testing

  @testable import StepwiseFleet
  @testable import stepctl

  /// The page: who may read it, and what it shows.
  @Suite(
    .serialized,
    .timeLimit(.minutes(5)),
    .enabled(if: SampleFleet.server != nil, "STEPWISE_POSTGRES names no server")
  )
  struct FleetServerTests {
    private struct Site {
      let sample: SampleFleet
      let server: FleetServer

      var url: URL { URL(string: server.address) ?? URL(fileURLWithPath: "/") }
      var port: UInt16 { UInt16(url.port ?? 0) }
      var host: String { "127.0.0.1:\(port)" }

      /// Sends a request to a path below the token, and returns status and text.
      func send(
        _ path: String,
        method: String = "GET",
        body: String = "",
        host: String? = nil,
        headers: [String] = [],
        withToken: Bool = true
      ) async throws -> (status: Int, text: String) {
        let target = withToken ? url.path + (url.path.hasSuffix("/") ? "" : "/") + path : "/" + path
        let lines =
          ["\(method) \(target) HTTP/1.1", "Host: \(host ?? self.host)", "Connection: close"] + headers
          + ["Content-Length: \(body.utf8.count)", "", body]
        let port = port
        let text: String = await withCheckedContinuation { continuation in
          Thread.detachNewThread {
            guard let socket = Socket.connected(port: port) else { return continuation.resume(returning: "") }
            defer { socket.close() }
            var received: [UInt8] = []
            if socket.send(Array(lines.joined(separator: "\r\n").utf8)[...]) {
              while let bytes = socket.receive() { received += bytes }
            }
            continuation.resume(returning: String(decoding: received, as: UTF8.self))
          }
        }
        return (Int(text.split(separator: " ").dropFirst().first ?? "") ?? 0, text)
      }

      /// Sends a form, as a browser does.
      func post(_ action: String, _ body: String, headers: [String]? = nil) async throws -> (status: Int, text: String)
      {
        try await send(action, method: "POST", body: body, headers: headers ?? ["Origin: http://\(host)"])
      }
    }

    private func withSite(
      hasValues: Bool = false,
      isReadOnly: Bool = false,
      url: String? = nil,
      idleLimit: Duration = .seconds(30),
      _ body: (Site) async throws -> Void
    ) async throws {
      let sample = try await SampleFleet()
      let server = try FleetServer(
        sample.fleet,
        hasValues: hasValues,
        isReadOnly: isReadOnly,
        url: url,
        idleLimit: idleLimit
      )
      defer { server.server.stop() }
      do {
        try await sample.fillWithTen()
        try await body(Site(sample: sample, server: server))
      } catch {
        try? await sample.drop()
        throw error
      }
      try await sample.drop()
    }

    @Test
    func `The overview has names, the last hour, workers and failures`() async throws {
      try await withSite { site in
        var page = try await site.send("")
        #expect(page.status == 200)
        while page.text.contains("Counting the jobs") { page = try await site.send("") }
        for text in [
          "<a href=\"jobs?state=failed&amp;name=Import\">2</a>", "<span class=\"badge paused\">paused</span>",
          "web-1 (host a)",
          "job?id=running%2D1", "jobs?state=queued,scheduled,waiting,running", "the disk is full\nat line 2",
          "aria-label=\"From start to end\"", "action=\"resume\"",
          "action=\"retry\"",
        ] { #expect(page.text.contains(text), "\(text) is not in \(page.text)") }
        #expect(page.text.contains("script-src 'nonce-") && page.text.contains("Cache-Control: no-store"))
      }
    }

    @Test
    func `A job that is a script is shown as text on every page`() async throws {
      try await withSite(hasValues: true) { site in
        let id = FormEncoding.encoded(SampleFleet.script)
        let escaped = "&lt;script&gt;document.title=&#39;pwned&#39;&lt;/script&gt;"
        _ = try await site.sample.fleet.names()
        for path in ["", "jobs", "jobs?search=\(id)", "jobs?name=\(id)", "job?id=\(id)", "job?id=\(id)other"] {
          let page = try await site.send(path)
          #expect(page.text.contains(escaped), "\(path): \(page.text)")
          #expect(!page.text.contains("<script>"), "\(path)")
        }
        #expect(try await site.post("retry", "id=\(id)").status == 303)
        #expect(try await site.sample.fleet.status(of: SampleFleet.script)?.state == .queued)
      }
    }

    @Test
    func `Text is escaped even if a combining character follows`() {
      let text = "&\u{301}<\u{301}>\u{200D}\"\u{301} style='\u{FE0F}"
      let page: HTML = "<p title=\"\(text)\">"
      let escaped = "&amp;\u{301}&lt;\u{301}&gt;\u{200D}&quot;\u{301} style=&#39;\u{FE0F}"
      #expect(Array(page.text.utf8) == Array("<p title=\"\(escaped)\">".utf8))
    }

    @Test
    func `A time to come is not shown as a past one, and no time as nothing`() {
      let now = Date().timeIntervalSince1970
      #expect(HTML.value("due", .time(now + 7_230)).text.hasSuffix(">in 2 h</time>"))
      #expect(HTML.value("due", .time(now - 7_230)).text.hasSuffix(">2 h ago</time>"))
      #expect(HTML.value("due", .time(nil)).text == "")
    }

    @Test(arguments: [false, true])
    func `A job's page has a timeline, and values only on request`(hasValues: Bool) async throws {
      try await withSite(hasValues: hasValues) { site in
        for id in [
          "failed-1", "damaged-1", "waiting-1", "cancelled-1", "queued-1", "scheduled-1", "running-1", "done-1",
        ] {
          let page = try await site.send("job?id=\(id)")
          #expect(page.status == 200 && page.text.contains("aria-label=\"Timeline of a run\""), "\(id): \(page.text)")
          #expect(page.text.contains("hunter2") == hasValues, "\(id)")
        }
        #expect(try await site.send("").text.contains("hunter2") == false)
        #expect(try await site.send("jobs").text.contains("hunter2") == false)
        let missing = try await site.send("job?id=other")
        #expect(try await site.send("jobs?state=lost").status == 400)
        #expect(try await site.send("jobs?tag=a,b").status == 400)
        let unknown = try await site.post("bulk", "action=retry&tag=none")
        #expect(unknown.text.contains("No job of the fleet has the tag none"))
        #expect(missing.status == 404 && missing.text.contains("does not exist"))
      }
    }

    @Test
    func `The page colours its charts, and not the timeline`() async throws {
      try await withSite { site in
        let page = try await site.send("job?id=failed-1")
        #expect(page.text.contains(".plot rect {") && !page.text.contains("\nrect {"))
      }
    }

    @Test(arguments: [false, true])
    func `A refused signal is shown, and its value only on request`(hasValues: Bool) async throws {
      try await withSite(hasValues: hasValues) { site in
        let fleet = site.sample.fleet
        try await fleet.send("hunter2", to: "running-1", signal: "amount")
        try await fleet.database.run("UPDATE @.signals SET refusal = 'hunter2 is no number'")
        let page = try await site.send("job?id=running-1")
        #expect(page.text.contains("refused signal") && page.text.contains(">amount<"))
        #expect(page.text.contains("hunter2 is no number") == hasValues)
        #expect(page.text.contains("hunter2") == hasValues)
      }
    }

    // G259
    @Test(arguments: [false, true])
    func `Of what a codec has encoded, the page shows the codec and the sizes`(hasValues: Bool) async throws {
      try await withSite(hasValues: hasValues) { site in
        try await site.sample.fillEncoded()
        for id in ["encoded-import", "encoded-order", "encoded-wait"] {
          let page = try await site.send("job?id=\(id)")
          #expect(page.status == 200 && !page.text.contains("hunter2") && !page.text.contains("//////"))
          #expect(page.text.contains("sample-1") && page.text.contains(/\d+ bytes, encoded by/), "\(page.text)")
        }
      }
    }

    @Test
    func `An order that was undone is run again, and a button that does nothing says why`() async throws {
      let sample = try await SampleFleet()
      let isFixed = Lock(false)
      let chain = Chain("order") { (n: Int) in
        if !isFixed.withLock({ $0 }) { throw TimeoutError(step: "pay", duration: .seconds(1)) }
        return n
      }
      sample.fleet.register(chain)
      try await sample.fleet.enqueue(chain, 1, id: "undone-1")
      let token = CancellationToken()
      let worker = Task { try await sample.fleet.work(until: token) }
      let site = Site(sample: sample, server: try FleetServer(sample.fleet, hasValues: false))
      while try await sample.fleet.status(of: "undone-1")?.state != .failed { await Task.yield() }
      let page = try await site.send("job?id=undone-1")
      #expect(page.text.contains("<button>Run again</button>") && page.text.contains("starts a new run with its input"))
      #expect(page.text.contains("<h2>Attempts</h2>"))
      isFixed.withLock { $0 = true }
      #expect(try await site.post("retry", "id=undone-1").status == 303)
      while try await sample.fleet.status(of: "undone-1")?.state != .done { await Task.yield() }
      let refused = try await site.post("retry", "id=undone-1")
      #expect(
        refused.status == 409 && refused.text.contains("It is done: only a failed or cancelled job can be retried.")
      )
      token.cancel()
      try await worker.value
      site.server.server.stop()
      try await sample.drop()
    }

    @Test
    func `Every action that is refused says why`() async throws {
      try await withSite { site in
        for (action, body, reason) in [
          ("retry", "id=running-1", "It is running: only a failed or cancelled job can be retried."),
          ("cancel", "id=done-1", "It is done: a job that has ended cannot be cancelled."),
          ("pause", "name=Mail", "It was paused already."), ("resume", "name=Import", "It was not paused."),
          ("pause", "id=done-1", "a job that has ended does not run again"),
          ("resume", "id=queued-1", "It was not paused."),
          ("bulk", "action=retry&name=Nothing", "The filter matches 0 jobs."),
          ("bulk", "action=retry&sure=yes", "The filter matches all 10 jobs of the fleet."),
          ("bulk", "action=prune&state=queued", "have not ended"),
        ] {
          let reply = try await site.post(action, body)
          #expect(reply.status == 409 && reply.text.contains(reason), "\(action) \(body): \(reply)")
        }
        for (action, body, status) in [
          ("retry", "id=other", 404), ("pause", "id=other", 404), ("bulk", "action=drop", 400),
          ("bulk", "action=prioritize&state=queued", 400),
        ] { #expect(try await site.post(action, body).status == status, "\(action) \(body)") }
      }
    }

    @Test
    func `All jobs of a filter are counted, then changed, with their progress`() async throws {
      try await withSite { site in
        let fleet = site.sample.fleet
        try await site.sample.fill(10_000)
        var page = try await site.send("")
        while page.text.contains("Counting the jobs") { page = try await site.send("") }
        #expect(page.text.contains("connection to 10.0.3.17 timed out after 30 seconds"))
        #expect(page.text.contains("<button>Retry all</button>") && page.text.contains("There are no schedules."))
        page = try await site.send("jobs?state=failed&error=timed+out")
        #expect(page.text.contains("<form class=\"bulk\"") && page.text.contains("name=\"error\" value=\"timed out\""))
        let fields = "action=retry&state=failed&error=timed+out+after+5"
        let count = (try await fleet.counts()[.failed] ?? 0) - 3
        let counted = try await site.post("bulk", fields)
        #expect(counted.status == 200 && counted.text.contains("<button>Retry \(count) jobs</button>"), "\(counted)")
        #expect(try await fleet.counts()[.failed] == count + 3)
        let begun = try await site.post("bulk", fields + "&sure=yes")
        #expect(begun.status == 303 && begun.text.contains("Location: jobs?state=failed&error=timed%20out%20after%205"))
        while try await !site.send("jobs").text.contains("\(count) of \(count) jobs, done") { await Task.yield() }
        #expect(try await fleet.counts()[.failed] == 3)
      }
    }

    // G235
    @Test
    func `Jobs are found and changed by tag on the page`() async throws {
      try await withSite { site in
        let fleet = site.sample.fleet
        try await fleet.database.run("UPDATE @.jobs SET tags = '{gpu,eu}' WHERE id IN ('failed-1', 'mail-1')")
        let list = try await site.send("jobs?tag=gpu")
        #expect(list.text.contains("job?id=failed%2D1") && list.text.contains("job?id=mail%2D1"))
        #expect(!list.text.contains("job?id=damaged%2D1") && list.text.contains(">gpu, eu</td>"), "\(list)")
        #expect(list.text.contains("<input name=\"tag\" value=\"gpu\">"))
        #expect(list.text.contains("<input type=\"hidden\" name=\"tag\" value=\"gpu\">"))
        let counted = try await site.post("bulk", "action=retry&tag=gpu")
        #expect(
          counted.text.contains("<button>Retry 1 jobs</button>") && counted.text.contains("1 of 2 jobs have neither")
        )
        try #require(try await site.post("bulk", "action=retry&tag=gpu&sure=yes").status == 303)
        while try await fleet.status(of: "failed-1")?.state != .queued { await Task.yield() }
        #expect(try await fleet.status(of: "damaged-1")?.state == .failed)
      }
    }

    @Test
    func `A failed order that is held has a button that undoes it`() async throws {
      try await withSite { site in
        #expect(try await !site.send("job?id=failed-1").text.contains("<button>Undo</button>"))
        #expect(try await site.send("job?id=failed-1").text.contains("A retry runs stage 2 again."))
        try await site.sample.fleet.database.run(
          "UPDATE @.jobs SET name = 'chain order', fence = 1, stage = NULL WHERE id = 'failed-1'"
        )
        let page = try await site.send("job?id=failed-1")
        #expect(page.text.contains("<button>Undo</button>") && page.text.contains("A retry continues the run"))
        #expect(try await site.post("cancel", "id=failed-1").status == 303)
        #expect(try await site.sample.fleet.status(of: "failed-1")?.isCancellationRequested == true)
      }
    }

    @Test
    func `A job's page says what it waits for`() async throws {
      try await withSite { site in
        let mail = try await site.send("job?id=mail-1")
        #expect(mail.text.contains("It waits for its name to be resumed, for "), "\(mail)")
        #expect(try await site.send("job?id=scheduled-1").text.contains("It waits for its next attempt"))
        #expect(try await !site.send("job?id=running-1").text.contains("It waits for"))
        #expect(try await site.post("pause", "id=queued-1").status == 303)
        let paused = try await site.send("job?id=queued-1")
        #expect(paused.text.contains("the job to be resumed") && paused.text.contains("<button>Resume</button>"))
        try await site.sample.fleet.schedule("nightly", cron: "0 3 * * *", SampleFleet.Import.done(1))
        #expect(try await site.send("").text.contains("<button>Run now</button>"))
        let run = try await site.post("run", "name=nightly")
        #expect(run.status == 303 && run.text.contains("Location: job?id=nightly%40"))
      }
    }

    // G210
    @Test
    func `The metrics have the jobs by name and state, the oldest, and the workers`() async throws {
      try await withSite { site in
        try await site.sample.fleet.pause("quote\" and \\")
        let page = try await site.send("metrics", withToken: false)
        #expect(page.status == 200 && page.text.contains("Content-Type: text/plain; version=0.0.4"))
        let lines = page.text.split(separator: "\r\n").last?.split(separator: "\n").map(String.init) ?? []
        for line in [
          #"stepwise_fleet_jobs{name="Import",state="failed"} 2"#,
          #"stepwise_fleet_jobs{name="Mail",state="queued"} 1"#,
          #"stepwise_fleet_jobs{name="Mail",state="running"} 0"#, #"stepwise_fleet_workers{name="Import"} 1"#,
          #"stepwise_fleet_paused{name="Mail"} 1"#, #"stepwise_fleet_paused{name="quote\" and \\"} 1"#,
          #"stepwise_fleet_worker_running{worker="web-1 (host a)",id="7"} 1"#, "# TYPE stepwise_fleet_jobs gauge",
        ] { #expect(lines.contains(line), "\(line) is not in \(lines)") }
        let oldest = lines.first { $0.hasPrefix(#"stepwise_fleet_oldest_queued_seconds{name="Mail"} "#) }
        let age = oldest.flatMap { $0.split(separator: " ").last.flatMap { Double($0) } }
        #expect((400..<1_000).contains(age ?? 0), "\(oldest ?? "none")")
        // Each line is a comment or a sample.
        let sample = /[a-z_]+(\{([a-z]+="([^"\\\n]|\\.)*",?)*\})? -?[0-9.e-]+/
        #expect(lines.allSatisfy { $0.hasPrefix("# ") || $0.wholeMatch(of: sample) != nil }, "\(lines)")
        #expect(try await site.send("health", withToken: false).text.contains("1 workers have a lease"))
        for path in ["metrics", "health"] {
          #expect(try await site.send(path, host: "evil.example", withToken: false).status == 403)
        }
      }
    }

    @Test
    func `The health says when the database does not answer`() async throws {
      let fleet = Fleet("host=127.0.0.1 port=1", configuration: FleetConfiguration(listens: false))
      let sample = try await SampleFleet()
      let site = Site(sample: sample, server: try FleetServer(fleet, hasValues: false))
      for path in ["health", "metrics"] { #expect(try await site.send(path, withToken: false).status == 503) }
      site.server.server.stop()
      try await sample.drop()
    }

    // G211
    @Test
    func `A page that is read-only changes nothing and has no button`() async throws {
      try await withSite(isReadOnly: true) { site in
        for path in ["", "jobs", "jobs?state=failed", "job?id=failed-1", "job?id=queued-1"] {
          let page = try await site.send(path)
          #expect(page.status == 200 && !page.text.contains("method=\"post\""), "\(path)")
        }
        for (action, body) in [
          ("retry", "id=failed-1"), ("pause", "name=Import"), ("bulk", "action=retry&state=failed&sure=yes"),
        ] {
          let reply = try await site.post(action, body)
          #expect(reply.status == 403 && reply.text.contains("read-only"), "\(action)")
        }
        #expect(try await site.sample.fleet.status(of: "failed-1")?.state == .failed)
        #expect(try await site.sample.fleet.status(of: "failed-1")?.isPaused == false)
      }
    }

    // G211
    @Test
    func `Behind a proxy the page accepts its host and origin, and no other`() async throws {
      try await withSite(url: "https://ops.example.com/fleet/") { site in
        let host = "ops.example.com"
        let page = try await site.send("", host: host)
        #expect(page.status == 200)
        func retry(_ host: String, _ origin: String) async throws -> Int {
          let headers = ["Origin: \(origin)"]
          return try await site.send("retry", method: "POST", body: "id=failed-1", host: host, headers: headers).status
        }
        for (host, origin) in [
          (host, "http://ops.example.com"), (host, "https://evil.example"), (host, "http://\(site.host)"),
          (site.host, "https://ops.example.com"), ("evil.example", "https://evil.example"),
        ] { #expect(try await retry(host, origin) == 403, "\(host) \(origin)") }
        #expect(try await retry(host, "https://ops.example.com") == 303)
        #expect(try await site.sample.fleet.status(of: "failed-1")?.state == .queued)
        let invalid = try? FleetServer(site.sample.fleet, hasValues: false, url: "ops.example.com")
        #expect(invalid == nil)
      }
    }

    // G211
    @Test
    func `A connection without a request is closed`() async throws {
      try await withSite(idleLimit: .milliseconds(100)) { site in
        let port = site.port
        let received: [UInt8]? = await withCheckedContinuation { continuation in
          Thread.detachNewThread {
            guard let socket = Socket.connected(port: port) else { return continuation.resume(returning: [1]) }
            // A server that keeps the connection answers the rest of the request after this time.
            socket.limitWaits(to: .seconds(20))
            _ = socket.send(Array("GET / HTTP/1.1\r\n".utf8)[...])
            var received = socket.receive()
            if socket.send(Array("Host: localhost\r\nConnection: close\r\n\r\n".utf8)[...]) {
              received = received ?? socket.receive()
            }
            socket.close()
            continuation.resume(returning: received)
          }
        }
        #expect(received == nil)
        let page = try await site.send("")
        #expect(page.status == 200)
      }
    }

    @Test
    func `A token has at least 20 letters and digits`() throws {
      let directory = try TemporaryDirectory()
      let file = directory.url.appending(path: "token").path
      for (text, isValid) in [("abcdefghij0123456789\n", true), ("short", false), ("abcdefghij0123456789/", false)] {
        try text.write(toFile: file, atomically: true, encoding: .utf8)
        let token = try? FleetServer.token(in: file)
        #expect(token == (isValid ? "abcdefghij0123456789" : nil))
      }
    }

    @Test
    func `Buttons retry, cancel, pause and resume`() async throws {
      try await withSite { site in
        let fleet = site.sample.fleet
        let retried = try await site.post("retry", "id=failed-1")
        #expect(retried.status == 303 && retried.text.contains("Location: job?id=failed%2D1"))
        #expect(try await fleet.status(of: "failed-1")?.state == .queued)
        #expect(try await site.post("cancel", "id=waiting-1").status == 303)
        #expect(try await fleet.status(of: "waiting-1")?.state == .cancelled)
        #expect(try await site.post("pause", "name=Import").status == 303)
        #expect(try await fleet.status(of: "failed-1")?.isPaused == true)
        #expect(try await site.post("resume", "name=Import").status == 303)
        #expect(try await fleet.status(of: "failed-1")?.isPaused == false)
        #expect(try await site.post("drop", "id=failed-1").status == 404)
      }
    }

    @Test
    func `Requests with a foreign host or origin or a wrong token are refused`() async throws {
      try await withSite { site in
        for host in ["evil.example", "evil.example:\(site.port)", "127.0.0.1", "127.0.0.1:1", "[::1]:\(site.port)", ""]
        {
          #expect(try await site.send("", host: host).status == 403, "\(host)")
        }
        #expect(try await site.send("", host: "localhost:\(site.port)").status == 200)
        for origin in [
          "http://evil.example", "null", "https://\(site.host)", "http://127.0.0.1", "http://localhost:\(site.port)",
        ] {
          #expect(try await site.send("", headers: ["Origin: \(origin)"]).status == 403, "\(origin)")
          #expect(
            try await site.post("retry", "id=failed-1", headers: ["Origin: \(origin)"]).status == 403,
            "\(origin)"
          )
        }
        #expect(try await site.post("retry", "id=failed-1", headers: []).status == 403)
        let origin = ["Origin: http://\(site.host)"]
        let token = site.url.path.split(separator: "/").first.map(String.init) ?? ""
        let wrong = String(token.dropLast()) + (token.hasSuffix("0") ? "1" : "0")
        for path in [
          "", "retry", "\(wrong)/", "\(wrong)/retry", "\(token.dropLast())/", token, "\(token)x/retry", "/\(token)/",
        ] {
          #expect(try await site.send(path, withToken: false).status == 403, "\(path)")
          let post = try await site.send(path, method: "POST", body: "id=failed-1", headers: origin, withToken: false)
          #expect(post.status == 403, "\(path)")
        }
        #expect(try await site.sample.fleet.status(of: "failed-1")?.state == .failed)
        let large = try await site.send("retry", method: "POST", headers: origin + ["Content-Length: 100000"])
        #expect(large.status == 413)
      }
    }

    @Test
    func `Forms and queries are decoded as browsers encode them`() {
      let text = "a b&c=d+e%é/\u{0}\n"
      #expect(
        FormEncoding.fields("x=\(FormEncoding.encoded(text))&y=1+2&z=%zz%4&w=") == [
          "x": text, "y": "1 2", "z": "%zz%4",
        ]
      )
    }

    @Test
    func `Only new minutes are read again, and none is counted twice`() async throws {
      let sample = try await SampleFleet()
      try await sample.fillWithTen()
      let report = try await FleetReport(of: sample.fleet)
      let before = report.minutes
      #expect(try await FleetReport(of: sample.fleet, after: report).minutes == before)
      #expect(before.map(\.endedCount).reduce(0, +) == 4)
      try await sample.drop()
    }
  }
#endif
