// SPDX-License-Identifier: MIT
// Copyright (c) 2026 Stepwise contributors

import Foundation

// The few declarations of UIKit that the documentation's host uses: a stack of controllers, without any pixels.

@MainActor
class UIViewController {
  fileprivate(set) weak var presentingViewController: UIViewController?
  private(set) var presentedViewController: UIViewController?
  private(set) lazy var presentationController: UIPresentationController? = UIPresentationController(self)

  init(nibName: String?, bundle: Bundle?) {}
  required init?(coder: NSCoder) { nil }

  func present(_ controller: UIViewController, animated: Bool) {
    presentedViewController = controller
    controller.presentingViewController = self
  }

  func dismiss(animated: Bool) {
    guard let presenting = presentingViewController else { return }
    presentingViewController = nil
    presenting.presentedViewController = nil
  }

  /// What a user does to a sheet.
  func swipeDown() {
    guard let sheet = presentedViewController, let controller = sheet.presentationController else { return }
    sheet.dismiss(animated: true)
    controller.delegate?.presentationControllerDidDismiss(controller)
  }
}

@MainActor
final class UIPresentationController {
  unowned let presentedViewController: UIViewController
  weak var delegate: (any UIAdaptivePresentationControllerDelegate)?

  init(_ presented: UIViewController) {
    presentedViewController = presented
  }
}

@MainActor
protocol UIAdaptivePresentationControllerDelegate: AnyObject {
  func presentationControllerDidDismiss(_ presentationController: UIPresentationController)
}

@MainActor
protocol UINavigationControllerDelegate: AnyObject {
  func navigationController(
    _ navigationController: UINavigationController,
    didShow viewController: UIViewController,
    animated: Bool
  )
}

@MainActor
final class UINavigationController: UIViewController {
  private(set) var viewControllers: [UIViewController] = []
  weak var delegate: (any UINavigationControllerDelegate)?

  func pushViewController(_ controller: UIViewController, animated: Bool) {
    setViewControllers(viewControllers + [controller], animated: animated)
  }

  func setViewControllers(_ controllers: [UIViewController], animated: Bool) {
    viewControllers = controllers
    if let top = controllers.last { delegate?.navigationController(self, didShow: top, animated: animated) }
  }

  /// What a user does to go back.
  func swipeBack() { setViewControllers(viewControllers.dropLast(), animated: true) }
}
