// SPDX-License-Identifier: MIT
// Copyright (c) 2026 Stepwise contributors

internal import Dispatch
internal import LegacySupport
internal import Stepwise

/// A handler without the type of its content: what an intent returns.
@available(*, deprecated, message: "An intent is given its handler and returns nothing")
@preconcurrency
@MainActor
public class AnyFlowStepHandler<Result> {
  private nonisolated let state = Lock<HandlerState<Result>>(.unasked(nil))
  /// Through these new contents come, as long as the screen lives.
  var kept: [AnyObject] = []

  nonisolated init() {}

  /// Ends the step with a result, or with none.
  ///
  /// It may be called before the intent has returned the handler; the step then ends when it has. Of several calls the first
  /// counts. When all that followed has ended and the screen is still there, one further call counts, on the main thread: what
  /// calls back from elsewhere is no screen, and answers once.
  @available(*, deprecated, message: "Use complete(_:) of the handler that the step makes; for nil back() or cancel()")
  public nonisolated func complete(_ result: sending Result?) {
    let reply = Reply(result)
    let tell = state.withLock { state -> (@Sendable (Reply<Result>) -> Void)? in
      switch state {
      case .unasked(nil):
        state = .unasked(reply)
        return nil
      case .asked(let tell):
        state = .ended
        return tell
      case .reopened(let tell) where MainQueue.isCurrent:
        state = .ended
        return tell
      case .unasked, .reopened, .ended:
        return nil
      }
    }
    tell?(reply)
  }

  /// Lets the handler answer: at once, if it was completed before.
  func open(_ tell: @escaping @Sendable (Reply<Result>) -> Void) {
    let early = state.withLock { state -> Reply<Result>? in
      if case .unasked(let reply?) = state {
        state = .ended
        return reply
      }
      state = .asked(tell)
      return nil
    }
    if let early { tell(early) }
  }

  /// Lets the handler answer once more, when it has answered before.
  func reopen(_ tell: @escaping @Sendable (Reply<Result>) -> Void) {
    state.withLock { state in if case .ended = state { state = .reopened(tell) } }
  }

  /// Gives the handler what it answers.
  func attach<Content>(_ ask: Ask<Content, Result>) {
    kept = [ask]
    open { reply in ask.complete(reply) }
  }
}

/// Where a handler is.
enum HandlerState<Result> {
  /// No step has it; it may still have been completed.
  case unasked(Reply<Result>?)
  /// The next answer is told.
  case asked(@Sendable (Reply<Result>) -> Void)
  /// The next answer is told, if it is the user's.
  case reopened(@Sendable (Reply<Result>) -> Void)
  case ended
}

/// Where the user's answers come from.
private enum MainQueue {
  private static let key = DispatchSpecificKey<Void>()
  private static let mark: Void = DispatchQueue.main.setSpecific(key: key, value: ())

  /// Whether the caller is there: on Linux that is not always the main thread.
  static var isCurrent: Bool {
    mark
    return DispatchQueue.getSpecific(key: key) != nil
  }
}

/// A result on its way from a handler to its step, or that there is none.
typealias Reply<Result> = Sent<Result?>

/// The handler of the new step that is behind an old one.
typealias Ask<Content, Result> = Stepwise.FlowStepHandler<Content?, Reply<Result>>
