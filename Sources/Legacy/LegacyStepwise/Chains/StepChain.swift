// SPDX-License-Identifier: MIT
// Copyright (c) 2026 Stepwise contributors

public import Foundation
internal import LegacySupport
internal import Stepwise

/// Steps that run one after the other, each on the output of the one before.
///
/// As in the original, `then`, `onError` and `finally` change the chain, also when what they return is ignored: a second
/// `then` on the same `StepChain` replaces what followed, and there is one error handler and one `finally`, the latest.
@available(*, deprecated, renamed: "Chain", message: "Use Chain<Input, Output> of Stepwise")
public final class StepChain<StartInput, StartOutput, CurrentInput, CurrentOutput>: Sendable {
  let line: Line
  private let stepCount: Int

  init(_ line: Line, stepCount: Int) {
    self.line = line
    self.stepCount = stepCount
  }

  convenience init(_ part: Part) { self.init(Line(part), stepCount: 1) }

  func appending<Next>(_ part: Part) -> StepChain<StartInput, StartOutput, CurrentOutput, Next> {
    StepChain<StartInput, StartOutput, CurrentOutput, Next>(line, stepCount: line.append(part, after: stepCount))
  }

  /// Lets another chain follow.
  ///
  /// The other chain's token is this one's from now on, and the `onError` of this one covers it, if there is one. Its
  /// `finally`, if it has one, counts as attached here.
  @available(*, deprecated, message: "Use then(_:) of Chain, where each chain keeps its own handlers and token")
  @discardableResult
  public func then<OtherStartOutput, OtherInput, Next>(
    _ chain: StepChain<CurrentOutput, OtherStartOutput, OtherInput, Next>
  ) -> StepChain<StartInput, StartOutput, OtherInput, Next> {
    StepChain<StartInput, StartOutput, OtherInput, Next>(line, stepCount: line.append(chain.line, after: stepCount))
  }

  // MARK: - Handlers

  /// Calls a handler with the error that the chain ends with: the one handler of the chain, wherever it is attached.
  @available(*, deprecated, message: "Use onError(_:) of Chain, which keeps the handlers attached before")
  @preconcurrency
  @discardableResult
  public func onError(_ handler: sending @escaping StepErrorHandler) -> StepChain {
    let handler = Sent(handler)
    line.setErrorHandler(Solo(Stepwise.Step { fault in handler.value(fault.error) }))
    return self
  }

  /// Calls a handler with the error that the chain ends with, as `NSError`, which edition 1 gave.
  @available(*, deprecated, message: "Use onError(_:) of Chain, and `error as NSError` in it")
  @preconcurrency
  @_disfavoredOverload
  @discardableResult
  public func onError(_ handler: sending @escaping (NSError) -> Void) -> StepChain {
    let handler = Sent(handler)
    line.setErrorHandler(Solo(Stepwise.Step { fault in handler.value(fault.error as NSError) }))
    return self
  }

  /// Calls a handler when the chain has ended, whatever happened: the latest one attached alone, last of all.
  @available(*, deprecated, message: "Use finally(_:) of Chain, which keeps the handlers attached before")
  @preconcurrency
  @discardableResult
  public func finally(_ handler: sending @escaping (ChainState) -> Void) -> StepChain {
    let handler = Sent(handler)
    let token = cancellationToken
    line.setFinallyHandler(Solo(Stepwise.Step { outcome in handler.value(ChainState(outcome, token: token)) }))
    return self
  }

  // MARK: - Running

  /// Starts the chain, from its first step on.
  @available(*, deprecated, message: "Use start(_:) of Chain, which returns a Run, or `try await chain.run(input)`")
  @discardableResult
  public func start(_ input: sending StartInput) -> StepChain {
    line.makeChain().start(Parcel(input))
    return self
  }

  /// Cancels the chain, and what is appended to it.
  @available(*, deprecated, message: "Cancel the Run that start returns, or use cancellationToken of Chain")
  public var cancellationToken: CancellationToken { CancellationToken(line.token) }
}

@available(*, deprecated)
extension StepChain where StartInput == Void {
  /// Starts the chain, from its first step on.
  @available(*, deprecated, message: "Use start() of Chain, which returns a Run, or `try await chain.run()`")
  @discardableResult
  public func start() -> StepChain { start(()) }
}
