// SPDX-License-Identifier: MIT
// Copyright (c) 2026 Stepwise contributors

public import Dispatch
internal import LegacySupport

// A closure of two parameters also fits one that is passed a pair, and one that is passed a `Step` also fits one that
// is passed anything: so the closure that is passed anything is disfavoured.

/// Creates a chain of one step that takes an input, and returns an output or throws.
///
/// - Parameter body: The work of the step.
/// - Returns: The chain.
@available(*, deprecated, message: "Use Chain { input in … }")
@preconcurrency
@_disfavoredOverload
@discardableResult
public func toStep<Input, Output>(
  _ body: sending @escaping (Input) throws -> Output
) -> StepChain<Input, Output, Input, Output> {
  StepChain(Node(nil, nil, Sent(body)))
}

/// Creates a chain of one step that has no input, and returns an output or throws.
///
/// - Parameter body: The work of the step.
/// - Returns: The chain.
@available(*, deprecated, message: "Use Chain { … }")
@preconcurrency
@discardableResult
public func toStep<Output>(
  _ body: sending @escaping () throws -> Output
) -> StepChain<Void, Output, Void, Output> {
  StepChain(Node(nil, nil, Sent { (_: Void) in try body() }))
}

/// Creates a chain of one step that takes an input and ends when its handler is called.
///
/// - Parameters:
///   - file: The file that diagnostics name.
///   - line: The line that diagnostics name.
///   - asyncBody: The work of the step.
/// - Returns: The chain.
@available(*, deprecated, message: "Use Chain(Step.callback { input, resolver in … })")
@preconcurrency
@discardableResult
public func toStep<Input, Output>(
  file: String = #fileID,
  line: UInt = #line,
  _ asyncBody: sending @escaping (Input, Handler<Output>) throws -> Void
) -> StepChain<Input, Output, Input, Output> {
  StepChain(Node(nil, nil, Location(file: file, line: line), Sent(asyncBody)))
}

/// Creates a chain of one step of edition 1, which is passed a `Step`.
///
/// - Parameters:
///   - file: The file that diagnostics name.
///   - line: The line that diagnostics name.
///   - body: The work of the step.
/// - Returns: The chain.
@available(*, deprecated, message: "Use Chain { input in … }, or Step.callback for a step that ends later")
@preconcurrency
@discardableResult
public func toStep<Input, Output>(
  file: String = #fileID,
  line: UInt = #line,
  _ body: sending @escaping (Step<Input, Output>) -> Void
) -> StepChain<Input, Output, Input, Output> {
  StepChain(Node(nil, nil, Location(file: file, line: line), Sent(body)))
}

/// Creates a chain of one step that takes an input, and returns an output or throws.
///
/// - Parameters:
///   - named: The name of the step in the log.
///   - inQueue: The queue of the step; the global queue by default.
///   - body: The work of the step.
/// - Returns: The chain.
@available(
  *,
  deprecated,
  message: "Use Chain(\"name\") { input in … }.executor(…), or Chain { @MainActor input in … }"
)
@preconcurrency
@_disfavoredOverload
@discardableResult
public func toStep<Input, Output>(
  named: String? = nil,
  inQueue: DispatchQueue? = nil,
  body: sending @escaping (Input) throws -> Output
) -> StepChain<Input, Output, Input, Output> {
  StepChain(Node(named, inQueue, Sent(body)))
}

/// Creates a chain of one step that has no input, and returns an output or throws.
///
/// - Parameters:
///   - named: The name of the step in the log.
///   - inQueue: The queue of the step; the global queue by default.
///   - body: The work of the step.
/// - Returns: The chain.
@available(*, deprecated, message: "Use Chain(\"name\") { … }.executor(…), or Chain { @MainActor in … }")
@preconcurrency
@discardableResult
public func toStep<Output>(
  named: String? = nil,
  inQueue: DispatchQueue? = nil,
  body: sending @escaping () throws -> Output
) -> StepChain<Void, Output, Void, Output> {
  StepChain(Node(named, inQueue, Sent { (_: Void) in try body() }))
}

/// Creates a chain of one step that takes an input and ends when its handler is called.
///
/// - Parameters:
///   - named: The name of the step in the log.
///   - inQueue: The queue of the step; the global queue by default.
///   - file: The file that diagnostics name.
///   - line: The line that diagnostics name.
///   - asyncBody: The work of the step.
/// - Returns: The chain.
@available(*, deprecated, message: "Use Chain(Step.callback(\"name\") { input, resolver in … }).executor(…)")
@preconcurrency
@discardableResult
public func toStep<Input, Output>(
  named: String? = nil,
  inQueue: DispatchQueue? = nil,
  file: String = #fileID,
  line: UInt = #line,
  asyncBody: sending @escaping (Input, Handler<Output>) throws -> Void
) -> StepChain<Input, Output, Input, Output> {
  StepChain(Node(named, inQueue, Location(file: file, line: line), Sent(asyncBody)))
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
  message: "Use Chain(\"name\") { input in … }.executor(…), or Step.callback for a step that ends later"
)
@preconcurrency
@discardableResult
public func toStep<Input, Output>(
  _ inQueue: DispatchQueue?,
  file: String = #fileID,
  line: UInt = #line,
  _ body: sending @escaping (Step<Input, Output>) -> Void
) -> StepChain<Input, Output, Input, Output> {
  StepChain(Node(nil, inQueue, Location(file: file, line: line), Sent(body)))
}

/// Creates a chain of one step of edition 1, which is passed a `Step`.
///
/// - Parameters:
///   - named: The name of the step in the log.
///   - inQueue: The queue of the step; the global queue by default.
///   - file: The file that diagnostics name.
///   - line: The line that diagnostics name.
///   - body: The work of the step.
/// - Returns: The chain.
@available(
  *,
  deprecated,
  message: "Use Chain(\"name\") { input in … }.executor(…), or Step.callback for a step that ends later"
)
@preconcurrency
@discardableResult
public func toStep<Input, Output>(
  _ named: String?,
  _ inQueue: DispatchQueue? = nil,
  file: String = #fileID,
  line: UInt = #line,
  _ body: sending @escaping (Step<Input, Output>) -> Void
) -> StepChain<Input, Output, Input, Output> {
  StepChain(Node(named, inQueue, Location(file: file, line: line), Sent(body)))
}
