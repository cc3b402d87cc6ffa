// SPDX-License-Identifier: MIT
// Copyright (c) 2026 Stepwise contributors

public import Dispatch
internal import LegacySupport

@available(*, deprecated)
extension StepChain {
  /// Appends a step that takes the output of the previous one, and returns an output or throws.
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

  /// Appends a step that takes the output of the previous one, and returns an output or throws.
  ///
  /// - Parameters:
  ///   - name: The name of the step in the log.
  ///   - inQueue: The queue of the step; the global queue by default.
  ///   - body: The work of the step.
  /// - Returns: The chain with the step.
  @available(
    *,
    deprecated,
    message: "Use appending(Chain(\"name\") { input in … }.executor(…)) of Chain, or then(\"name\") { @MainActor in … }"
  )
  @preconcurrency
  @discardableResult
  public func then<Next>(
    _ name: String? = nil,
    inQueue: DispatchQueue? = nil,
    body: sending @escaping (CurrentOutput) throws -> Next
  ) -> StepChain<StartInput, StartOutput, CurrentOutput, Next> {
    appending(Node(name, inQueue, Sent(body)))
  }
}

// The closures are optional so that a closure that fits this and one without a handler is taken for the latter. Nil
// stands for a step that does not end: it fails as abandoned.
@available(*, deprecated)
extension StepChain {
  /// Appends a step that takes the output of the previous one, and ends when its handler is called.
  ///
  /// - Parameters:
  ///   - file: The file that diagnostics name.
  ///   - line: The line that diagnostics name.
  ///   - asyncBody: The work of the step.
  /// - Returns: The chain with the step.
  @available(*, deprecated, message: "Use appending(Step.callback { input, resolver in … }) of Chain")
  @preconcurrency
  @discardableResult
  public func then<Next>(
    file: String = #fileID,
    line: UInt = #line,
    _ asyncBody: sending ((CurrentOutput, Handler<Next>) throws -> Void)?
  ) -> StepChain<StartInput, StartOutput, CurrentOutput, Next> {
    appending(Node(nil, nil, Location(file: file, line: line), Sent(asyncBody ?? { _, _ in })))
  }

  /// Appends a step that takes the output of the previous one, and ends when its handler is called.
  ///
  /// - Parameters:
  ///   - name: The name of the step in the log.
  ///   - inQueue: The queue of the step; the global queue by default.
  ///   - file: The file that diagnostics name.
  ///   - line: The line that diagnostics name.
  ///   - asyncBody: The work of the step.
  /// - Returns: The chain with the step.
  @available(
    *,
    deprecated,
    message: "Use appending(Chain(Step.callback(\"name\") { input, resolver in … }).executor(…)) of Chain"
  )
  @preconcurrency
  @discardableResult
  public func then<Next>(
    _ name: String? = nil,
    inQueue: DispatchQueue? = nil,
    file: String = #fileID,
    line: UInt = #line,
    asyncBody: sending ((CurrentOutput, Handler<Next>) throws -> Void)?
  ) -> StepChain<StartInput, StartOutput, CurrentOutput, Next> {
    appending(Node(name, inQueue, Location(file: file, line: line), Sent(asyncBody ?? { _, _ in })))
  }
}

// The closures are optional so that a closure that fits this and one without a handler is taken for the latter. Nil
// stands for a step that does not end: it fails as abandoned.
@available(*, deprecated)
extension StepChain {
  /// Appends a step of edition 1, which is passed a `Step`.
  ///
  /// - Parameters:
  ///   - file: The file that diagnostics name.
  ///   - line: The line that diagnostics name.
  ///   - body: The work of the step.
  /// - Returns: The chain with the step.
  @available(
    *,
    deprecated,
    message: "Use then(\"name\") { input in … } of Chain, or Step.callback for a step that ends later"
  )
  @preconcurrency
  @discardableResult
  public func then<Next>(
    file: String = #fileID,
    line: UInt = #line,
    _ body: sending ((Step<CurrentOutput, Next>) -> Void)?
  ) -> StepChain<StartInput, StartOutput, CurrentOutput, Next> {
    appending(Node(nil, nil, Location(file: file, line: line), Sent(body ?? { _ in })))
  }

  /// Appends a step of edition 1, which is passed a `Step`.
  ///
  /// - Parameters:
  ///   - name: The name of the step in the log.
  ///   - queue: The queue of the step; the global queue by default.
  ///   - file: The file that diagnostics name.
  ///   - line: The line that diagnostics name.
  ///   - body: The work of the step.
  /// - Returns: The chain with the step.
  @available(
    *,
    deprecated,
    message: "Use then(\"name\") { input in … } of Chain, or Step.callback for a step that ends later"
  )
  @preconcurrency
  @discardableResult
  public func then<Next>(
    name: String? = nil,
    queue: DispatchQueue? = nil,
    file: String = #fileID,
    line: UInt = #line,
    body: sending ((Step<CurrentOutput, Next>) -> Void)?
  ) -> StepChain<StartInput, StartOutput, CurrentOutput, Next> {
    appending(Node(name, queue, Location(file: file, line: line), Sent(body ?? { _ in })))
  }
}
