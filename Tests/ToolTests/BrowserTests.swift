// SPDX-License-Identifier: MIT
// Copyright (c) 2026 Stepwise contributors

#if Postgres
  import Foundation
  import Loopback
  import Stepwise
  import StepwiseFleet
  import Testing

  @testable import stepctl

  private let browser = ["chromium", "chromium-browser", "google-chrome"].lazy.flatMap { name in
    (ProcessInfo.processInfo.environment["PATH"] ?? "").split(separator: ":").map { "\($0)/\(name)" }
  }.first { FileManager.default.isExecutableFile(atPath: $0) }

  /// The page in Chromium; with STEPWISE_PICTURES, its pictures are left in that folder.
  @Suite(
    .serialized,
    .timeLimit(.minutes(10)),
    .enabled(
      if: SampleFleet.server != nil && browser != nil,
      "there is no Chromium, or STEPWISE_POSTGRES names no server"
    )
  )
  struct BrowserTests {
    private let directory: TemporaryDirectory
    private let pictures: URL

    init() throws {
      directory = try TemporaryDirectory()
      pictures =
        ProcessInfo.processInfo.environment["STEPWISE_PICTURES"].map { URL(fileURLWithPath: $0) } ?? directory.url
    }

    /// Runs Chromium until there is a result, at most three times, and returns what it prints.
    ///
    /// On a busy machine, it now and then ends before it has requested anything.
    private func chromium(
      _ options: [String],
      hasResult: (String) -> Bool = { !$0.isEmpty }
    ) async throws -> String {
      for _ in 1...3 {
        let text = try await runChromium(options)
        if hasResult(text) { return text }
      }
      return ""
    }

    /// Runs Chromium in a new profile, as the browser before may still be leaving.
    private func runChromium(_ options: [String]) async throws -> String {
      let profile = "--user-data-dir=\(directory.url.path)/\(UUID())"
      let arguments = ["--headless", "--no-sandbox", "--disable-gpu", "--hide-scrollbars", profile] + options
      let text: Result<String, any Error> = await withCheckedContinuation { continuation in
        Thread.detachNewThread {
          continuation.resume(
            returning: Result {
              let (process, output) = (Process(), Pipe())
              process.executableURL = URL(fileURLWithPath: browser ?? "")
              process.arguments = arguments
              process.standardOutput = output
              process.standardError = FileHandle.nullDevice
              try process.run()
              let data = output.fileHandleForReading.readDataToEndOfFile()
              process.waitUntilExit()
              return String(decoding: data, as: UTF8.self)
            }
          )
        }
      }
      return try text.get()
    }

    private func photograph(_ address: String, _ name: String) async throws {
      for (width, height) in [(400, 1_900), (1_200, 1_300)] {
        for (scheme, number) in [("dark", 0), ("light", 1)] {
          let file = pictures.appending(path: "\(name)-\(width)-\(scheme).png").path
          let options = [
            "--window-size=\(width),\(height)", "--blink-settings=preferredColorScheme=\(number)",
            "--screenshot=\(file)", "--virtual-time-budget=1000", address,
          ]
          _ = try await chromium(options) { _ in FileManager.default.fileExists(atPath: file) }
          let size = try FileManager.default.attributesOfItem(atPath: file)[.size] as? Int ?? 0
          #expect(size > 5_000, "\(file)")
        }
      }
    }

    /// Compares the colour of each text with what is behind it, and lists those whose contrast is below 4.5.
    private static let contrast = #"""
      <script>
      const parse = text => { const n = text.match(/[0-9.]+/g).map(Number); return n.length < 4 ? [...n, 1] : n }
      const over = (top, under) => [0, 1, 2].map(i => top[i] * top[3] + under[i] * (1 - top[3])).concat(1)
      const light = c => { const [r, g, b] = c.map(v => v / 255).map(v => v <= 0.04045 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4)
        return 0.2126 * r + 0.7152 * g + 0.0722 * b }
      const ratio = (a, b) => { const [x, y] = [light(a), light(b)]; return (Math.max(x, y) + 0.05) / (Math.min(x, y) + 0.05) }
      const behind = element => {
        const layers = []
        for (let e = element; e; e = e.parentElement) {
          layers.push(parse(getComputedStyle(e).backgroundColor))
          if (layers.at(-1)[3] === 1) break
        }
        const canvas = matchMedia("(prefers-color-scheme: dark)").matches ? [18, 18, 18, 1] : [255, 255, 255, 1]
        return layers.reverse().reduce((under, top) => over(top, under), canvas)
      }
      const low = []
      let count = 0
      const check = (element, text, colour, back) => {
        count += 1
        const value = ratio(over(parse(colour), back), back)
        if (value < 4.5) low.push(`${value.toFixed(2)} ${colour} on ${back} ${text.trim().slice(0, 30)}`)
      }
      for (const walker = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT); walker.nextNode();) {
        const [node, e] = [walker.currentNode, walker.currentNode.parentElement]
        if (!node.data.trim() || e.closest("script, style, noscript, title") || !e.getClientRects().length) continue
        const style = getComputedStyle(e)
        if (!(e instanceof SVGElement)) { check(e, node.data, style.color, behind(e)); continue }
        const svg = e.closest("svg"), box = e.getBoundingClientRect(), x = box.left + 1, y = (box.top + box.bottom) / 2
        let back = behind(svg)
        for (const shape of svg.querySelectorAll("rect")) {
          if (!(shape.compareDocumentPosition(e) & Node.DOCUMENT_POSITION_FOLLOWING)) break
          const b = shape.getBoundingClientRect(), fill = getComputedStyle(shape).fill
          if (fill !== "none" && b.left <= x && x <= b.right && b.top <= y && y <= b.bottom) {
            const top = parse(fill)
            top[3] *= getComputedStyle(shape).opacity * getComputedStyle(shape).fillOpacity
            back = over(top, back)
          }
        }
        check(e, node.data, style.fill, back)
      }
      for (const input of document.querySelectorAll("input[placeholder]")) {
        check(input, input.placeholder, getComputedStyle(input, "::placeholder").color, behind(input))
      }
      document.body.append(`CHECKED ${count} LOW ${low.length} ${low.join("; ")} END`)
      </script>
      """#

    // G212
    @Test(arguments: [0, 10, 10_000])
    func `Every text has a contrast of at least 4.5, in light and dark, on small and large screens`(count: Int)
      async throws
    {
      let sample = try await SampleFleet()
      if count > 0 { try await sample.fillWithTen() }
      if count > 10 { try await sample.fill(count - 10) }
      if count > 0 { try await sample.fleet.schedule("nightly", cron: "0 3 * * *", SampleFleet.Import.done(1)) }
      let pages = FleetSite(
        pages: FleetPages(hasValues: true, isReadOnly: false),
        snapshots: FleetSnapshots(sample.fleet)
      )
      // The page without its own script, and with one that measures.
      let server = try LoopbackServer { request in
        let (reply, done) = (Once<LoopbackServer.Reply>(), DispatchSemaphore(value: 0))
        _ = spawn {
          reply.settle(await pages.reply(to: request, path: String(request.path.dropFirst())))
          done.signal()
        }
        done.wait()
        let text = String(decoding: reply.settled?.body ?? [], as: UTF8.self)
        let body = text.components(separatedBy: "<script nonce")[0]
        return .ok(Array((body + Self.contrast).utf8), contentType: "text/html; charset=utf-8")
      }
      defer { server.stop() }
      var paths = ["/", "/jobs", "/jobs?search=none"]
      if count == 10 { paths += ["failed-1", "mail-1", "running-1", "cancelled-1", "done-1"].map { "/job?id=\($0)" } }
      while try await pages.snapshots.latest(waitingUpTo: .seconds(10)) == nil {}
      for path in paths {
        for width in [400, 1_200] {
          for scheme in [0, 1] {
            let page = try await chromium([
              "--window-size=\(width),1200", "--blink-settings=preferredColorScheme=\(scheme)",
              "--virtual-time-budget=1000",
              "--dump-dom", server.address + path,
            ]) { $0.contains(" END") }
            let result = page.components(separatedBy: "CHECKED ").last?.components(separatedBy: " END").first ?? ""
            let checked = Int(result.prefix { $0.isNumber }) ?? 0
            #expect(checked > 4 && result.contains(" LOW 0"), "\(path) \(width) \(scheme): \(result.prefix(900))")
          }
        }
      }
      try await sample.drop()
    }

    @Test(arguments: [0, 10, 100_000])
    func `The page shows up to 100,000 jobs, and refreshes`(count: Int) async throws {
      let sample = try await SampleFleet()
      if count > 0 { try await sample.fillWithTen() }
      if count > 10 { try await sample.fill(count - 10) }
      let server = try FleetServer(sample.fleet, hasValues: false)
      defer { server.server.stop() }
      try await photograph(server.address, "fleet-\(count)")
      let before = server.server.requestCount
      let page = try await chromium(["--virtual-time-budget=9000", "--dump-dom", server.address])
      #expect(page.contains("<title>Fleet · \(sample.schema)</title>"), "\(page)")
      #expect(page.contains(count == 0 ? "There are no jobs." : "web-1 (host a)"), "\(page)")
      #expect(server.server.requestCount > before + 1)
      if count == 10 {
        for id in ["failed-1", SampleFleet.script] {
          let job = "\(server.address)job?id=\(FormEncoding.encoded(id))"
          let page = try await chromium(["--virtual-time-budget=1000", "--dump-dom", job])
          #expect(!page.contains("<title>pwned") && page.contains("Timeline of a run"), "\(page)")
        }
        try await photograph("\(server.address)job?id=failed-1", "job")
        try await photograph("\(server.address)jobs", "jobs")
      }
      try await sample.drop()
    }
  }
#endif
