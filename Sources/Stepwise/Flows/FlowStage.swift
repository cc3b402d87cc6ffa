// SPDX-License-Identifier: MIT
// Copyright (c) 2026 Stepwise contributors

/// Where one ask shows itself.
@MainActor
final class FlowStage {
  /// What the step, or the one that it replaces, has shown before.
  var previous: FlowShown?
  /// What is shown now.
  var shown: FlowShown?

  init(previous: FlowShown? = nil) {
    self.previous = previous
  }
}

/// A screen that an ask has shown; the navigator holds it, not this.
@MainActor
final class FlowShown {
  private(set) weak var screen: AnyObject?
  private var whenAskEnded: (@MainActor () -> Void)?
  private var whenLeft: (@MainActor () -> Void)?

  init(
    screen: AnyObject,
    whenAskEnded: (@MainActor () -> Void)? = nil,
    whenLeft: (@MainActor () -> Void)? = nil
  ) {
    self.screen = screen
    self.whenAskEnded = whenAskEnded
    self.whenLeft = whenLeft
  }

  func askEnded() {
    whenAskEnded.take()?()
  }

  /// The step is no longer on the path.
  func leave() {
    askEnded()
    whenLeft.take()?()
  }
}
