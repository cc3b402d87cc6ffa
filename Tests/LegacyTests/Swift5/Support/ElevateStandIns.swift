// SPDX-License-Identifier: MIT
// Copyright (c) 2026 Stepwise contributors

import Dispatch
import Loopback
import StepwiseTesting

// What the samples of Elevate use of an app, as far as they use it.

/// What a user sees, in order; a line that did not come from the main actor says so.
final class Screen: Sendable {
  let shown = Recorder<String>()

  var lines: [String] { shown.elements }

  func show(_ line: String) { shown.record(isOnMainActor() ? line : line + " off the main actor") }

  func showWithStatus(_ text: String) { show("HUD: \(text)") }
  func dismiss() { show("no HUD") }
}

/// A field with the text in it.
struct UITextField {
  var text = ""
}

/// The server.
enum API {
  struct Credentials: Sendable {
    let username: String
    let token: Int
  }

  static func login(_ username: String, _ password: String) async throws -> Credentials? {
    if username == "unknown" { throw Fault("no server") }
    return password == "secret" ? Credentials(username: username, token: 4711) : nil
  }

  static func track(_ artist: String) async throws -> String {
    if artist == "endless" { try await ManualClock().sleep(for: .seconds(1)) }
    return "\(artist)'s newest"
  }
}

/// What an app stores.
final class Store: Sendable {
  let stored = Recorder<String>()

  func store(_ username: String, _ token: Int) { stored.record("\(username) \(token)") }
  func update(_ artist: String) { stored.record(artist) }
}

/// Lets the main actor do what it was given so far.
func letMainActorCatchUp() async {
  for _ in 0..<10 { await MainActor.run {} }
}

/// Whether the caller is on the main actor: on Linux that is not always the main thread.
func isOnMainActor() -> Bool {
  _ = mark
  return DispatchQueue.getSpecific(key: key) != nil
}

private let key = DispatchSpecificKey<Void>()
private let mark: Void = DispatchQueue.main.setSpecific(key: key, value: ())

/// Has requests reach servers on this machine, once and before the first.
let withoutProxy: Void = LoopbackServer.bypassProxy()
