// SPDX-License-Identifier: MIT
// Copyright (c) 2026 Stepwise contributors

/// One presentation of a step: what it shows, and for a nested flow what connects its run with the run around.
@MainActor
final class FlowPresentationContext {
  /// What the step, or the one that it replaces, has shown before.
  let previous: FlowShown?
  /// What is shown now.
  var shown: FlowShown?
  /// The run around.
  let around: (any AnyFlowRun)?
  /// The answers for the nested flow.
  let replay: FlowReplay?
  /// The run of the nested flow.
  var nested: (any AnyFlowRun)?

  init(previous: FlowShown? = nil, around: (any AnyFlowRun)? = nil, replay: FlowReplay? = nil) {
    self.previous = previous
    self.around = around
    self.replay = replay
  }
}

/// What a step has shown; the navigator retains the screens, this does not.
@MainActor
final class FlowShown {
  private(set) var place: FlowPlace?
  private var dismiss: (@MainActor () -> Void)?

  /// A screen on a navigator's stack.
  init(in place: FlowPlace) {
    self.place = place
  }

  /// A screen over all others: the step keeps the place that it has on the stack.
  init(over previous: FlowShown?, dismiss: @escaping @MainActor () -> Void) {
    place = previous?.place
    self.dismiss = dismiss
  }

  /// Dismisses the presented screen: the step has ended.
  func stepEnded() {
    dismiss.take()?()
  }

  /// Takes the screen away: the step has left the path and another one is presented.
  ///
  /// - Parameter lower: What the steps below have shown, the uppermost first, as far as they leave too or are presented.
  func leave(to lower: some Sequence<FlowShown>) {
    stepEnded()
    guard let place = place.take() else { return }
    if let below = place.placeBelow(lower) { below.screen = place.screen } else { place.pop() }
  }

  /// Takes the screen away, unless it is to stay: the flow has ended.
  ///
  /// - Parameter lower: What the steps below have shown, the uppermost first.
  /// - Returns: What stays, and covers no screen of the flow's own.
  func finish(above lower: some Sequence<FlowShown>) -> FlowShown? {
    stepEnded()
    guard let place else { return nil }
    guard place.staysAtEnd else {
      place.pop()
      return nil
    }
    guard let below = place.placeBelow(lower) else { return self }
    below.screen = place.screen
    below.staysAtEnd = true
    return nil
  }
}

/// The place of a step on a navigator's stack.
@MainActor
final class FlowPlace {
  fileprivate(set) weak var screen: AnyObject?
  fileprivate var staysAtEnd: Bool
  /// Whether the screen took the place of the one below, which is therefore gone.
  let isCovering: Bool
  private weak var navigator: AnyObject?
  private let popScreen: @MainActor (AnyObject) -> Void

  init(
    _ screen: AnyObject,
    on navigator: AnyObject,
    isCovering: Bool,
    staysAtEnd: Bool,
    popScreen: @escaping @MainActor (AnyObject) -> Void
  ) {
    self.screen = screen
    self.navigator = navigator
    self.isCovering = isCovering
    self.staysAtEnd = staysAtEnd
    self.popScreen = popScreen
  }

  fileprivate func pop() {
    if let screen { popScreen(screen) }
  }

  /// The place that the screen took, if a step of the same navigator has it.
  fileprivate func placeBelow(_ lower: some Sequence<FlowShown>) -> FlowPlace? {
    guard isCovering else { return nil }
    return lower.lazy.compactMap(\.place).first { $0.navigator === navigator }
  }

  func isOn(_ navigator: AnyObject) -> Bool { self.navigator === navigator }
}
