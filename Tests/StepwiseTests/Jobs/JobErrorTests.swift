// SPDX-License-Identifier: MIT
// Copyright (c) 2026 Stepwise contributors

import Testing

@testable import Stepwise

/// Which of several handlers an error goes to: one alone.
@Suite(.timeLimit(.minutes(5)))
struct JobErrorTests {
  protocol Problem: Error {}
  class NetworkError: Problem, @unchecked Sendable {}
  class OfflineError: NetworkError, @unchecked Sendable {}
  final class CableError: OfflineError, @unchecked Sendable {}
  struct Full: Problem {}
  struct Other: Error {}

  // G130
  @Test(arguments: [
    (CableError() as any Error, "cable"), (OfflineError(), "network"), (NetworkError(), "network"), (Full(), "problem"),
    (Other(), "any"), (Fault(1), "fault"), (CancellationError(), "any"),
  ])
  func `Only the most specific handler is called`(error: any Error, expected: String) async {
    let notes = JobNotes()
    let job = Job("job") { throw error }
      .onError { _ in notes.note("any") }
      .onError(of: (any Problem).self) { _ in notes.note("problem") }
      .onError(of: NetworkError.self) { _ in notes.note("network") }
      .onError(of: CableError.self) { _ in notes.note("cable") }
      .onError(of: Fault.self) { _ in notes.note("fault") }
    _ = await job.launch(on: JobQueue(maxConcurrent: 1)).outcome
    #expect(notes.lines == [expected])
  }

  @Test(arguments: [false, true])
  func `The most derived of several base classes is the most specific`(isDerivedFirst: Bool) async {
    let notes = JobNotes()
    let plain = Job("job") { throw CableError() }
    func base(_ job: Job<Void, Never, Void>) -> Job<Void, Never, Void> {
      job.onError(of: NetworkError.self) { _ in notes.note("network") }
    }
    func derived(_ job: Job<Void, Never, Void>) -> Job<Void, Never, Void> {
      job.onError(of: OfflineError.self) { _ in notes.note("offline") }
    }
    let job = isDerivedFirst ? base(derived(plain)) : derived(base(plain))
    _ = await job.launch(on: JobQueue(maxConcurrent: 1)).outcome
    #expect(notes.lines == ["offline"])
  }

  @Test func `The first of several equal handlers is called`() async {
    let notes = JobNotes()
    let job = Job("job") { throw Fault(1) }
      .onError(of: Fault.self) { _ in notes.note("first") }
      .onError(of: Fault.self) { _ in notes.note("second") }
    _ = await job.launch(on: JobQueue(maxConcurrent: 1)).outcome
    #expect(notes.lines == ["first"])
    let general = Job("job") { throw Fault(1) }
      .onError { _ in notes.note("first of all") }
      .onError { _ in notes.note("second of all") }
    _ = await general.launch(on: JobQueue(maxConcurrent: 1)).outcome
    #expect(notes.lines == ["first", "first of all"])
  }

  @Test func `An error without a handler is passed only to finish`() async {
    let notes = JobNotes()
    let job = Job("job") { throw Other() }
      .onError(of: Fault.self) { _ in notes.note("fault") }
      .onFinish { _ in notes.note("finish") }
    _ = await job.launch(on: JobQueue(maxConcurrent: 1)).outcome
    #expect(notes.lines == ["finish"])
  }

  @Test func `A value goes to no error handler`() async throws {
    let notes = JobNotes()
    _ = try await Job("job") { 1 }.noting(notes).launch(on: JobQueue(maxConcurrent: 1)).value
    #expect(notes.lines == ["start", "finish 1"])
  }

  /// Without a request, a `CancellationError` is an error like any other.
  @Test func `A CancellationError without a request is an error`() async {
    let notes = JobNotes()
    _ = await Job("job") { throw CancellationError() }.noting(notes).launch(on: JobQueue(maxConcurrent: 1)).outcome
    #expect(notes.lines == ["start", "error CancellationError", "finish CancellationError"])
  }

  @Test
  func `A main-actor conformance counts for a handler of the protocol`() async {
    let notes = JobNotes()
    let job = Job("job") { throw Bound() }
      .onError { _ in notes.note("any") }
      .onError(of: (any Shown).self) { notes.note($0.title) }
    _ = await job.launch(on: JobQueue(maxConcurrent: 1)).outcome
    #expect(notes.lines == ["bound"])
  }

  protocol Shown {
    @MainActor var title: String { get }
  }

  struct Bound: Error, @MainActor Shown {
    @MainActor var title: String { "bound" }
  }
}
