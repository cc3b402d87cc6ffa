// SPDX-License-Identifier: MIT
// Copyright (c) 2026 Stepwise contributors

public import Dispatch
internal import LegacySupport

// Edition 1 had no labels.

/// Creates a chain of one step of edition 1, which is passed a `Step`.
///
/// - Parameters:
///   - named: The name of the step in the log.
///   - file: The file that diagnostics name.
///   - line: The line that diagnostics name.
///   - body: The work of the step.
/// - Returns: The chain.
@available(
  *,
  deprecated,
  message: "Use Chain(Step(\"name\") { input in … }.executor(…)), or Step.callback for a step that ends later"
)
@preconcurrency
@discardableResult
public func toStep<Input, Output>(
  _ named: String?,
  file: String = #fileID,
  line: UInt = #line,
  _ body: sending @escaping (Step<Input, Output>) -> Void
) -> StepChain<Input, Output, Input, Output> {
  StepChain(Node(named, nil, Ending.Location(file: file, line: line), Sent(body)))
}

/// Creates a chain of one step of edition 1, which is passed a `Step`.
///
/// - Parameters:
///   - inQueue: The queue of the step.
///   - file: The file that diagnostics name.
///   - line: The line that diagnostics name.
///   - body: The work of the step.
/// - Returns: The chain.
@available(
  *,
  deprecated,
  message: "Use Chain(Step(\"name\") { input in … }.executor(…)), or Step.callback for a step that ends later"
)
@preconcurrency
@discardableResult
public func toStep<Input, Output>(
  _ inQueue: DispatchQueue?,
  file: String = #fileID,
  line: UInt = #line,
  _ body: sending @escaping (Step<Input, Output>) -> Void
) -> StepChain<Input, Output, Input, Output> {
  StepChain(Node(nil, inQueue, Ending.Location(file: file, line: line), Sent(body)))
}

/// Creates a chain of one step of edition 1, which is passed a `Step`.
///
/// - Parameters:
///   - named: The name of the step in the log.
///   - inQueue: The queue of the step.
///   - file: The file that diagnostics name.
///   - line: The line that diagnostics name.
///   - body: The work of the step.
/// - Returns: The chain.
@available(
  *,
  deprecated,
  message: "Use Chain(Step(\"name\") { input in … }.executor(…)), or Step.callback for a step that ends later"
)
@preconcurrency
@discardableResult
public func toStep<Input, Output>(
  _ named: String?,
  _ inQueue: DispatchQueue?,
  file: String = #fileID,
  line: UInt = #line,
  _ body: sending @escaping (Step<Input, Output>) -> Void
) -> StepChain<Input, Output, Input, Output> {
  StepChain(Node(named, inQueue, Ending.Location(file: file, line: line), Sent(body)))
}
