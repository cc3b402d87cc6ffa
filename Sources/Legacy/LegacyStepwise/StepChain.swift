// SPDX-License-Identifier: MIT
// Copyright (c) 2026 Stepwise contributors

public import Foundation
internal import LegacySupport

/// Steps that run one after the other, each on the output of the previous one.
///
/// As in the original, `then`, `onError` and `finally` change the chain, also when what they return is ignored: a
/// second `then` on the same `StepChain` replaces what followed, and there is one error handler and one `finally`.
@available(*, deprecated, message: "Use Chain<Input, Output> of Stepwise")
public final class StepChain<StartInput, StartOutput, CurrentInput, CurrentOutput>: Sendable {
  let first: Node
  let last: Node

  init(_ first: Node, _ last: Node) {
    self.first = first
    self.last = last
  }

  convenience init(_ node: Node) { self.init(node, node) }

  func appending<Next>(_ node: Node) -> StepChain<StartInput, StartOutput, CurrentOutput, Next> {
    last.append(node)
    return StepChain<StartInput, StartOutput, CurrentOutput, Next>(first, node)
  }

  /// Makes another chain follow.
  ///
  /// The other chain gets this one's token. This chain's `onError`, if it has one, takes precedence over the other's;
  /// the other's `finally`, if it has one, takes precedence over this chain's once a run has reached it.
  @available(*, deprecated, message: "Use appending(_:) of Chain, where each chain keeps its own handlers and token")
  @discardableResult
  public func then<OtherStartOutput, OtherInput, Next>(
    _ chain: StepChain<CurrentOutput, OtherStartOutput, OtherInput, Next>
  ) -> StepChain<StartInput, StartOutput, OtherInput, Next> {
    last.append(chain.first)
    return StepChain<StartInput, StartOutput, OtherInput, Next>(first, chain.last)
  }

  // MARK: - Handlers

  /// Calls a handler with the error that the chain ends with, on the thread of the step that failed.
  ///
  /// A chain has one error handler: the latest.
  @available(*, deprecated, message: "Use onError(_:) of Chain, which keeps the handlers attached before")
  @preconcurrency
  @discardableResult
  public func onError(_ handler: sending @escaping StepErrorHandler) -> StepChain {
    first.setErrorHandler(Sent(handler))
    return self
  }

  /// Calls a handler with the error that the chain ends with, as `NSError`, which edition 1 passed.
  @available(*, deprecated, message: "Use onError(_:) of Chain, and `error as NSError` in it")
  @preconcurrency
  @_disfavoredOverload
  @discardableResult
  public func onError(_ handler: sending @escaping (NSError) -> Void) -> StepChain {
    let handler = Sent(handler)
    first.setErrorHandler(Sent { error in handler.value(error as NSError) })
    return self
  }

  /// Calls a handler when the chain has ended, on the thread of the step that ended it.
  ///
  /// One handler runs, the latest; when the chain consisted of one step as an earlier one was attached, the earlier one
  /// runs, unless that step ends the chain.
  @available(*, deprecated, message: "Use finally(_:) of Chain, which keeps the handlers attached before")
  @preconcurrency
  @discardableResult
  public func finally(_ handler: sending @escaping (ChainState) -> Void) -> StepChain {
    first.setFinallyHandler(Sent(handler))
    return self
  }

  // MARK: - Running

  /// Starts the chain with its first step, which is enqueued on its queue before this returns.
  ///
  /// Runs of a chain that is started again before it has ended are concurrent, and so are the calls of its closures,
  /// unless their queues are serial. What such closures share has to allow it; the compiler does not check that.
  @available(*, deprecated, message: "Use start(_:) of Chain, which returns a Run, or `try await chain.run(input)`")
  @discardableResult
  public func start(_ input: sending StartInput) -> StepChain {
    ChainRun(token: first.token).start(first, Sent(input))
    return self
  }

  /// Cancels the chain, and what is appended to it.
  @available(*, deprecated, message: "Cancel the Run that start returns, or use cancellationToken of Chain")
  public var cancellationToken: CancellationToken { first.token }
}

@available(*, deprecated)
extension StepChain where StartInput == Void {
  /// Starts the chain with its first step, which is enqueued on its queue before this returns.
  @available(*, deprecated, message: "Use start() of Chain, which returns a Run, or `try await chain.run()`")
  @discardableResult
  public func start() -> StepChain { start(()) }
}

@available(*, deprecated)
extension Step {
  /// Ends the step with its output, and continues with a chain in place of the steps that follow.
  ///
  /// - Parameters:
  ///   - output: The input of the chain.
  ///   - chain: The chain to continue with. It gets this chain's token and, where there is one, its `onError`.
  @available(*, deprecated, message: "Return `try await chain.run(output)` from the last step of a Chain")
  public func resolve<StartOutput, CurrentInput, CurrentOutput>(
    _ output: sending Output,
    then chain: StepChain<Output, StartOutput, CurrentInput, CurrentOutput>
  ) {
    handler.settleOnce(.resolved(Sent(output), continuing: chain.first))
  }
}

/// What `onError` is given.
@available(
  *,
  deprecated,
  message: "Write `@Sendable (any Error) -> Void`, or async, which is what onError of Chain takes"
)
public typealias StepErrorHandler = (any Error) -> Void

// Edition 1 passed `NSError`, also in `ChainState.Errored`, and edition 2 any error. One enum has one of them.

extension Error {
  /// The code of the error as `NSError`, which edition 1 passed.
  @available(*, deprecated, message: "Write `(error as NSError).code`")
  public var code: Int { (self as NSError).code }

  /// The domain of the error as `NSError`, which edition 1 passed.
  @available(*, deprecated, message: "Write `(error as NSError).domain`")
  public var domain: String { (self as NSError).domain }

  /// The details of the error as `NSError`, which edition 1 passed.
  @available(*, deprecated, message: "Write `(error as NSError).userInfo`")
  public var userInfo: [String: Any] { (self as NSError).userInfo }
}
