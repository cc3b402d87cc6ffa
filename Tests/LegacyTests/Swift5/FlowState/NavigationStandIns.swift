// SPDX-License-Identifier: MIT
// Copyright (c) 2026 Stepwise contributors

import LegacyFlowState
import StepwiseTesting

// What the samples use of UIKit, as far as they use it, isolated as UIKit is.

@preconcurrency @MainActor
class UIViewController {
  init() {}
}

@preconcurrency @MainActor
class UINavigationController: LegacyFlowState.UINavigationController {
  private(set) var viewControllers: [UIViewController] = []
  private(set) var presented: UIViewController?
  let calls = Recorder<String>()

  var top: UIViewController? { viewControllers.last }

  func setViewControllers(_ viewControllers: [UIViewController], animated: Bool) {
    self.viewControllers = viewControllers
    calls.record("set")
  }

  func pushViewController(_ viewController: UIViewController, animated: Bool) {
    viewControllers.append(viewController)
    calls.record("push")
  }

  func popViewController(animated: Bool) { viewControllers.removeLast() }

  func present(_ viewController: UIViewController, animated: Bool, completion: (() -> Void)?) {
    presented = viewController
    calls.record("present")
  }

  func dismiss(animated: Bool, completion: (() -> Void)?) {
    presented = nil
    calls.record("dismiss")
  }
}
