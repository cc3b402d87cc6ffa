// SPDX-License-Identifier: MIT
// Copyright (c) 2026 Stepwise contributors

public import Dispatch
internal import LegacySupport

@available(*, deprecated)
extension StepChain {
  /// Appends a step that takes the output of the one before, and returns an output or throws.
  ///
  /// - Parameter body: The work of the step.
  /// - Returns: The chain with the step.
  @available(*, deprecated, message: "Use then(_:) of Chain")
  @preconcurrency
  @discardableResult
  public func then<Next>(
    _ body: sending @escaping (CurrentOutput) throws -> Next
  ) -> StepChain<StartInput, StartOutput, CurrentOutput, Next> {
    appending(Node(nil, nil, Sent(body)))
  }

  /// Appends a step that takes the output of the one before, and returns an output or throws.
  ///
  /// - Parameters:
  ///   - name: The name of the step in the log.
  ///   - inQueue: The queue of the step; the global queue by default.
  ///   - body: The work of the step.
  /// - Returns: The chain with the step.
  @available(
    *,
    deprecated,
    message: "Use appending(Step(\"name\") { input in … }.executor(…)) of Chain, or then(\"name\") { @MainActor in … }"
  )
  @preconcurrency
  @discardableResult
  public func then<Next>(
    _ name: String?,
    inQueue: DispatchQueue? = nil,
    body: sending @escaping (CurrentOutput) throws -> Next
  ) -> StepChain<StartInput, StartOutput, CurrentOutput, Next> {
    appending(Node(name, inQueue, Sent(body)))
  }

  /// Appends a step that takes the output of the one before, and returns an output or throws.
  ///
  /// - Parameters:
  ///   - inQueue: The queue of the step.
  ///   - body: The work of the step.
  /// - Returns: The chain with the step.
  @available(
    *,
    deprecated,
    message: "Use appending(Step(\"name\") { input in … }.executor(…)) of Chain, or then(\"name\") { @MainActor in … }"
  )
  @preconcurrency
  @discardableResult
  public func then<Next>(
    inQueue: DispatchQueue?,
    body: sending @escaping (CurrentOutput) throws -> Next
  ) -> StepChain<StartInput, StartOutput, CurrentOutput, Next> {
    appending(Node(nil, inQueue, Sent(body)))
  }
}
