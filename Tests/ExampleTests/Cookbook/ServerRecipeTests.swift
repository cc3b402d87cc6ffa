// SPDX-License-Identifier: MIT
// Copyright (c) 2026 Stepwise contributors

import Foundation
import Stepwise
import StepwiseTesting
import Testing

/// The recipes of the cookbook for servers that are slow, busy or down.
@Suite(.timeLimit(.minutes(5)))
struct ServerRecipeTests {
  let clock = ManualClock()
  let log = Recorder<String>()

  struct NotReady: Error {}

  @Test
  func `A report is polled until it is ready`() async throws {
    let (clock, log) = (clock, log)
    @Sendable func report(_ id: Int) async throws -> String? {
      log.record("poll \(id)")
      return log.elements.count < 3 ? nil : "ready"
    }

    let poll = Chain("report") { (id: Int) in
      guard let report = try await report(id) else { throw NotReady() }
      return report
    }
    .retry(
      RetryPolicy(maxAttempts: .max, backoff: .constant(.seconds(2)), maxElapsed: .seconds(60)),
      if: { error in error is NotReady },
      clock: clock
    )

    #expect(try await clock.run { try await poll.run(7) } == "ready")
    #expect(clock.now.offset == .seconds(4))
  }

  @Test
  func `An upload retries each chunk and reports its progress`() async throws {
    let (clock, log) = (clock, log)
    @Sendable func put(_ chunk: String) async throws {
      log.record(chunk)
      if log.elements == ["a", "b"] { throw Failure("connection lost") }
    }

    let send = Chain("send") { (chunk: String) in try await put(chunk) }
      .retry(RetryPolicy(maxAttempts: 4, backoff: .exponential(from: .seconds(1))), clock: clock)
    let upload = Chain("split") { (file: String) in file.map { character in "\(character)" } }
      .thenMap("send", maxConcurrent: 1) { chunk in try await send.run(chunk) }

    let fractions = try await clock.run {
      let run = upload.start("abcd")
      var fractions: [Double] = []
      for await progress in run.progress { fractions.append(progress.fractionCompleted) }
      _ = try await run.value
      return fractions
    }
    #expect(log.elements == ["a", "b", "b", "c", "d"])
    #expect(fractions.last == 1 && fractions == fractions.sorted())
  }

  @Test
  func `A second mirror is tried when the first one is slow`() async throws {
    let (clock, log) = (clock, log)
    let main = Chain("main") { (file: String) in
      try await clock.sleep(for: .seconds(5))
      return "main \(file)"
    }
    let mirror = Chain("mirror") { (file: String) in
      log.record("mirror")
      return "mirror \(file)"
    }

    let delayed = Chain("wait") { (file: String) in
      try await clock.sleep(for: .milliseconds(200))
      return file
    }
    .appending(mirror)
    let fastest = Chain.race(main, delayed)

    #expect(try await clock.run { try await fastest.run("a.zip") } == "mirror a.zip")
    #expect(clock.now.offset == .milliseconds(200))
  }

  struct Offline: Error {}

  @Test
  func `Without a network the stored news are shown`() async throws {
    let stored = ["old news"]
    @Sendable func fetchNews(_ topic: String) async throws -> [String] {
      if topic == "gossip" { throw Failure("no such topic") }
      throw Offline()
    }

    let news = Chain("fetch") { (topic: String) in try await fetchNews(topic) }
      .recover(from: Offline.self) { _ in stored }

    #expect(try await news.run("swift") == ["old news"])
    await #expect(throws: Failure("no such topic")) { try await news.run("gossip") }
  }

  @Test
  func `A page shows what could be loaded`() async throws {
    let weather = Chain("weather") { (_: String) -> String in throw Offline() }
    let news = Chain("news") { (city: String) in ["\(city) wins"] }

    let page = Chain.zip(weather.recover { _ in "no weather" }, news)
    let (forecast, headlines) = try await page.run("Oslo")

    #expect(forecast == "no weather")
    #expect(headlines == ["Oslo wins"])
  }

  @Test
  func `A batch goes on after failures and returns them`() async throws {
    @Sendable func convert(_ file: String) async throws -> Int {
      guard let number = Int(file) else { throw Failure("\(file) is not a number") }
      return number
    }

    let shown = Recorder<Int?>()
    func show(_ result: Result<Int, any Error>) { shown.record(try? result.get()) }

    let batch = Chain("list") { (files: [String]) in files }
      .thenMap("convert", maxConcurrent: 4, failures: .kept) { file in try await convert(file) }
    for result in try await batch.run(["1", "two", "3"]) { show(result) }

    #expect(shown.elements == [1, nil, 3])

    let all = Chain("convert all") { (files: [String]) in
      try await withThrowingTaskGroup(of: (file: String, number: Int?).self) { group in
        for file in files {
          group.addTask {
            do {
              return (file, try await step("convert \(file)", timeout: .seconds(60)) { try await convert(file) })
            } catch {
              try Task.checkCancellation()
              return (file, nil)
            }
          }
        }
        return try await group.reduce(into: [:]) { numbers, result in numbers[result.file] = result.number }
      }
    }

    #expect(try await all.run(["1", "two", "3"]) == ["1": 1, "3": 3])
  }
}
