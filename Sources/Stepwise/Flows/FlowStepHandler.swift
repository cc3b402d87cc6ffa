// SPDX-License-Identifier: MIT
// Copyright (c) 2026 Stepwise contributors

/// What a screen answers through: it has the content of its step, and ends the ask.
///
/// It belongs to the screen. The first call of ``complete(_:)``, ``back()`` or ``cancel(reason:)`` counts, from whatever
/// thread; later ones are ignored. A handler that is let go of without a call ends the ask as abandoned, so that nothing
/// waits for a screen that has gone.
@MainActor
public final class FlowStepHandler<Content, Result: Sendable> {
  /// The step's content, the newest one.
  public private(set) var content: Content

  private var observers: [@MainActor (Content) -> Void] = []
  private nonisolated let answer: Once<FlowEnd>

  init(content: Content, answer: Once<FlowEnd>) {
    self.content = content
    self.answer = answer
  }

  // Not isolated: the last reference may be let go of on any thread.
  deinit {
    answer.settle(.ended(.abandoned))
  }

  /// Calls an observer with the current content, at once, and then with each new one, also when the step is already past.
  ///
  /// Capture the screen weakly: it holds the handler.
  public func onContent(_ observer: @escaping @MainActor (Content) -> Void) {
    observers.append(observer)
    observer(content)
  }

  func take(_ content: Content, while isNewest: () -> Bool) {
    guard isNewest() else { return }
    self.content = content
    for observer in observers where isNewest() { observer(content) }
  }

  /// Whether the ask has ended, so that a further call changes nothing.
  public nonisolated var isFinished: Bool { answer.settled != nil }

  /// Answers.
  ///
  /// - Returns: Whether this was the call that ended the ask.
  @discardableResult
  public nonisolated func complete(_ result: Result) -> Bool { answer.settle(.answered(Box(result))) }

  /// Goes back: in a flow the step before is asked again.
  ///
  /// - Returns: Whether this was the call that ended the ask.
  @discardableResult
  public nonisolated func back() -> Bool { answer.settle(.ended(.back)) }

  /// Cancels: in a flow that cancels the run.
  ///
  /// - Parameter reason: Why, for those who are told.
  /// - Returns: Whether this was the call that ended the ask.
  @discardableResult
  public nonisolated func cancel(reason: String? = nil) -> Bool {
    answer.settle(.ended(.cancelled(Cancellation(reason: reason))))
  }
}

extension FlowStepHandler where Result == Void {
  /// Answers a step that has no result but the fact.
  ///
  /// - Returns: Whether this was the call that ended the ask.
  @discardableResult
  public nonisolated func complete() -> Bool { complete(()) }
}
