// SPDX-License-Identifier: MIT
// Copyright (c) 2026 Stepwise contributors

public import Dispatch
internal import LegacySupport

// The closures are optional so that a closure that fits this and one without a handler is taken for the latter. Nil
// stands for a step that does not end: it fails as abandoned.
@available(*, deprecated)
extension StepChain {
  /// Appends a step that takes the output of the one before, and ends when its handler is called.
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
    appending(Node(nil, nil, Ending.Location(file: file, line: line), Sent(asyncBody ?? { _, _ in })))
  }

  /// Appends a step that takes the output of the one before, and ends when its handler is called.
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
    message: "Use appending(Step.callback(\"name\") { input, resolver in … }.executor(…)) of Chain"
  )
  @preconcurrency
  @discardableResult
  public func then<Next>(
    _ name: String?,
    inQueue: DispatchQueue? = nil,
    file: String = #fileID,
    line: UInt = #line,
    asyncBody: sending ((CurrentOutput, Handler<Next>) throws -> Void)?
  ) -> StepChain<StartInput, StartOutput, CurrentOutput, Next> {
    appending(Node(name, inQueue, Ending.Location(file: file, line: line), Sent(asyncBody ?? { _, _ in })))
  }

  /// Appends a step that takes the output of the one before, and ends when its handler is called.
  ///
  /// - Parameters:
  ///   - inQueue: The queue of the step.
  ///   - file: The file that diagnostics name.
  ///   - line: The line that diagnostics name.
  ///   - asyncBody: The work of the step.
  /// - Returns: The chain with the step.
  @available(
    *,
    deprecated,
    message: "Use appending(Step.callback(\"name\") { input, resolver in … }.executor(…)) of Chain"
  )
  @preconcurrency
  @discardableResult
  public func then<Next>(
    inQueue: DispatchQueue?,
    file: String = #fileID,
    line: UInt = #line,
    asyncBody: sending ((CurrentOutput, Handler<Next>) throws -> Void)?
  ) -> StepChain<StartInput, StartOutput, CurrentOutput, Next> {
    appending(Node(nil, inQueue, Ending.Location(file: file, line: line), Sent(asyncBody ?? { _, _ in })))
  }
}
