// SPDX-License-Identifier: MIT
// Copyright (c) 2026 Stepwise contributors

import Stepwise
import StepwiseTesting
import Testing

/// A first program, written from the README and the article *Getting started*: a telescope takes pictures of a star.
private struct Target: Sendable {
  var star: String
  var exposures: Int
}

private struct Clouds: Error {}

/// Stands in for the telescope. Some frames are behind clouds at first, and a mount that is stuck never arrives.
private actor Observatory {
  private(set) var log: [String] = []
  private var clouds: [Int: Int]
  private let isStuck: Bool

  init(clouds: [Int: Int] = [:], isStuck: Bool = false) {
    self.clouds = clouds
    self.isStuck = isStuck
  }

  func openDome() { log.append("open") }
  func closeDome() { log.append("close") }
  func park() { log.append("park") }
  func delete(_ frame: String) { log.append("delete \(frame)") }
  func stack(_ frames: [String]) -> String { frames.joined(separator: "+") }

  func slew(to star: String, clock: any Clock<Duration>) async throws {
    log.append("slew to \(star)")
    try await clock.sleep(for: isStuck ? .seconds(3_600) : .seconds(20))
  }

  func expose(_ number: Int) throws -> String {
    if let count = clouds[number], count > 0 {
      clouds[number] = count - 1
      throw Clouds()
    }
    log.append("expose \(number)")
    return "frame \(number)"
  }
}

private func observation(with telescope: Observatory, clock: any Clock<Duration>) -> Chain<Target, String> {
  Chain("observe") { (target: Target) in
    StepProgress.expect(steps: 4 + target.exposures)
    try await step("open the dome") { await telescope.openDome() }
    try await step("slew", timeout: .seconds(60), clock: clock) {
      try await telescope.slew(to: target.star, clock: clock)
    } undo: {
      await telescope.park()
    }
    var frames: [String] = []
    for number in 1...target.exposures {
      let policy = RetryPolicy(maxAttempts: 3, backoff: .constant(.seconds(300)))
      let frame = try await step("expose \(number)", retry: policy, clock: clock) {
        try await telescope.expose(number)
      } undo: { frame in
        await telescope.delete(frame)
      }
      frames.append(frame)
    }
    async let picture = step("stack") { [frames] in await telescope.stack(frames) }
    async let count = step("count") { [frames] in frames.count }
    return try await "\(target.star): \(picture), \(count) frames"
  }
  .finally { _ in await telescope.closeDome() }
  .overlap(.serial)
}

/// Prints to a recorder what the steps of a run do.
private struct NightLog: RunObserver {
  let lines: Recorder<String>

  func attemptFailed(_ step: ObservedStep, attempt: Int, error: any Error) {
    lines.record("\(step): attempt \(attempt) failed")
  }

  func stepFinished(_ step: ObservedStep, duration: Duration, error: (any Error)?) {
    lines.record("\(step) \(error == nil ? "is done" : "failed")")
  }
}

@Suite struct FirstProgramTests {
  private let clock = ManualClock()
  private let lines = Recorder<String>()

  private func chain(_ telescope: Observatory) -> Chain<Target, String> {
    observation(with: telescope, clock: clock).observed(by: NightLog(lines: lines))
  }

  @Test func `A first program retries, shows what it does, and returns its value`() async throws {
    let telescope = Observatory(clouds: [1: 2])
    let run = try await clock.run {
      let run = chain(telescope).start(Target(star: "Vega", exposures: 2))
      _ = await run.outcome
      return run
    }
    #expect(try await run.value == "Vega: frame 1+frame 2, 2 frames")
    #expect(clock.now.offset == .seconds(20 + 2 * 300))
    #expect(await telescope.log == ["open", "slew to Vega", "expose 1", "expose 2", "close"])
    #expect(
      lines.elements.prefix(6) == [
        "open the dome is done", "slew is done", "expose 1: attempt 1 failed", "expose 1: attempt 2 failed",
        "expose 1 is done", "expose 2 is done",
      ]
    )
    #expect(Set(lines.elements.dropFirst(6).prefix(2)) == ["stack is done", "count is done"])
    #expect(lines.elements.last == "observe is done")

    var last = 0.0
    for await progress in run.progress {
      #expect(progress.fractionCompleted >= last)
      last = progress.fractionCompleted
    }
    #expect(last == 1)
    for await event in run.events {
      if case .ended(let state) = event { lines.record("\(state)") }
    }
    #expect(lines.elements.last == "succeeded with String")
  }

  @Test func `A first program that exceeds its time limit undoes, finishes and names the step`() async throws {
    let telescope = Observatory(isStuck: true)
    let run = try await clock.run {
      let run = chain(telescope).start(Target(star: "Vega", exposures: 2))
      _ = await run.outcome
      return run
    }
    let error = await #expect(throws: TimeoutError.self) { try await run.value }
    #expect(error.map { "\($0)" } == "slew did not end within 60 seconds")
    #expect(run.failedStep?.name == "slew")
    #expect(await telescope.log == ["open", "slew to Vega", "close"])
  }

  @Test func `A first program that is cancelled undoes what is done, newest first`() async throws {
    let telescope = Observatory(clouds: [2: .max])
    let outcome = try await clock.run {
      let run = chain(telescope).start(Target(star: "Vega", exposures: 2))
      _ = await lines.first { $0 == "expose 2: attempt 1 failed" }
      run.cancel(reason: "it rains")
      return await run.outcome
    }
    #expect("\(outcome)".hasPrefix("cancelled: it rains"))
    #expect(await telescope.log == ["open", "slew to Vega", "expose 1", "delete frame 1", "park", "close"])
  }

  @Test func `A second run of a first program waits for the slot of the first`() async throws {
    let telescope = Observatory()
    let chain = chain(telescope)
    try await clock.run {
      let runs = ["Vega", "Deneb"].map { chain.start(Target(star: $0, exposures: 1)) }
      for run in runs { _ = try await run.value }
    }
    #expect(
      await telescope.log == [
        "open", "slew to Vega", "expose 1", "close", "open", "slew to Deneb", "expose 1", "close",
      ]
    )
  }
}
