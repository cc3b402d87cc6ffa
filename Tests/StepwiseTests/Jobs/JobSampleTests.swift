// SPDX-License-Identifier: MIT
// Copyright (c) 2026 Stepwise contributors

import StepwiseTesting
import Testing

@testable import Stepwise

/// The job of the documentation, with the types that it is about declared around it.
@Suite(.timeLimit(.minutes(5)))
struct JobSampleTests {
  struct Artist: Sendable, Equatable { let name: String }

  struct API: Sendable {
    func track(_ artist: String) async throws -> Artist { Artist(name: artist) }
  }

  struct NetworkError: Error {}

  @MainActor final class HUD {
    var text = ""
    let notes = JobNotes()
    func show() { notes.note("show") }
    func hide() { notes.note("hide") }
  }

  @Test @MainActor func `The sample job works`() async throws {
    let (api, hud) = (API(), HUD())
    // swift-format-ignore
    let track = Job("track") { (artist: String, job: JobContext<String>) in job.update("Looking up…"); return try await api.track(artist) }
        .timeout(.seconds(30))
        .onStart { hud.show() }.onUpdate { text in hud.text = text }.onTimeout { hud.notes.note("timeout") }
        .onError(of: NetworkError.self) { e in hud.notes.note("\(e)") }.onError { e in hud.notes.note("\(e)") }.onFinish { outcome in hud.hide() }
    let run = track.launch("Prince", on: JobQueue(maxConcurrent: 4))
    #expect(try await run.value == Artist(name: "Prince"))
    #expect(hud.text == "Looking up…")
    #expect(hud.notes.lines == ["show", "hide"])
    #expect(!run.cancel())
  }

  @Test @MainActor func `A launch without a queue uses the shared queue`() async throws {
    let track = Job("sample on shared") { (artist: String, job: JobContext<String>) in artist }
    let run = track.launch("Prince")
    run.cancel()
    _ = await run.outcome
    #expect(try await track.launch("Madonna").value == "Madonna")
  }

  @Test func `The handle of a job has a Run`() async throws {
    let job = Job("job") { (number: Int, job: JobContext<String>) in number + 1 }
    let queue = JobQueue(maxConcurrent: 2)
    let run: Run<Int> = job.launch(1, on: queue)
    let runs: [Run<Int>] = [job.launch(2, on: queue), run]
    #expect(try await runs[0].value == 3)
    #expect(try await runs[1].value == 2)
    #expect(try await job.launch(3, on: queue).value == 4)
  }

  @Test func `A closure takes the input and the context or less`() async throws {
    let queue = JobQueue(maxConcurrent: 4)
    let both = Job("both") { (number: Int, job: JobContext<String>) in
      job.update("\(number)")
      return number
    }
    let input = Job("input") { (number: Int) in number }
    let context = Job("context") { (job: JobContext<Int>) in
      job.update(1)
      return "done"
    }
    let neither = Job("neither") { "done" }
    let nothing = Job("nothing") { (_: Int) in }
    let oneLine = Job("one line") { (job: JobContext<Int>) in job.update(1) }
    #expect(try await both.launch(1, on: queue).value == 1)
    #expect(try await input.launch(2, on: queue).value == 2)
    #expect(try await context.launch(on: queue).value == "done")
    #expect(try await neither.launch(on: queue).value == "done")
    try await nothing.launch(3, on: queue).value
    try await oneLine.launch(on: queue).value
    let _: Job<Int, String, Int> = both
    let _: Job<Int, Never, Int> = input
    let _: Job<Void, Int, String> = context
    let _: Job<Void, Never, String> = neither
    let _: Job<Int, Never, Void> = nothing
    let _: Job<Void, Int, Void> = oneLine
  }

  @Test func `A plain function or a chain is a job's work`() async throws {
    @Sendable func double(_ number: Int) async -> Int { number * 2 }
    let queue = JobQueue(maxConcurrent: 1)
    let chain = Chain { (number: Int) in number + 1 }.then(double)
    #expect(try await Job("function", double).launch(2, on: queue).value == 4)
    #expect(try await Job("chain") { (number: Int) in try await chain.run(number) }.launch(2, on: queue).value == 6)
  }

  @Test func `Modifiers return a new job and leave the old one unchanged`() async throws {
    let notes = JobNotes()
    let plain = Job("plain") { 1 }
    _ = plain.onStart { notes.note("start") }.onFinish { _ in notes.note("finish") }.timeout(.zero).deadline(.zero)
    #expect(try await plain.launch(on: JobQueue(maxConcurrent: 1)).value == 1)
    await letMainActorCatchUp()
    #expect(notes.lines == [])
  }
}
