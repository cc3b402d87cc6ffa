// SPDX-License-Identifier: MIT
// Copyright (c) 2026 Stepwise contributors

public import Dispatch
internal import LegacySupport

@available(*, deprecated)
extension StepChain {
  /// Appends a step that takes the output of the one before, and returns an output or throws.
  ///
  /// - Parameters:
  ///   - inQueue: Where the step runs.
  ///   - body: The step.
  /// - Returns: The chain with the step.
  @available(*, deprecated, message: "Use then(Step { … }.executor(…)) of Chain, or then { @MainActor in … }")
  @preconcurrency
  @discardableResult
  public func then<Next>(
    inQueue: DispatchQueue,
    _ body: sending @escaping (CurrentOutput) throws -> Next
  ) -> StepChain<StartInput, StartOutput, CurrentOutput, Next> {
    appending(Part(nil, inQueue, Sent(body)))
  }

  /// Appends a step that takes the output of the one before, and ends when its handler is called.
  ///
  /// - Parameters:
  ///   - inQueue: Where the step runs.
  ///   - file: The file that is named when the handler is let go of, or called twice.
  ///   - line: The line that is named then.
  ///   - body: The step.
  /// - Returns: The chain with the step.
  @available(*, deprecated, message: "Use then(Step.callback { … }.executor(…)) of Chain")
  @preconcurrency
  @_disfavoredOverload
  @discardableResult
  public func then<Next>(
    inQueue: DispatchQueue,
    file: String = #fileID,
    line: UInt = #line,
    _ body: sending @escaping (CurrentOutput, Handler<Next>) throws -> Void
  ) -> StepChain<StartInput, StartOutput, CurrentOutput, Next> {
    appending(.handing(nil, inQueue, file: file, line: line, Sent(body)))
  }

  /// Appends a step of edition 1, which is given a `Step`.
  ///
  /// - Parameters:
  ///   - inQueue: Where the step runs.
  ///   - file: The file that is named when the step is let go of, or ended twice.
  ///   - line: The line that is named then.
  ///   - body: The step.
  /// - Returns: The chain with the step.
  @available(*, deprecated, message: "Use then(Step { … }.executor(…)) of Chain, or then { @MainActor in … }")
  @preconcurrency
  @_disfavoredOverload
  @discardableResult
  public func then<Next>(
    inQueue: DispatchQueue,
    file: String = #fileID,
    line: UInt = #line,
    _ body: sending @escaping (Step<CurrentOutput, Next>) -> Void
  ) -> StepChain<StartInput, StartOutput, CurrentOutput, Next> {
    appending(.giving(nil, inQueue, file: file, line: line, Sent(body)))
  }

  /// Appends a step of edition 1, which called the queue `queue:`.
  ///
  /// - Parameters:
  ///   - name: What the log calls the step.
  ///   - queue: Where the step runs.
  ///   - file: The file that is named when the step is let go of, or ended twice.
  ///   - line: The line that is named then.
  ///   - body: The step.
  /// - Returns: The chain with the step.
  @available(*, deprecated, message: "Use then(Step { … }.executor(…)) of Chain, or then { @MainActor in … }")
  @preconcurrency
  @discardableResult
  public func then<Next>(
    _ name: String? = nil,
    queue: DispatchQueue,
    file: String = #fileID,
    line: UInt = #line,
    _ body: sending @escaping (Step<CurrentOutput, Next>) -> Void
  ) -> StepChain<StartInput, StartOutput, CurrentOutput, Next> {
    appending(.giving(name, queue, file: file, line: line, Sent(body)))
  }
}
