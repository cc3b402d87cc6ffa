// SPDX-License-Identifier: MIT
// Copyright (c) 2026 Stepwise contributors

import StepwiseTesting
import Testing

@testable import Stepwise

/// The samples of Elevate's README, written with jobs.
@Suite(.timeLimit(.minutes(5)))
struct ElevateExampleTests {
  struct Credentials: Sendable {
    let username: String
    let token: Int
  }

  struct OfflineError: Error, CustomStringConvertible {
    let description = "offline"
  }

  /// The server.
  enum API {
    static func login(_ username: String, _ password: String) async throws -> Credentials? {
      if username == "unknown" { throw OfflineError() }
      return password == "secret" ? Credentials(username: username, token: 4711) : nil
    }

    static func track(_ artist: String) async throws -> String { "\(artist)'s newest" }
  }

  /// What the app keeps: a registration, an artist.
  private let stored = Recorder<String>()
  private let notes = JobNotes()

  private func alert(_ text: String) { notes.note("alert: \(text)") }

  @Test(arguments: [
    ("ann", "secret", ["Logging In...", "Logged in!", "dismiss", "alert: Logged in successfully!"]),
    ("ann", "guess", ["Logging In...", "Logged in!", "dismiss", "alert: Invalid username/password!"]),
    ("unknown", "", ["Logging In...", "dismiss", "alert: offline"]),
  ])
  func `A job logs in`(username: String, password: String, told: [String]) async {
    let loginTask = Job("login") { (input: (username: String, password: String), job: JobContext<String>) in
      let credentials = try await API.login(input.username, input.password)
      if let credentials { stored.record("\(credentials.username) \(credentials.token)") }
      // Every update is passed to onUpdate.
      job.update("Logged in!")
      // What the work returns is passed to onFinish.
      return credentials != nil
    }
    .onStart { notes.note("Logging In...") }
    .onUpdate { status in notes.note(status) }
    .onFinish { outcome in
      notes.note("dismiss")
      switch outcome {
      case .resolved(true): alert("Logged in successfully!")
      case .resolved(false): alert("Invalid username/password!")
      case .failed(let error): alert("\(error)")
      case .cancelled: break
      }
    }
    .launch((username, password), on: JobQueue(maxConcurrent: 1))
    _ = await loginTask.outcome
    #expect(notes.lines == told)
    #expect(stored.elements == (password == "secret" ? ["ann 4711"] : []))
  }

  private func trackJob(
    _ clock: ManualClock,
    _ work: @escaping @Sendable () async throws -> Void
  ) -> Job<String, Never, Void> {
    Job("track") { (artist: String) in
      try await work()
      stored.record(try await API.track(artist))
    }
    .timeout(.seconds(30), clock: clock)
    .onStart { notes.note("Adding...") }
    .onTimeout { notes.note("Rats! Timed out!") }
    .onFinish { _ in notes.note("dismiss") }
  }

  @Test func `A job tracks an artist`() async throws {
    let job = trackJob(ManualClock()) {}
    try await job.launch("Prince", on: JobQueue(maxConcurrent: 1)).value
    #expect(notes.lines == ["Adding...", "dismiss"])
    #expect(stored.elements == ["Prince's newest"])
  }

  /// Unlike a cancel, a timeout is followed by the finish.
  @Test func `A job times out`() async {
    let clock = ManualClock()
    let job = trackJob(clock) { try await clock.sleep(for: .seconds(60)) }
    let run = job.launch("Prince", on: JobQueue(maxConcurrent: 1))
    await clock.sleepers(atLeast: 2)
    clock.advance(by: .seconds(30))
    _ = await run.outcome
    #expect(notes.lines == ["Adding...", "Rats! Timed out!", "dismiss"])
    #expect(stored.elements == [])
  }

  /// A cancel is raised within the work, and keeps all handlers from running.
  @Test func `A job is cancelled`() async {
    let begun = Once<Void>()
    let trackTask = trackJob(ManualClock()) {
      begun.settle(())
      _ = await Once<Void>().value()
      #expect(throws: CancellationError.self) { try Task.checkCancellation() }
      throw CancellationError()
    }.launch("Prince", on: JobQueue(maxConcurrent: 1))
    await notes.recorder.elements(atLeast: 1)
    await begun.valueIgnoringCancellation()
    trackTask.cancel()
    #expect(await trackTask.outcome.cancellation != nil)
    await letMainActorCatchUp()
    #expect(notes.lines == ["Adding..."])
  }

  /// The second edition: handlers by the error's name, `launch`, `cancel(:name)` and `cancel_all` of one screen.
  @Test @MainActor func `A job does what the second edition did`() async {
    final class Screen {}
    let (screen, queue) = (Screen(), JobQueue(maxConcurrent: 1))
    let job = Job("login") { (username: String, job: JobContext<String>) in
      job.update("asking")
      return try await API.login(username, "") != nil
    }
    .onUpdate { status in notes.note(status) }
    .onError(of: OfflineError.self) { _ in notes.note("on_offline") }
    .onError { _ in notes.note("on_error") }
    .onFinish { _ in notes.note("on_finish") }
    .bound(to: screen)
    _ = await job.launch("unknown", on: queue).outcome
    #expect(notes.lines == ["asking", "on_offline", "on_finish"])
    queue.suspend()
    let cancelled = [job.launch("a", on: queue), job.launch("b", on: queue)]
    queue.cancel(named: "login", boundTo: screen)
    for run in cancelled { #expect(await run.outcome.cancellation != nil) }
    let last = job.launch("c", on: queue)
    queue.cancelAll()
    #expect(await last.outcome.cancellation != nil)
    #expect(notes.lines.count == 3)
  }
}
