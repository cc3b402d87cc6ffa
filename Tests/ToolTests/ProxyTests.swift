// SPDX-License-Identifier: MIT
// Copyright (c) 2026 Stepwise contributors

#if Postgres
  import Foundation
  import Loopback
  import Stepwise
  import StepwiseFleet
  import Testing

  @testable import stepctl

  private let nginx = ["/usr/sbin/nginx", "/usr/bin/nginx", "/opt/homebrew/bin/nginx"].first {
    FileManager.default.isExecutableFile(atPath: $0)
  }

  /// The page behind nginx, with the configuration of the article *Operate a fleet*.
  @Suite(
    .timeLimit(.minutes(5)),
    .enabled(if: SampleFleet.server != nil && nginx != nil, "there is no nginx, or STEPWISE_POSTGRES names no server")
  )
  struct ProxyTests {
    private let directory: TemporaryDirectory

    init() throws { directory = try TemporaryDirectory() }

    /// Sends a request and returns its status and the rest of the answer.
    private func send(_ port: UInt16, _ lines: [String], _ body: String = "") async -> (status: Int, text: String) {
      let head = lines + ["Connection: close", "Content-Length: \(body.utf8.count)", "", body]
      let text: String = await withCheckedContinuation { continuation in
        Thread.detachNewThread {
          guard let socket = Socket.connected(port: port) else { return continuation.resume(returning: "") }
          var received: [UInt8] = []
          if socket.send(Array(head.joined(separator: "\r\n").utf8)[...]) {
            while let bytes = socket.receive() { received += bytes }
          }
          socket.close()
          continuation.resume(returning: String(decoding: received, as: UTF8.self))
        }
      }
      return (Int(text.split(separator: " ").dropFirst().first ?? "") ?? 0, text)
    }

    /// The configuration in the article, for other ports and files.
    private func configuration(_ port: UInt16, _ page: FleetServer) throws -> String {
      let root = URL(fileURLWithPath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
        .deletingLastPathComponent()
      let file = "Sources/StepwiseFleet/Documentation.docc/OperateAFleet.md"
      let article = try String(contentsOf: root.appending(path: file), encoding: .utf8)
      let parts = article.components(separatedBy: "```nginx\n")
      let server = try #require(parts.dropFirst().first?.components(separatedBy: "```").first)
      let files = directory.url.path
      let changes = [
        ("listen 443 ssl;", "listen 127.0.0.1:\(port);"), ("http://127.0.0.1:8080/TOKEN/", page.address),
        ("/etc/nginx/fleet.htpasswd", "\(files)/passwords"), ("/etc/nginx/ops", "\(files)/ops"),
      ]
      var text = server.split(separator: "\n").filter { !$0.contains("ssl_certificate") }.joined(separator: "\n")
      for (old, new) in changes {
        #expect(text.contains(old) || old == "/etc/nginx/ops", "\(old)")
        text = text.replacing(old, with: new)
      }
      let paths = ["client_body", "proxy", "fastcgi", "uwsgi", "scgi"].map { "\($0)_temp_path \(files)/\($0);" }
      return """
        \(getuid() == 0 ? "user root;" : "")
        daemon off; master_process off; pid \(files)/pid; error_log \(files)/errors;
        events {}
        http { access_log off; \(paths.joined(separator: " "))
        \(text)
        }
        """
    }

    // G211
    @Test
    func `Behind nginx with a password, the page is read and its buttons work`() async throws {
      let sample = try await SampleFleet()
      try await sample.fillWithTen()
      let free = try LoopbackServer { _ in .notFound }
      let (port, host) = (free.port, "ops.example.com:\(free.port)")
      free.stop()
      let page = try FleetServer(sample.fleet, hasValues: false, url: "http://\(host)/fleet/")
      defer { page.server.stop() }
      let file = directory.url.appending(path: "nginx.conf")
      try configuration(port, page).write(to: file, atomically: true, encoding: .utf8)
      try "ops:{PLAIN}secret\n".write(to: directory.url.appending(path: "passwords"), atomically: true, encoding: .utf8)
      let process = Process()
      process.executableURL = URL(fileURLWithPath: nginx ?? "")
      process.arguments = ["-p", directory.url.path, "-c", file.path]
      for stream in [\Process.standardOutput, \.standardError] { process[keyPath: stream] = FileHandle.nullDevice }
      try process.run()
      // The signals that nginx would end with are blocked in it, as they are in this process.
      defer {
        kill(process.processIdentifier, SIGKILL)
        process.waitUntilExit()
      }
      let password = "Authorization: Basic \(Data("ops:secret".utf8).base64EncodedString())"
      func get(_ path: String, _ headers: [String] = [password]) async -> (status: Int, text: String) {
        await send(port, ["GET \(path) HTTP/1.1", "Host: \(host)"] + headers)
      }
      while await get("/fleet/").status == 0 {
        guard process.isRunning else {
          let errors = try? String(contentsOf: directory.url.appending(path: "errors"), encoding: .utf8)
          Issue.record("nginx has ended: \(errors ?? "")")
          return
        }
        await Task.yield()
      }
      #expect(await get("/fleet/", []).status == 401)
      #expect(
        await get("/fleet/", ["Authorization: Basic \(Data("ops:wrong".utf8).base64EncodedString())"]).status == 401
      )
      let jobs = await get("/fleet/jobs?state=failed")
      #expect(jobs.status == 200 && jobs.text.contains("href=\"job?id=failed%2D1\""), "\(jobs)")
      func retry(_ origin: String) async -> (status: Int, text: String) {
        let type = "Content-Type: application/x-www-form-urlencoded"
        let lines = ["POST /fleet/retry HTTP/1.1", "Host: \(host)", password, "Origin: \(origin)", type]
        return await send(port, lines, "id=failed-1")
      }
      #expect(await retry("https://evil.example").status == 403)
      let retried = await retry("http://\(host)")
      #expect(retried.status == 303 && retried.text.contains("Location: job?id=failed%2D1"), "\(retried)")
      #expect(try await sample.fleet.status(of: "failed-1")?.state == .queued)
      try await sample.drop()
    }
  }
#endif
