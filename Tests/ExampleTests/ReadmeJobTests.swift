// SPDX-License-Identifier: MIT
// Copyright (c) 2026 Stepwise contributors

import Stepwise
import StepwiseTesting
import Testing

/// The samples of the article on jobs, some of which the README has, too.
@Suite(.timeLimit(.minutes(5)))
struct ReadmeJobTests {
  struct Credentials: Sendable {
    let name: String
    let password: String
  }

  struct WrongPassword: Error {}

  private enum API {
    static func login(_ credentials: Credentials) async throws -> String {
      guard credentials.password == "secret" else { throw WrongPassword() }
      return "token"
    }
  }

  @MainActor final class Screen {
    private(set) var shown: [String] = []
    func show(_ text: String) { shown.append(text) }
    func hide() { shown.append("-") }
  }

  @MainActor final class Disk {
    func store(_ token: String) async {}
  }

  @Test(arguments: [("secret", ["Logging in…", "Storing…", "-"]), ("guess", ["Logging in…", "Wrong password", "-"])])
  @MainActor func `A job logs in`(password: String, shown: [String]) async {
    let (api, hud, disk) = (API.self, Screen(), Disk())
    let credentials = Credentials(name: "ann", password: password)
    let login = Job("login") { (credentials: Credentials, job: JobContext<String>) in
      let token = try await api.login(credentials)
      job.update("Storing…")
      await disk.store(token)
    }
    .timeout(.seconds(30))
    .onStart { hud.show("Logging in…") }
    .onUpdate { text in hud.show(text) }
    .onTimeout { hud.show("The server does not answer") }
    .onError(of: WrongPassword.self) { _ in hud.show("Wrong password") }
    .onError { error in hud.show("\(error)") }
    .onFinish { _ in hud.hide() }

    let run = login.launch(credentials)
    _ = await run.outcome
    #expect(hud.shown == shown)
  }

  @Test @MainActor func `A job is cancelled`() async {
    let screen = Screen()
    let credentials = Credentials(name: "ann", password: "secret")
    let login = Job("login") { (_: Credentials) in try await ManualClock().sleep(for: .seconds(1)) }
      .onStart { screen.show("Logging in…") }
      .onFinish { _ in screen.hide() }

    let queue = JobQueue(maxConcurrent: 4)
    let run = login.bound(to: screen).launch(credentials, on: queue)
    run.cancel(reason: "left the screen")
    queue.cancel(named: "login", boundTo: screen)

    guard case .cancelled(let cancellation) = await run.outcome else {
      Issue.record("not cancelled")
      return
    }
    #expect(cancellation.reason == "left the screen")
    #expect(screen.shown == [])
  }

  @Test func `A job shows its updates`() async throws {
    let seen = Recorder<Int>()
    let count = Job("count") { (last: Int, job: JobContext<Int>) in
      for number in 1...last { job.update(number) }
      return last
    }
    let run = count.launch(10)
    for await number in run.updates { seen.record(number) }
    #expect(try await run.value == 10)
    #expect(seen.elements.last == 10)
  }

  @Test func `A job limits its time`() async throws {
    let clock = ManualClock()
    let queue = JobQueue(maxConcurrent: 1)
    let ended = Recorder<String>()
    let load = Job("load") { try await ManualClock().sleep(for: .seconds(1)) }
      .onTimeout { ended.record("timeout") }
      .onFinish { _ in ended.record("finish") }
    queue.suspend()
    let run = load.deadline(.seconds(60), clock: clock).launch(on: queue)
    await clock.sleepers(atLeast: 1)
    clock.advance(by: .seconds(60))
    _ = await run.outcome
    #expect(ended.elements == ["timeout", "finish"])
  }
}
