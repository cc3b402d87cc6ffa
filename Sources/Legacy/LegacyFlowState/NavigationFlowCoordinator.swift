// SPDX-License-Identifier: MIT
// Copyright (c) 2026 Stepwise contributors

#if canImport(UIKit) && !os(watchOS)
  public import UIKit
#else
  /// What a coordinator shows its steps on where there is no UIKit: a class to inherit from.
  @preconcurrency
  @MainActor
  open class UINavigationController {
    /// Creates a navigation controller.
    public init() {}
  }
#endif

/// A flow that shows its steps on a navigation controller, and that is itself a step.
///
/// It retains the navigation controller and the first step. It does not know when its last step has been completed, and
/// does not start its `nextStep`.
@available(*, deprecated, message: "Use Flow, and FlowStep(name, .push, on: navigator) { … }")
@preconcurrency
@MainActor
open class NavigationFlowCoordinator: Startable {
  /// What the flow is called.
  @available(*, deprecated, message: "Use name of Flow")
  public let identifier: String

  /// Where the steps show their screens.
  @available(*, deprecated, message: "Give the navigator to each step: FlowStep(name, .push, on: navigator)")
  public let navigationController: UINavigationController

  /// What a subclass may start when its flow has ended; the coordinator does not start it.
  @available(*, deprecated, message: "Use on(_:) of Flow, and return .next(step, content) or .finish")
  public var nextStep: (any Startable)?

  private let firstStep: any Startable

  /// Creates a flow.
  ///
  /// - Parameters:
  ///   - navigationController: Where the steps show their screens.
  ///   - identifier: What the flow is called.
  ///   - firstStep: What it begins with.
  @available(*, deprecated, message: "Use Flow(name, first: step, content: content)")
  public required init(
    navigationController: UINavigationController = UINavigationController(),
    identifier: String = "",
    firstStep: any Startable
  ) {
    self.navigationController = navigationController
    self.identifier = identifier
    self.firstStep = firstStep
  }

  /// Starts the first step before this returns.
  @available(*, deprecated, message: "Use `try await flow.run()`, or start() of Flow, which returns a Run")
  public func start() { firstStep.start() }
}
