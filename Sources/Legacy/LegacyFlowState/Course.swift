// SPDX-License-Identifier: MIT
// Copyright (c) 2026 Stepwise contributors

internal import Stepwise

/// Starts step after step, until there is no next one.
@available(*, deprecated)
@MainActor
final class Course {
  private var asked: [ObjectIdentifier: any Followed] = [:]

  /// Begins with a step, in the main actor's next turn.
  static func start(_ step: any Startable) {
    _ = spawn { @MainActor in await Course().run(from: step) }
  }

  /// Goes on after a step that was answered a further time, when all that had followed had ended.
  func resume(after step: any Followed, from next: (any Startable)?) async {
    note(step)
    await run(from: next)
  }

  /// Runs to the end of the line; what is still on the screen can be answered again then.
  private func run(from first: (any Startable)?) async {
    await follow(from: first)
    for step in asked.values { step.reopen() }
  }

  /// Runs to the end of the line, which is part of another.
  func follow(from first: (any Startable)?) async {
    var next = first
    while let step = next {
      guard let followed = step as? any Followed else {
        // It was not made here, and starts its own next step.
        step.start()
        return
      }
      note(followed)
      next = await followed.runOnce(in: self)
    }
  }

  private func note(_ step: any Followed) { asked[ObjectIdentifier(step)] = step }
}

/// A step whose end is known.
@available(*, deprecated)
@MainActor
protocol Followed: Startable {
  /// What it has ended with; nil when that is nothing.
  var latestResult: Any? { get }

  /// Runs it, and returns what is next.
  func runOnce(in course: Course) async -> (any Startable)?

  /// Lets the newest handler answer once more.
  func reopen()
}
