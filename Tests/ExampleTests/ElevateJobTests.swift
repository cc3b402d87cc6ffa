// SPDX-License-Identifier: MIT
// Copyright (c) 2026 Stepwise contributors

import Stepwise
import StepwiseTesting
import Testing

/// The Swift beside Elevate's Ruby tasks in Migration.md.
@Suite("Elevate's tasks, written as jobs", .timeLimit(.minutes(5)))
@MainActor
final class ElevateJobTests {
  private let hud = HUD()

  @Test(arguments: [
    ("ann", "secret", ["Logging in…", "Logged in!", "-", "Welcome!"]),
    ("ann", "guess", ["Logging in…", "Logged in!", "-", "Wrong password"]),
    ("unknown", "", ["Logging in…", "-", "no server"]),
  ]
  )
  func `A task with its handlers is a job`(name: String, password: String, shown: [String]) async {
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
    #expect(hud.shown.elements == shown)
  }

  @Test(arguments: [
    (API.NotFound() as any Error, ["Not found", "-"]), (API.Offline(), ["Offline", "-"]),
    (Failure("torn"), ["torn", "-"]),
  ]
  )
  func `A timeout and each error have their handler, and the finish follows`(problem: any Error, shown: [String]) async
  {
    let (hud, id) = (hud, 7)
    let load = Job("load") { (id: Int) in try await API.load(id, failingWith: problem) }
      .timeout(.seconds(30))
      .onTimeout { hud.show("Too slow") }
      .onError(of: API.NotFound.self) { _ in hud.show("Not found") }
      .onError(of: API.Offline.self) { _ in hud.show("Offline") }
      .onError { error in hud.show("\(error)") }
      .onFinish { _ in hud.dismiss() }
    _ = await load.launch(id).outcome
    #expect(hud.shown.elements == shown)
  }

  @Test
  func `Jobs are cancelled by handle, by name, and for a screen`() async {
    let hud = hud
    let search = Job("search") { (term: String) in
      hud.shown.record(term)
      try await Endless()(term)
    }
    .onFinish { _ in hud.show("finished") }
    .bound(to: self)
    var runs: [JobRun<Never, Void>] = []

    let run = search.launch("Prince")
    await hud.shown.elements(atLeast: 1)
    run.cancel(reason: "left the screen")
    #expect(await run.outcome.cancellation?.reason == "left the screen")

    runs = [search.launch("Kiss"), search.launch("1999")]
    await hud.shown.elements(atLeast: 2)
    JobQueue.shared.cancel(named: "search", boundTo: self)
    for run in runs { #expect(await run.outcome.cancellation != nil) }

    runs = [search.launch("Cream"), search.launch("Gold")]
    await hud.shown.elements(atLeast: 3)
    for run in runs.reversed() { run.cancel(reason: "left the screen") }
    for run in runs { #expect(await run.outcome.cancellation?.reason == "left the screen") }
    for _ in 0..<10 { await Task.yield() }
    #expect(hud.shown.elements == ["Prince", "Kiss", "Cream"])
  }

  /// What a user sees, in order.
  @MainActor private final class HUD {
    nonisolated let shown = Recorder<String>()
    func show(_ line: String) { shown.record(line) }
    func dismiss() { show("-") }
  }

  /// The server.
  private enum API {
    struct NotFound: Error {}
    struct Offline: Error {}

    static func login(_ name: String, _ password: String) async throws -> Int? {
      if name == "unknown" { throw Failure("no server") }
      return password == "secret" ? 4711 : nil
    }

    static func load(_ id: Int, failingWith problem: any Error) async throws { throw problem }
  }
}

extension Outcome {
  fileprivate var cancellation: Cancellation? {
    if case .cancelled(let cancellation) = self { cancellation } else { nil }
  }
}
