// SPDX-License-Identifier: MIT
// Copyright (c) 2026 Stepwise contributors

/// The context of one presentation of a step: its screen, and for a nested flow the link to the enclosing run.
@MainActor
final class FlowPresentationContext {
  /// The earlier screen of the step, or of the step that it replaces.
  let previous: FlowShown?
  var shown: FlowShown?
  let replay: FlowReplay?
  /// Whether the answers that a nested flow leaves belong to the enclosing one.
  let sharesReplay: Bool
  /// Called when the answers are used up, before the first step of a nested flow is presented.
  let goLive: @MainActor () throws -> Void
  /// Returns the answers of the nested flow; nil when there is none.
  var nestedLog: (@MainActor () -> FlowLog)?

  init(
    previous: FlowShown? = nil,
    replay: FlowReplay? = nil,
    sharesReplay: Bool = false,
    goLive: @escaping @MainActor () throws -> Void = {}
  ) {
    self.previous = previous
    self.replay = replay
    self.sharesReplay = sharesReplay
    self.goLive = goLive
  }
}

/// The answers of a log that remain.
@MainActor
final class FlowReplay {
  var entries: ArraySlice<FlowLogEntry>
  let contents: [String: FlowContent]
  /// Why the log cannot be replayed.
  var failure: FlowError?

  init(_ log: FlowLog) {
    entries = log.entries[...]
    contents = log.contents
  }
}

/// The screen of a step.
///
/// The navigator retains the screen; this object does not.
@MainActor
final class FlowShown {
  /// A position on a navigator's stack.
  @MainActor
  struct Place {
    weak var screen: AnyObject?
    weak var navigator: AnyObject?
    /// Whether the screen replaced the one below, which is therefore gone.
    let isCovering: Bool
    var staysAtEnd: Bool
    /// Removes the screen; nil when none was shown there, because a replay has passed the step.
    var popScreen: (@MainActor (AnyObject) -> Void)?

    fileprivate func pop() { if let screen { popScreen?(screen) } }

    /// The screen below that this one covers, if a step with the same navigator shows it.
    fileprivate func below(_ lower: some Sequence<FlowShown>) -> FlowShown? {
      guard isCovering, let navigator else { return nil }
      return lower.first { $0.place?.navigator === navigator }
    }
  }

  private(set) var place: Place?
  private var dismiss: (@MainActor () -> Void)?
  /// Shows the screen in a vacant place.
  private var restoring: (@MainActor () -> Place?)?

  /// A screen on a navigator's stack, or a presented one, which keeps the position of its step on the stack.
  init(
    in place: Place?,
    dismiss: (@MainActor () -> Void)? = nil,
    restoring: (@MainActor () -> Place?)? = nil
  ) {
    self.place = place
    self.dismiss = dismiss
    self.restoring = restoring
  }

  /// Shows the screen, unless it was shown, because a replay ends above it.
  func restore() {
    if let restoring = restoring.take() { place = restoring() ?? place }
  }

  func place(on navigator: AnyObject) -> Place? { place?.navigator === navigator ? place : nil }

  /// Dismisses a presented screen, because the step has ended.
  func stepEnded() { dismiss.take()?() }

  /// Removes the screen, because the step has left the path; `lower` are those below that leave too or are presented.
  func leave(to lower: some Sequence<FlowShown>) {
    stepEnded()
    guard let place = place.take() else { return }
    if let below = place.below(lower) { below.place?.screen = place.screen } else { place.pop() }
  }

  /// Removes the screen at the end of the flow; returns it if it stays and covers no other screen of the flow.
  func finish(above lower: some Sequence<FlowShown>) -> FlowShown? {
    stepEnded()
    guard let place else { return nil }
    guard place.staysAtEnd else {
      place.pop()
      return nil
    }
    guard let below = place.below(lower) else { return self }
    below.place?.screen = place.screen
    below.place?.staysAtEnd = true
    return nil
  }
}
