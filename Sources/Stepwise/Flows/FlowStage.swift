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

/// What an ask has shown; the navigator holds the screens, not this.
@MainActor
final class FlowShown {
  /// Who shows the screen that stands in the step's place on the stack.
  private weak var navigator: AnyObject?
  private weak var screen: AnyObject?
  private var whenAskEnded: (@MainActor () -> Void)?
  private var whenLeft: (@MainActor () -> Void)?

  /// A screen on the stack, in the step's place.
  init(_ screen: AnyObject, on navigator: AnyObject, whenLeft: (@MainActor () -> Void)? = nil) {
    self.screen = screen
    self.navigator = navigator
    self.whenLeft = whenLeft
  }

  /// A screen over all others: what stood in the step's place on the stack stays there until the step leaves.
  init(over previous: FlowShown?, whenAskEnded: @escaping @MainActor () -> Void) {
    screen = previous?.screen
    navigator = previous?.navigator
    whenLeft = previous?.whenLeft.take()
    self.whenAskEnded = whenAskEnded
  }

  /// The screen in the step's place, if this navigator has it.
  func screen(on navigator: AnyObject) -> AnyObject? { self.navigator === navigator ? screen : nil }

  func askEnded() {
    whenAskEnded.take()?()
  }

  /// The step is no longer on the path.
  func leave() {
    askEnded()
    whenLeft.take()?()
  }
}
