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
