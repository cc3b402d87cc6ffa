// SPDX-License-Identifier: MIT
// Copyright (c) 2026 Stepwise contributors

import Stepwise

/// The handle through which a screen reads the content of its step and completes it.
///
/// Let the screen retain the handler. The first call of ``complete(_:)``, ``back()`` or ``cancel(reason:)`` counts,
/// from any thread; later calls have no effect. A handler that is released without a call ends the presentation as
/// abandoned, so that nothing waits for a screen that no longer exists.
@MainActor
public final class FlowStepHandler<Content, Result: Sendable> {
  /// The current content of the step.
  public private(set) var content: Content

  private var observers: [@MainActor (Content) -> Void] = []
  private nonisolated let answer: Once<FlowEnd>

  init(content: Content, answer: Once<FlowEnd>) {
    self.content = content
    self.answer = answer
  }

  // Not isolated, because the last reference may be released on any thread.
  deinit {
    answer.settle(.ended(.abandoned))
  }

  /// Calls an observer immediately with the current content, and then with each new one, even after the step has ended.
  ///
  /// Capture the screen weakly, because it retains the handler.
  public func onContent(_ observer: @escaping @MainActor (Content) -> Void) {
    observers.append(observer)
    observer(content)
  }

  func take(_ content: Content, while isNewest: () -> Bool) {
    guard isNewest() else { return }
    self.content = content
    for observer in observers where isNewest() { observer(content) }
  }

  /// A Boolean value that indicates whether the presentation has ended, so that a further call has no effect.
  public nonisolated var isFinished: Bool { answer.settled != nil }

  /// Completes the step with a result.
  ///
  /// - Returns: A Boolean value that indicates whether this call ended the presentation.
  @discardableResult
  public nonisolated func complete(_ result: Result) -> Bool { answer.settle(.answered(Box(result))) }

  /// Goes back: a flow presents the previous step again.
  ///
  /// - Returns: A Boolean value that indicates whether this call ended the presentation.
  @discardableResult
  public nonisolated func back() -> Bool { answer.settle(.ended(.back)) }

  /// Cancels the step: a flow cancels its run.
  ///
  /// - Parameter reason: The reason, for handlers and errors.
  /// - Returns: A Boolean value that indicates whether this call ended the presentation.
  @discardableResult
  public nonisolated func cancel(reason: String? = nil) -> Bool {
    answer.settle(.ended(.cancelled(Cancellation(reason: reason))))
  }
}

extension FlowStepHandler where Result == Void {
  /// Completes a step that has no result.
  ///
  /// - Returns: A Boolean value that indicates whether this call ended the presentation.
  @discardableResult
  public nonisolated func complete() -> Bool { complete(()) }
}
