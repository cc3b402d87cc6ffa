// SPDX-License-Identifier: MIT
// Copyright (c) 2026 Stepwise contributors

import LegacyElevate
import StepwiseTesting

/// The old code of Migration.md about tasks, each piece with what is needed to see what it does.
@available(*, deprecated)
final class OldElevate: Elevate {
  let hud = Screen()
  var loginTask: ElevateTask?

  func login(_ name: String, _ password: String) async {
    let hud = hud
    loginTask = async(["username": name, "password": password]) {
      task {
        let credentials = try await API.login(taskArgs.value("username"), taskArgs.value("password"))
        yield("Logged in!")
        return credentials != nil
      }
      onStart { hud.show("Logging in…") }
      onUpdate { (text: String) in hud.show(text) }
      onFinish { (isValid: Bool?, error) in
        hud.dismiss()
        if let isValid { hud.show(isValid ? "Welcome!" : "Wrong password") }
        if let error { hud.show("\(error)") }
      }
    }
    await loginTask?.ended()
  }

  func declare() {
    let hud = hud
    task("search") {
      background {
        let term: String = try taskArgs.value("term")
        update("searching…")
        return try await API.track(term)
      }
      onUpdate { text in hud.show("\(text)") }
      onFinish { track, error in hud.show("\(taskArgs.term ?? ""): \(track ?? "nothing")") }
    }
  }

  func search() async {
    let task = launch("search", ["term": "Prince"])
    await task.ended()
  }

  func cancelSearches() async -> Bool {
    let tasks = [launch("search", ["term": "endless"]), launch("search", ["term": "Prince"])]
    await hud.shown.elements(atLeast: 1)
    cancel("search")
    return await [tasks[0].ended(), tasks[1].ended()] == [true, true]
  }

  func cancelEverything() async -> Bool {
    let tasks = [launch("search", ["term": "endless"]), async { task { try await API.track("endless") } }]
    await hud.shown.elements(atLeast: 1)
    cancelAll()
    return await [tasks[0].ended(), tasks[1].ended()] == [true, true]
  }

  func leave() async -> Bool {
    let hud = hud
    loginTask = async {
      task { try await API.track("endless") }
      onStart { hud.show("start") }
      onFinish { _, _ in hud.show("finish") }
    }
    await hud.shown.elements(atLeast: 1)
    loginTask?.cancel()
    return await loginTask?.ended() ?? false
  }

  func track(_ artist: String, within limit: Double) async {
    let hud = hud
    let trackTask = async(["artist": artist]) {
      timeout(limit)
      task { try await API.track(taskArgs.value("artist")) }
      onTimeout { hud.show("Rats! Timed out!") }
      onFinish { track, error in hud.dismiss() }
    }
    await trackTask.ended()
  }

  func load(failingWith problem: any Error) async {
    let hud = hud
    let loadTask = async {
      task { throw problem }
      on("not_found") { hud.show("not found") }
      on(Fault.self) { fault in hud.show("fault: \(fault)") }
      onError { error in hud.show("another error") }
      onFinish { result, error in hud.dismiss() }
    }
    await loadTask.ended()
  }
}
