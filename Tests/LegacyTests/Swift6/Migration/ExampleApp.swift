// SPDX-License-Identifier: MIT
// Copyright (c) 2026 Stepwise contributors

import StepwiseTesting

/// What the worked example of Migration.md is about, and what is of no world.
struct ExampleProfile: Sendable {
  let name: String
}

struct ExampleServer: Sendable {
  func profile(of name: String) throws -> ExampleProfile {
    guard !name.isEmpty else { throw Failure("no name") }
    return ExampleProfile(name: name)
  }
}

/// The list of friends, the profile screen's neighbour.
struct FriendList: Sendable {
  let seen: Recorder<String>

  func add(_ profile: ExampleProfile) { seen.record("friend: \(profile.name)") }
}

/// The program at one stage of the move.
@MainActor
protocol ExampleStage: AnyObject {
  init(telling seen: Recorder<String>)

  /// Shows a profile.
  func openProfile(of name: String)

  /// What a user does on the screen that is shown.
  func like()

  /// What a user does in the list of friends.
  func addFriend(_ name: String)
}
