// SPDX-License-Identifier: MIT
// Copyright (c) 2026 Stepwise contributors

internal import LegacySupport

@available(*, deprecated)
extension StepChain {
  /// Appends a step that takes the output of the one before, and returns an output or throws.
  @available(*, deprecated, renamed: "Chain.then(_:)", message: "Use then(_:) of Chain")
  @preconcurrency
  @discardableResult
  public func then<Next>(
    _ body: sending @escaping (CurrentOutput) throws -> Next
  ) -> StepChain<StartInput, StartOutput, CurrentOutput, Next> {
    appending(Part(nil, nil, Sent(body)))
  }

  /// Appends a step that takes the output of the one before, and ends when its handler is called.
  ///
  /// - Parameters:
  ///   - file: The file that is named when the handler is let go of, or called twice.
  ///   - line: The line that is named then.
  ///   - body: The step.
  /// - Returns: The chain with the step.
  @available(*, deprecated, message: "Use then(Step.callback { input, resolver in … }) of Chain")
  @preconcurrency
  @_disfavoredOverload
  @discardableResult
  public func then<Next>(
    file: String = #fileID,
    line: UInt = #line,
    _ body: sending @escaping (CurrentOutput, Handler<Next>) throws -> Void
  ) -> StepChain<StartInput, StartOutput, CurrentOutput, Next> {
    appending(.handing(nil, nil, file: file, line: line, Sent(body)))
  }

  /// Appends a step of edition 1, which is given a `Step`.
  ///
  /// - Parameters:
  ///   - file: The file that is named when the step is let go of, or ended twice.
  ///   - line: The line that is named then.
  ///   - body: The step.
  /// - Returns: The chain with the step.
  @available(*, deprecated, message: "Use then { input in … } of Chain, or Step.callback for a step that ends later")
  @preconcurrency
  @_disfavoredOverload
  @discardableResult
  public func then<Next>(
    file: String = #fileID,
    line: UInt = #line,
    _ body: sending @escaping (Step<CurrentOutput, Next>) -> Void
  ) -> StepChain<StartInput, StartOutput, CurrentOutput, Next> {
    appending(.giving(nil, nil, file: file, line: line, Sent(body)))
  }
}
