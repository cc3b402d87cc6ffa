// SPDX-License-Identifier: MIT
// Copyright (c) 2026 Stepwise contributors

import Stepwise

/// The context of one presentation of a step: its screen, and the run that presents it.
@MainActor
final class FlowPresentationContext {
  /// The run that presents the step, or several steps as one; nil for a step that is presented alone.
  let run: FlowRun?
  /// The step of the run.
  let step: AnyFlowStep?
  /// The earlier screen of the step, or of the step that it replaces; a nested flow takes it for its first step.
  var previous: FlowShown?
  var shown: FlowShown?
  /// The presentations whose screens the user may leave after a result.
  var visits: [FlowVisit] = []
  let replay: FlowReplay?
  /// Whether the answers that a nested flow leaves belong to the enclosing one.
  let sharesReplay: Bool
  /// Returns the answers of the nested flow; nil when there is none.
  var nestedLog: (@MainActor () -> FlowLog)?

  init(
    of step: AnyFlowStep? = nil,
    in run: FlowRun? = nil,
    previous: FlowShown? = nil,
    replay: FlowReplay? = nil,
    sharesReplay: Bool = false
  ) {
    self.step = step
    self.run = run
    self.previous = previous
    self.replay = replay
    self.sharesReplay = sharesReplay
  }

  /// Returns the place that a replacing screen covers, and closes its visit; nil for a screen that is not the flow's.
  func cover(on navigator: AnyObject) -> FlowShown.Place? {
    let place = step.flatMap { run?.place(below: $0, on: navigator) }
    place?.visit?.close()
    return place
  }

  /// Dismisses a presented screen, and waits until another one can be presented.
  func dismiss(_ step: AnyFlowStep) async {
    guard let dismissal = shown?.dismissal else { return }
    shown?.dismissal = nil
    let limit = run?.limit ?? .standard
    guard let screen = await dismissal.perform(within: limit) else { return }
    let error = FlowError(.overdue, step: step.name, detail: "\(screen), after \(limit.duration)")
    run?.events.record(.unanswered(step: step.name, .failed(error)))
    #if DEBUG
      Platform.reportToStandardError("Stepwise: \(error)")
    #endif
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

/// How long a flow waits for a navigator that dismisses a screen.
struct FlowDismissalLimit: Sendable {
  static let standard = FlowDismissalLimit(duration: .seconds(10), clock: ContinuousClock())

  let duration: Duration
  let clock: any Clock<Duration>
}

/// How to present a screen over all others, and how to dismiss it.
@MainActor
struct FlowDismissal {
  weak var screen: AnyObject?
  let dismiss: @MainActor (AnyObject) async -> Void

  /// Returns the type of the screen when its navigator has not returned within the limit.
  func perform(within limit: FlowDismissalLimit) async -> String? {
    guard let screen else { return nil }
    let name = "\(type(of: screen))"
    let isInTime = Once<Bool>()
    // Separate tasks instead of a group, which would wait for a navigator that never returns.
    _ = spawn { @MainActor [dismiss] in
      await dismiss(screen)
      isInTime.settle(true)
    }
    let timer = spawn { @concurrent in
      do { try await limit.clock.sleep(for: limit.duration) } catch { return }
      isInTime.settle(false)
    }
    defer { timer.cancel() }
    return await isInTime.valueIgnoringCancellation() ? nil : name
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
    /// The presentation that the screen belongs to.
    var visit: FlowVisit?
    weak var navigator: (any FlowNavigator)?
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

    fileprivate mutating func take(_ place: Place) { (screen, visit) = (place.screen, place.visit) }
  }

  private(set) var place: Place?
  private var presenting: (@MainActor () async -> Void)?
  fileprivate(set) var dismissal: FlowDismissal?
  /// Shows the screen in a vacant place.
  private var restoring: (@MainActor (AnyFlowStep, FlowRun) -> Place?)?

  /// A screen on a navigator's stack, or a presented one, which keeps the position of its step on the stack.
  init(
    in place: Place?,
    presenting: (@MainActor () async -> Void)? = nil,
    dismissal: FlowDismissal? = nil,
    restoring: (@MainActor (AnyFlowStep, FlowRun) -> Place?)? = nil
  ) {
    self.place = place
    self.presenting = presenting
    self.dismissal = dismissal
    self.restoring = restoring
  }

  /// Presents the screen over all others, if it is to be presented.
  func present() async { await presenting.take()?() }

  /// Shows the screen, unless it was shown, because a replay ends above it; `step` is that of the run.
  func restore(of step: AnyFlowStep, in run: FlowRun) {
    if let restoring = restoring.take() { place = restoring(step, run) ?? place }
  }

  func place(on navigator: AnyObject) -> Place? { place?.navigator === navigator ? place : nil }

  /// Removes the screen, because the step has left the path; `lower` are those below that leave too or are presented.
  func leave(to lower: some Sequence<FlowShown>) {
    guard let place = place.take() else { return }
    if let below = place.below(lower) { below.place?.take(place) } else { place.pop() }
  }

  /// Removes the screen at the end of the flow; returns it if it stays and covers no other screen of the flow.
  func finish(above lower: some Sequence<FlowShown>) -> FlowShown? {
    guard let place else { return nil }
    guard place.staysAtEnd else {
      place.pop()
      return nil
    }
    guard let below = place.below(lower) else { return self }
    below.place?.take(place)
    below.place?.staysAtEnd = true
    return nil
  }
}
