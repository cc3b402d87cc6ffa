// SPDX-License-Identifier: MIT
// Copyright (c) 2026 Stepwise contributors

public import Dispatch
internal import LegacySupport

// A closure of two parameters also fits one that is given a pair, and one that is given a `Step` also fits one that is given
// anything: so the closure that is given anything is the disfavoured one.

/// Makes a chain of one step, which takes an input, and returns an output or throws.
///
/// - Parameters:
///   - named: What the log calls the step.
///   - inQueue: Where the step runs; a global queue unless told.
///   - body: The step.
/// - Returns: The chain.
@available(*, deprecated, renamed: "Chain.init(_:)", message: "Use Chain { input in … }")
@preconcurrency
@_disfavoredOverload
@discardableResult
public func toStep<Input, Output>(
  named: String? = nil,
  inQueue: DispatchQueue? = nil,
  _ body: sending @escaping (Input) throws -> Output
) -> StepChain<Input, Output, Input, Output> {
  StepChain(Part(named, inQueue, Sent(body)))
}

/// Makes a chain of one step, which has no input, and returns an output or throws.
///
/// - Parameters:
///   - named: What the log calls the step.
///   - inQueue: Where the step runs; a global queue unless told.
///   - body: The step.
/// - Returns: The chain.
@available(*, deprecated, renamed: "Chain.init(_:)", message: "Use Chain { … }")
@preconcurrency
@discardableResult
public func toStep<Output>(
  named: String? = nil,
  inQueue: DispatchQueue? = nil,
  _ body: sending @escaping () throws -> Output
) -> StepChain<Void, Output, Void, Output> {
  StepChain(Part(named, inQueue, withoutInput: Sent(body)))
}

/// Makes a chain of one step, which takes an input and ends when its handler is called.
///
/// - Parameters:
///   - named: What the log calls the step.
///   - inQueue: Where the step runs; a global queue unless told.
///   - file: The file that is named when the handler is let go of, or called twice.
///   - line: The line that is named then.
///   - body: The step.
/// - Returns: The chain.
@available(*, deprecated, message: "Use Chain(Step.callback { input, resolver in … })")
@preconcurrency
@discardableResult
public func toStep<Input, Output>(
  named: String? = nil,
  inQueue: DispatchQueue? = nil,
  file: String = #fileID,
  line: UInt = #line,
  _ body: sending @escaping (Input, Handler<Output>) throws -> Void
) -> StepChain<Input, Output, Input, Output> {
  StepChain(.handing(named, inQueue, file: file, line: line, Sent(body)))
}

/// Makes a chain of one step of edition 1, which is given a `Step`.
///
/// - Parameters:
///   - named: What the log calls the step.
///   - inQueue: Where the step runs; a global queue unless told.
///   - file: The file that is named when the step is let go of, or ended twice.
///   - line: The line that is named then.
///   - body: The step.
/// - Returns: The chain.
@available(*, deprecated, message: "Use Chain { input in … }, or Step.callback for a step that ends later")
@preconcurrency
@discardableResult
public func toStep<Input, Output>(
  named: String? = nil,
  inQueue: DispatchQueue? = nil,
  file: String = #fileID,
  line: UInt = #line,
  _ body: sending @escaping (Step<Input, Output>) -> Void
) -> StepChain<Input, Output, Input, Output> {
  StepChain(.giving(named, inQueue, file: file, line: line, Sent(body)))
}
