// SPDX-License-Identifier: MIT
// Copyright (c) 2026 Stepwise contributors

/// Something that a flow is made of: it is started, and what is next is started when it has ended.
@available(*, deprecated, message: "Use AnyFlowStep for a list of steps, and Flow for what is run")
@preconcurrency
@MainActor
public protocol Startable: AnyObject {
  /// What it is called.
  @available(*, deprecated, renamed: "name")
  var identifier: String { get }

  /// What is started when this has ended; nil ends the flow.
  @available(*, deprecated, message: "Use on(_:) of Flow, and return .next(step, content) or .finish")
  var nextStep: (any Startable)? { get set }

  /// Starts it, and what is next after it.
  @available(*, deprecated, message: "Use `try await flow.run()`, or start() of Flow, which returns a Run")
  func start()
}
