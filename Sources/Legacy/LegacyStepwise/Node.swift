// SPDX-License-Identifier: MIT
// Copyright (c) 2026 Stepwise contributors

internal import Dispatch
internal import LegacySupport
internal import Stepwise

/// A step of a chain: its work, its queue, the handlers that were attached to it, and the step that follows.
///
/// All `StepChain`s that were made from one another, or appended to one another, share their nodes. What follows a
/// step, and which handler applies, is read when the step ends, because either may be changed after the start.
@available(*, deprecated)
final class Node: Sendable {
  /// Does the step's work with an input; returns nil when the step ends by a `Handler`, now or later.
  typealias Work = @Sendable (Sent<Any>, RunningStep) -> Ended?

  struct Handlers: Sendable {
    var onError: Sent<(any Error) -> Void>?
    var finally: Sent<(ChainState) -> Void>?
  }

  private struct State: Sendable {
    var handlers = Handlers()
    var token = CancellationToken(())
    var next: Node?
  }

  let queue: DispatchQueue
  let log: DebugLog
  let work: Work
  private let state = Lock(State())

  init(_ name: String?, _ queue: DispatchQueue?, _ work: @escaping Work) {
    self.queue = queue ?? .global()
    self.work = work
    log = DebugLog(name: name)
  }

  deinit {
    // In a loop: a chain of a million steps does not overflow the stack.
    var next = state.withLock { $0.next.take() }
    while isKnownUniquelyReferenced(&next) {
      let following = next?.state.withLock { $0.next.take() }
      next = following
    }
  }

  // MARK: - Composing

  /// Makes a step follow this one, in place of the step that did.
  ///
  /// The next step gets this one's token, and its `finally` unless it has its own.
  func append(_ next: Node) {
    let (token, finally) = state.withLock { ($0.token, $0.handlers.finally) }
    // What is replaced here and below is released outside of the lock.
    _ = next.state.withLock { state in
      state.handlers.finally = state.handlers.finally ?? finally
      return exchange(&state.token, with: token)
    }
    _ = state.withLock { exchange(&$0.next, with: next) }
  }

  func setErrorHandler(_ handler: Sent<(any Error) -> Void>) {
    _ = state.withLock { exchange(&$0.handlers.onError, with: handler) }
  }

  func setFinallyHandler(_ handler: Sent<(ChainState) -> Void>) {
    _ = state.withLock { exchange(&$0.handlers.finally, with: handler) }
  }

  /// The token that cancels the chain that the step is part of.
  var token: CancellationToken {
    get { state.withLock { $0.token } }
    set { _ = state.withLock { exchange(&$0.token, with: newValue) } }
  }

  /// The step that follows.
  var next: Node? { state.withLock { $0.next } }

  /// The handlers that apply to this step, after a run inherited others from the steps before.
  ///
  /// An earlier step's `onError` takes precedence over a later one's; a later `finally` over an earlier one.
  func handlers(inheriting inherited: Handlers) -> Handlers {
    let own = state.withLock { $0.handlers }
    return Handlers(onError: inherited.onError ?? own.onError, finally: own.finally ?? inherited.finally)
  }
}

@available(*, deprecated)
extension Node {
  /// A step that returns or throws.
  convenience init<Input, Output>(_ name: String?, _ queue: DispatchQueue?, _ body: Sent<(Input) throws -> Output>) {
    self.init(name, queue) { input, _ in
      do { return .resolved(Sent(try body.value(input.open()))) } catch { return .failed(error) }
    }
  }

  /// A step that is passed a `Handler`.
  convenience init<Input, Output>(
    _ name: String?,
    _ queue: DispatchQueue?,
    _ location: Location,
    _ body: Sent<(Input, Handler<Output>) throws -> Void>
  ) {
    self.init(name, queue) { input, step in
      let handler = Handler<Output>(step, location)
      // Until the closure returns, what it works on is in use, and only a call of the handler ends the step.
      withExtendedLifetime(handler) {
        do { try body.value(input.open(), handler) } catch { handler.settle(.failed(error)) }
      }
      return nil
    }
  }

  /// A step that is passed a `Step`.
  convenience init<Input, Output>(
    _ name: String?,
    _ queue: DispatchQueue?,
    _ location: Location,
    _ body: Sent<(Step<Input, Output>) -> Void>
  ) {
    self.init(name, queue, location, Sent { input, handler in body.value(Step(input: input, handler: handler)) })
  }
}
