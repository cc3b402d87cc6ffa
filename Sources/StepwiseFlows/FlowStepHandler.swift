// SPDX-License-Identifier: MIT
// Copyright (c) 2026 Stepwise contributors

public import Stepwise

/// A handle for a screen: it reads the content of its step and completes it.
///
/// Let your screen retain the handler. The first call of ``complete(_:)``, ``back()`` or ``cancel(reason:)`` counts, from
/// any thread. Later calls have no effect, except that ``back()`` also tells a flow that the user has left a screen after
/// its result. A handler that is released without a call ends the presentation as abandoned.
@MainActor
public final class FlowStepHandler<Content, Result: Sendable> {
  /// The current content of the step.
  public private(set) var content: Content

  private var observers: [@MainActor (Content) -> Void] = []
  private nonisolated let visit: FlowVisit

  init(content: Content, visit: FlowVisit) {
    self.content = content
    self.visit = visit
  }

  // Not isolated, because the last reference may be released on any thread.
  deinit { visit.answer.settle(.ended(.abandoned)) }

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

  /// A Boolean value that indicates whether the presentation has ended, after which no result is accepted.
  public nonisolated var isFinished: Bool { visit.answer.settled != nil }

  /// Completes the step with a result, and returns whether this call ended the presentation.
  @discardableResult
  public nonisolated func complete(_ result: Result) -> Bool { visit.answer.settle(.answered(Box(result))) }

  /// Goes back from this screen, also after its result, and returns whether the flow goes back because of this call.
  ///
  /// Call it for each screen that the user has left. Before the presentation has ended, it ends as back. After a result,
  /// the flow goes back to the step before this one as long as the step is on its path with this screen: what was opened
  /// since is cancelled and leaves the path. Calls of one turn of the main actor act together, in any order.
  ///
  /// It has no effect once the step has left the path or is presented again, once a replacing screen covers this one,
  /// or after the result of a screen presented with ``FlowPresentation/present``, which the flow dismisses. Do not call
  /// it for a screen that another one merely covers.
  @discardableResult
  public nonisolated func back() -> Bool { visit.back() }

  /// Cancels the step, whose flow cancels its run, and returns whether this call ended the presentation.
  @discardableResult
  public nonisolated func cancel(reason: String? = nil) -> Bool {
    visit.answer.settle(.ended(.cancelled(Cancellation(reason: reason))))
  }
}

extension FlowStepHandler where Result == Void {
  /// Completes a step that has no result, and returns whether this call ended the presentation.
  @discardableResult
  public nonisolated func complete() -> Bool { complete(()) }
}

// MARK: - How a presentation ends

/// The outcome of presenting a step, as ``FlowStep/ask(_:)`` returns it.
///
/// Use it when you present a step without a flow and want to know how your user left it.
public enum FlowAnswer<Result: Sendable>: Sendable {
  /// The step was completed with a result.
  case answered(Result)
  /// The user went back.
  case back
  /// The step can no longer complete: its handler was released, or the work behind the step failed.
  ///
  /// In the second case ``FlowStep/result(for:)`` throws the error.
  case abandoned
  /// The presentation was cancelled, through its handler or with the task that presented the step.
  case cancelled
}

extension FlowAnswer: Equatable where Result: Equatable {}

extension FlowAnswer: CustomStringConvertible, CustomDebugStringConvertible {
  /// What happened, with the type of a result in place of its value: logs contain no data of the user.
  public var description: String {
    if case .answered = self { "answered with \(Result.self)" } else { debugDescription }
  }

  /// What happened, with the result.
  public var debugDescription: String {
    switch self {
    case .answered(let result): "answered(\(String(reflecting: result)))"
    case .back: "back"
    case .abandoned: "abandoned"
    case .cancelled: "cancelled"
    }
  }
}

/// How a presentation ended without a result, as `on(_:ended:)` receives it.
///
/// Switch over it to decide what follows when your user goes back or the screen disappears.
public enum FlowEnding: Sendable, CustomStringConvertible {
  /// The user went back.
  case back
  /// The handler was released without being completed.
  case abandoned
  /// The presentation was cancelled.
  case cancelled(Cancellation)
  /// The work behind the step failed, or the step could not be presented.
  case failed(any Error)
  /// How it ended, in words: "back", "cancelled: later", "failed: the disk is full".
  public var description: String {
    switch self {
    case .back: "back"
    case .abandoned: "abandoned"
    case .cancelled(let cancellation): cancellation.description
    case .failed(let error): "failed: \(error)"
    }
  }
}

/// How the presentation of a step, or a flow, has ended, without the type of the result.
package enum FlowEnd: Sendable {
  case answered(any AnyBox)
  case ended(FlowEnding)

  init<Result: Sendable>(_ outcome: Outcome<Result>) {
    switch outcome {
    case .resolved(let value): self = .answered(Box(value))
    case .failed(let error): self = .ended(.failed(error))
    case .cancelled(let cancellation): self = .ended(.cancelled(cancellation))
    }
  }

  var isBack: Bool { if case .ended(.back) = self { true } else { false } }

  static var cancelledByTask: FlowEnd {
    .ended(.cancelled(Cancellation(reason: Scope.current.cancellationCause?.reason)))
  }

  /// Returns the result; throws the error for an end without one.
  func result<Result: Sendable>(of step: String) throws -> Result {
    switch self {
    case .answered(let box as Box<Result>): return box.value
    case .answered: throw FlowError(.wrongAnswer, step: step)
    case .ended(.back): throw FlowError(.back, step: step)
    case .ended(.abandoned): throw FlowError(.abandoned, step: step)
    case .ended(.cancelled): throw CancellationError()
    case .ended(.failed(let error)): throw error
    }
  }

  func answer<Result: Sendable>() -> FlowAnswer<Result> {
    switch self {
    case .answered(let box as Box<Result>): .answered(box.value)
    case .ended(.back): .back
    case .ended(.cancelled): .cancelled
    case .answered, .ended(.abandoned), .ended(.failed): .abandoned
    }
  }
}
