// SPDX-License-Identifier: MIT
// Copyright (c) 2026 Stepwise contributors

import Stepwise
import StepwiseTesting
import Testing

/// Each piece of new code of Migration.md about tasks, beside the old code: both do the same.
@Suite(.timeLimit(.minutes(5)))
struct ElevatePairTests {
  @available(*, deprecated)
  @Test(arguments: [("ann", "secret"), ("ann", "guess"), ("unknown", "")])
  func aTaskIsAJob(name: String, password: String) async {
    let (old, new) = (OldElevate(), NewElevate())
    await old.login(name, password)
    await new.login(name, password)
    #expect(new.hud.lines.count > 2)
    #expect(old.hud.lines == new.hud.lines)
  }

  @available(*, deprecated)
  @Test func aDeclaredTaskIsAJobInAProperty() async {
    let (old, new) = (OldElevate(), NewElevate())
    old.declare()
    await old.search()
    await new.search()
    #expect(new.hud.lines == ["searching…", "Prince: Prince's newest"])
    #expect(old.hud.lines == new.hud.lines)
  }

  @available(*, deprecated)
  @Test func aNameCancelsTheJobsOfOneScreen() async {
    let (old, new) = (OldElevate(), NewElevate())
    old.declare()
    #expect(await old.cancelSearches())
    #expect(await new.cancelSearches())
    #expect(new.hud.lines == ["searching…"])
    #expect(old.hud.lines == new.hud.lines)
  }

  @available(*, deprecated)
  @Test func allJobsOfAScreenAreCancelledByTheirHandles() async {
    let (old, new) = (OldElevate(), NewElevate())
    old.declare()
    #expect(await old.cancelEverything())
    #expect(await new.cancelEverything())
    #expect(old.hud.lines == new.hud.lines)
  }

  @available(*, deprecated)
  @Test func aCancelledJobIsSilent() async {
    let (old, new) = (OldElevate(), NewElevate())
    #expect(await old.leave())
    #expect(await new.leave())
    await letMainActorCatchUp()
    #expect(new.hud.lines == ["start"])
    #expect(old.hud.lines == new.hud.lines)
  }

  @available(*, deprecated)
  @Test(arguments: [("Prince", 3_600.0, ["no HUD"]), ("endless", 0.01, ["Rats! Timed out!", "no HUD"])])
  func aTimeoutIsFollowedByTheFinish(artist: String, limit: Double, shown: [String]) async {
    let (old, new) = (OldElevate(), NewElevate())
    await old.track(artist, within: limit)
    await new.track(artist, within: limit)
    #expect(new.hud.lines == shown)
    #expect(old.hud.lines == new.hud.lines)
  }

  @available(*, deprecated)
  @Test(arguments: [
    (NotFoundError() as any Error, "not found"), (Fault("no"), "fault: no"), (Failure("no"), "another error"),
  ])
  func anErrorHasOneHandler(problem: any Error, shown: String) async {
    let (old, new) = (OldElevate(), NewElevate())
    await old.load(failingWith: problem)
    await new.load(failingWith: problem)
    #expect(new.hud.lines == [shown, "no HUD"])
    #expect(old.hud.lines == new.hud.lines)
  }
}

/// The new code, each piece with what is needed to see what it does.
private final class NewElevate {
  let hud = Screen()

  func login(_ name: String, _ password: String) async {
    let hud = hud
    let login = Job("login") { (input: (name: String, password: String), job: JobContext<String>) in
      let credentials = try await API.login(input.name, input.password)
      job.update("Logged in!")
      return credentials != nil
    }
    .onStart { hud.show("Logging in…") }
    .onUpdate { text in hud.show(text) }
    .onFinish { outcome in
      hud.dismiss()
      switch outcome {
      case .resolved(let isValid): hud.show(isValid ? "Welcome!" : "Wrong password")
      case .failed(let error): hud.show("\(error)")
      case .cancelled: break
      }
    }
    let loginRun = login.bound(to: self).launch((name, password))
    _ = await loginRun.outcome
  }

  private var search: Job<String, String, (term: String, track: String)> {
    let hud = hud
    let search = Job("search") { (term: String, job: JobContext<String>) in
      job.update("searching…")
      return (term: term, track: try await API.track(term))
    }
    .onUpdate { text in hud.show(text) }
    .onFinish { outcome in
      if case .resolved(let found) = outcome { hud.show("\(found.term): \(found.track)") }
    }
    .bound(to: self)
    return search
  }

  func search() async {
    let search: Job = search
    let run = search.launch("Prince")
    _ = await run.outcome
  }

  func cancelSearches() async -> Bool {
    let runs = [search.launch("endless"), search.launch("Prince")]
    await hud.shown.elements(atLeast: 1)
    JobQueue.shared.cancel(named: "search", boundTo: self)
    return await [runs[0].run.isCancelled, runs[1].run.isCancelled] == [true, true]
  }

  func cancelEverything() async -> Bool {
    let runs = [search.launch("endless"), search.launch("Prince")]
    await hud.shown.elements(atLeast: 1)
    for run in runs.reversed() { run.cancel(reason: "left the screen") }
    return await [runs[0].run.isCancelled, runs[1].run.isCancelled] == [true, true]
  }

  func leave() async -> Bool {
    let hud = hud
    let job = Job("track") { try await API.track("endless") }
      .onStart { hud.show("start") }
      .onFinish { _ in hud.show("finish") }
    let loginRun: Run<String> = job.launch()
    await hud.shown.elements(atLeast: 1)
    loginRun.cancel(reason: "left the screen")
    return await loginRun.isCancelled
  }

  func track(_ artist: String, within limit: Double) async {
    let hud = hud
    let track = Job("track") { (artist: String) in try await API.track(artist) }
      .timeout(.seconds(limit))
      .onTimeout { hud.show("Rats! Timed out!") }
      .onFinish { outcome in hud.dismiss() }
    _ = await track.bound(to: self).launch(artist).run.outcome
  }

  func load(failingWith problem: any Error) async {
    let hud = hud
    let load = Job("load") { throw problem }
      .onError(of: NotFoundError.self) { _ in hud.show("not found") }
      .onError(of: Fault.self) { fault in hud.show("fault: \(fault)") }
      .onError { error in hud.show("another error") }
      .onFinish { outcome in hud.dismiss() }
    let run: Run<Void> = load.launch()
    _ = await run.outcome
  }
}

extension Run {
  fileprivate var isCancelled: Bool {
    get async { if case .cancelled = await outcome { true } else { false } }
  }
}
