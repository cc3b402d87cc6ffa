// SPDX-License-Identifier: MIT
// Copyright (c) 2026 Stepwise contributors

import Stepwise
import StepwiseCheckpoints
import StepwiseTesting
import Testing

// The sources of the tutorial.

/// Stands in for a server that is busy at first.
actor WeatherServer {
  private var failures: Int

  init(failures: Int) { self.failures = failures }

  func forecast(for city: String) throws -> String {
    if failures > 0 {
      failures -= 1
      throw ServerIsBusy()
    }
    return "\(city): rain, 12 degrees"
  }
}

struct ServerIsBusy: Error {}

private nonisolated let printed = Recorder<String>()

private nonisolated func print(_ text: some Any) { printed.record("\(text)") }

func forecast(
  from server: WeatherServer,
  clock: any Clock<Duration> = ContinuousClock()
) -> Chain<String, String> {
  Chain("fetch") { (city: String) in try await server.forecast(for: city) }
    .retry(RetryPolicy(maxAttempts: 5, backoff: .exponential(from: .milliseconds(100))), clock: clock)
    .then("shout") { text in text.uppercased() }
    .onError { error, step in print("\(step) failed: \(error)") }
}

func report(from server: WeatherServer) -> Chain<[String], String> {
  Chain("report") { (cities: [String]) in
    var lines: [String] = []
    for city in cities {
      lines.append(try await step("fetch \(city)") { try await server.forecast(for: city) })
    }
    return lines.joined(separator: "\n")
  }
}

@Test func `A report has a step for each city`() async throws {
  let cities = ["Oslo", "Bergen"]
  #expect(
    try await report(from: WeatherServer(failures: 0)).run(cities) == "Oslo: rain, 12 degrees\nBergen: rain, 12 degrees"
  )
  let run = report(from: WeatherServer(failures: 1)).start(cities)
  _ = await run.outcome
  #expect(run.failedStep?.name == "fetch Oslo")
}

@Test func `A request to a busy server is retried`() async throws {
  let clock = ManualClock()
  let chain = forecast(from: WeatherServer(failures: 4), clock: clock)
  #expect(try await clock.run { try await chain.run("Oslo") } == "OSLO: RAIN, 12 DEGREES")
}

/// What the program of the tutorial prints.
@Suite(.timeLimit(.minutes(5)))
struct GettingStartedTests {
  @Test
  func `The first program prints the error of its step`() async {
    let printed = Recorder<String>()
    let print = Printer(printed: printed)
    func forecast(from server: WeatherServer) -> Chain<String, String> {
      Chain("fetch") { (city: String) in try await server.forecast(for: city) }
        .then("shout") { text in text.uppercased() }
        .onError { error, step in print("\(step) failed: \(error)") }
    }

    do {
      print(try await forecast(from: WeatherServer(failures: 2)).run("Oslo"))
    } catch {
      print("no forecast: \(error)")
    }

    #expect(printed.elements == ["fetch failed: ServerIsBusy()", "no forecast: ServerIsBusy()"])
  }

  @Test
  func `The events of a run name its steps and attempts`() async {
    let printed = Recorder<String>()
    func print(_ text: String) { printed.record(text) }

    let run = forecast(from: WeatherServer(failures: 1)).start("Bergen")
    for await event in run.events {
      switch event {
      case .stepStarted(let step): print("\(step) began")
      case .stepRetrying(let step, let attempt): print("\(step): attempt \(attempt)")
      case .ended(let state): print("ended: \(state)")
      default: break
      }
    }

    // A subscriber that is slow receives the latest state of a step alone.
    #expect(printed.elements.first == "fetch began")
    #expect(printed.elements.suffix(2) == ["shout began", "ended: succeeded with String"])
  }

  @Test
  func `A cancelled run has its reason`() async {
    let printed = Recorder<String>()
    func print(_ text: some Any) { printed.record("\(text)") }

    let waiting = forecast(from: WeatherServer(failures: .max)).start("Narvik")
    waiting.cancel(reason: "the user left")
    print(await waiting.outcome)

    #expect(printed.elements.first?.hasPrefix("cancelled: the user left") == true)
  }
}

/// The words that an app needs whose code is on the main actor.
@Suite(.timeLimit(.minutes(5)))
struct MainActorArticleTests {
  nonisolated struct Order: Codable, Sendable {
    let amount: Int
  }

  nonisolated func total(of orders: [Order]) -> Int { orders.reduce(0) { $0 + $1.amount } }

  @Test func `Values and functions of steps are not isolated`() async throws {
    let store = MemoryCheckpointStore()
    let chain = Chain("total") { (orders: [Order]) in try await step("sum") { total(of: orders) } }
    let orders = [Order(amount: 3), Order(amount: 4)]
    #expect(try await chain.run(orders, id: "total", in: store) == 7)
  }
}
