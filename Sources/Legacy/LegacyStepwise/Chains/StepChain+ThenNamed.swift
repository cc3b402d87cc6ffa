// SPDX-License-Identifier: MIT
// Copyright (c) 2026 Stepwise contributors

public import Dispatch
internal import LegacySupport

@available(*, deprecated)
extension StepChain {
  /// Appends a step that takes the output of the one before, and returns an output or throws.
  ///
  /// - Parameters:
  ///   - name: What the log calls the step.
  ///   - inQueue: Where the step runs; a global queue unless told.
  ///   - body: The step.
  /// - Returns: The chain with the step.
  @available(*, deprecated, message: "Use then(\"name\") { … } of Chain, and executor(_:) of Step in place of a queue")
  @preconcurrency
  @discardableResult
  public func then<Next>(
    _ name: String?,
    inQueue: DispatchQueue? = nil,
    _ body: sending @escaping (CurrentOutput) throws -> Next
  ) -> StepChain<StartInput, StartOutput, CurrentOutput, Next> {
    appending(Part(name, inQueue, Sent(body)))
  }

  /// Appends a step that takes the output of the one before, and ends when its handler is called.
  ///
  /// - Parameters:
  ///   - name: What the log calls the step.
  ///   - inQueue: Where the step runs; a global queue unless told.
  ///   - file: The file that is named when the handler is let go of, or called twice.
  ///   - line: The line that is named then.
  ///   - body: The step.
  /// - Returns: The chain with the step.
  @available(*, deprecated, message: "Use then(Step.callback(\"name\") { input, resolver in … }) of Chain")
  @preconcurrency
  @_disfavoredOverload
  @discardableResult
  public func then<Next>(
    _ name: String?,
    inQueue: DispatchQueue? = nil,
    file: String = #fileID,
    line: UInt = #line,
    _ body: sending @escaping (CurrentOutput, Handler<Next>) throws -> Void
  ) -> StepChain<StartInput, StartOutput, CurrentOutput, Next> {
    appending(.handing(name, inQueue, file: file, line: line, Sent(body)))
  }

  /// Appends a step of edition 1, which is given a `Step`.
  ///
  /// - Parameters:
  ///   - name: What the log calls the step.
  ///   - inQueue: Where the step runs; a global queue unless told.
  ///   - file: The file that is named when the step is let go of, or ended twice.
  ///   - line: The line that is named then.
  ///   - body: The step.
  /// - Returns: The chain with the step.
  @available(*, deprecated, message: "Use then(\"name\") { input in … } of Chain, or Step.callback")
  @preconcurrency
  @_disfavoredOverload
  @discardableResult
  public func then<Next>(
    _ name: String?,
    inQueue: DispatchQueue? = nil,
    file: String = #fileID,
    line: UInt = #line,
    _ body: sending @escaping (Step<CurrentOutput, Next>) -> Void
  ) -> StepChain<StartInput, StartOutput, CurrentOutput, Next> {
    appending(.giving(name, inQueue, file: file, line: line, Sent(body)))
  }
}
