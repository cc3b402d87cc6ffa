// SPDX-License-Identifier: MIT
// Copyright (c) 2026 Stepwise contributors

public import Stepwise

/// A flow that shows its steps on a navigation controller, and that is itself a step.
///
/// Let the navigation controller be a `FlowNavigator` for this, or give the one of your host.
@available(*, deprecated, renamed: "Flow", message: "Use Flow, and FlowStep(name, .push, on: navigator) { … }")
@preconcurrency
@MainActor
open class NavigationFlowCoordinator<Navigator: FlowNavigator>: Followed {
  /// What the flow is called.
  @available(*, deprecated, renamed: "name")
  public nonisolated let identifier: String

  /// Where the steps show their screens.
  @available(*, deprecated, message: "Give the navigator to each step: FlowStep(name, .push, on: navigator)")
  public let navigationController: Navigator

  /// What the flow begins with.
  @available(*, deprecated, message: "Use Flow(name, first: step, content: content)")
  public let firstStep: any Startable

  /// What is started when the flow has ended; nil ends the flow that this one is part of.
  @available(*, deprecated, message: "Use on(_:) of Flow, and return .next(step, content) or .finish")
  public var nextStep: (any Startable)?

  /// Creates a flow.
  ///
  /// - Parameters:
  ///   - navigationController: Where the steps show their screens.
  ///   - identifier: What the flow is called.
  ///   - firstStep: What it begins with.
  @available(*, deprecated, message: "Use Flow(name, first: step, content: content)")
  public required init(navigationController: Navigator, identifier: String = "", firstStep: any Startable) {
    self.navigationController = navigationController
    self.identifier = identifier
    self.firstStep = firstStep
  }

  /// Starts the first step, in the main actor's next turn, and what is next when the last one has ended.
  @available(*, deprecated, message: "Use `try await flow.run()`, or start() of Flow, which returns a Run")
  public func start() { Course.start(self) }

  var latestResult: Any? { nil }

  func runOnce(in course: Course) async -> (any Startable)? {
    await course.follow(from: firstStep)
    return nextStep
  }

  func reopen() {}
}
