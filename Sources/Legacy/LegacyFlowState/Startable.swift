// SPDX-License-Identifier: MIT
// Copyright (c) 2026 Stepwise contributors

/// Something that a flow is made of: it is started, and starts what is next when it has been completed.
@available(*, deprecated, message: "Use AnyFlowStep for a list of steps, and Flow for what is run")
@preconcurrency
@MainActor
public protocol Startable {
  /// What it is called.
  @available(*, deprecated, message: "Use name of FlowStep")
  var identifier: String { get }

  /// What is started when this has been completed; nil ends the flow.
  @available(*, deprecated, message: "Use on(_:) of Flow, and return .next(step, content) or .finish")
  var nextStep: (any Startable)? { get set }

  /// Starts it. When it has been completed, it starts its `nextStep`.
  @available(*, deprecated, message: "Use `try await flow.run()`, or start() of Flow, which returns a Run")
  func start()
}
