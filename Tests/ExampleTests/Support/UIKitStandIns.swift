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

  let navigationItem = UINavigationItem()

  /// Ignored, without a call of the completion, while the controller presents another one, also one that is animating away.
  func present(_ controller: UIViewController, animated: Bool, completion: (() -> Void)? = nil) {
    guard presentedViewController == nil else { return }
    presentedViewController = controller
    controller.presentingViewController = self
    animate { completion?() }
  }

  /// Dismisses what the controller presents, or else itself; that takes effect when the animation has ended.
  func dismiss(animated: Bool, completion: (() -> Void)? = nil) {
    guard let presenting = presentedViewController == nil ? presentingViewController : self else { return }
    animate {
      presenting.removePresented()
      completion?()
    }
  }

  fileprivate func animate(_ completion: @escaping @MainActor () -> Void) {
    Task {
      for _ in 0..<10 { await Task.yield() }
      completion()
    }
  }

  private func removePresented() {
    presentedViewController?.presentingViewController = nil
    presentedViewController = nil
  }

  /// What a user does to a sheet.
  func swipeDown() {
    guard let sheet = presentedViewController, let controller = sheet.presentationController else { return }
    removePresented()
    controller.delegate?.presentationControllerDidDismiss(controller)
  }
}

@MainActor
final class UINavigationItem {
  var hidesBackButton = false
}

@MainActor
final class UIGestureRecognizer {
  var isEnabled = true
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
    willShow viewController: UIViewController,
    animated: Bool
  )
  func navigationController(
    _ navigationController: UINavigationController,
    didShow viewController: UIViewController,
    animated: Bool
  )
}

extension UINavigationControllerDelegate {
  func navigationController(
    _ navigationController: UINavigationController,
    willShow viewController: UIViewController,
    animated: Bool
  ) {}
}

@MainActor
final class UINavigationController: UIViewController {
  private(set) var viewControllers: [UIViewController] = []
  weak var delegate: (any UINavigationControllerDelegate)?
  let interactivePopGestureRecognizer: UIGestureRecognizer? = UIGestureRecognizer()

  var topViewController: UIViewController? { viewControllers.last }

  func pushViewController(_ controller: UIViewController, animated: Bool) {
    setViewControllers(viewControllers + [controller], animated: animated)
  }

  /// Changes the stack at once, and calls `didShow` when the animation has ended.
  func setViewControllers(_ controllers: [UIViewController], animated: Bool) {
    begin(controllers, animated: animated)
    if animated { animate { self.end(animated: true) } } else { end(animated: false) }
  }

  private func begin(_ controllers: [UIViewController], animated: Bool) {
    viewControllers = controllers
    if let top = topViewController { delegate?.navigationController(self, willShow: top, animated: animated) }
  }

  private func end(animated: Bool) {
    if let top = topViewController { delegate?.navigationController(self, didShow: top, animated: animated) }
  }

  /// What a user does who begins to swipe back and changes their mind: the screen is off the stack until they let go.
  func cancelSwipeBack() {
    let controllers = viewControllers
    begin(controllers.dropLast(), animated: true)
    viewControllers = controllers
  }

  /// What a user does to go back.
  func swipeBack() { swipeBack(over: 1) }

  /// What a user does with the menu of the back button, or with a second tap on the tab.
  func swipeBack(over count: Int) { setViewControllers(viewControllers.dropLast(count), animated: true) }
}
