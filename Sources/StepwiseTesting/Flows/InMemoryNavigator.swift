// SPDX-License-Identifier: MIT
// Copyright (c) 2026 Stepwise contributors

public import StepwiseFlows

/// A navigator for tests: it retains the screens without showing them, and records the calls.
///
/// Use it to test which screens your flow shows and removes.
///
/// ```swift
/// let navigator = InMemoryNavigator<Screen>()
/// let edit = FlowStep<String, String>("edit", .push, on: navigator) { handler in Screen("edit", handler) }
/// ```
@MainActor
public final class InMemoryNavigator<Screen: AnyObject>: FlowNavigator {
  /// The pushed screens, topmost last.
  public private(set) var stack: [Screen] = []

  /// The presented screens, topmost last.
  public private(set) var presented: [Screen] = []

  /// The calls that changed something, in order: `push`, `replace`, `pop`, `present` and `dismiss`.
  public private(set) var calls: [String] = []

  /// A Boolean value that indicates whether the user may go back: false while work runs that finishes.
  public private(set) var isBackAllowed = true

  /// Creates a navigator without screens.
  public init() {}

  /// The screen that the user sees.
  public var visible: Screen? { presented.last ?? stack.last }

  /// Pushes a screen on top of the others.
  public func push(_ screen: Screen) {
    stack.append(screen)
    calls.append("push")
  }

  /// Replaces a screen, or the topmost one when `screen` is nil; pushes the new one when the user has removed the
  /// screen.
  public func replace(_ screen: Screen?, with newScreen: Screen) {
    if let screen {
      guard let index = stack.firstIndex(where: { $0 === screen }) else { return push(newScreen) }
      stack[index] = newScreen
    } else {
      stack = stack.dropLast() + [newScreen]
    }
    calls.append("replace")
  }

  /// Removes a pushed screen, unless the user has removed it.
  public func pop(_ screen: Screen) {
    remove(screen, from: &stack, call: "pop")
  }

  /// Presents a screen over all others.
  public func present(_ screen: Screen) {
    presented.append(screen)
    calls.append("present")
  }

  /// Dismisses a presented screen, unless the user has dismissed it.
  public func dismiss(_ screen: Screen) {
    remove(screen, from: &presented, call: "dismiss")
  }

  /// Records whether the user may go back.
  public func setBackAllowed(_ isAllowed: Bool) { isBackAllowed = isAllowed }

  private func remove(_ screen: Screen, from screens: inout [Screen], call: String) {
    guard let index = screens.firstIndex(where: { $0 === screen }) else { return }
    screens.remove(at: index)
    calls.append(call)
  }

  /// Removes the topmost pushed screen, like a swipe of the user; only the release of the screen has an effect.
  @discardableResult
  public func swipeBack() -> Screen? { stack.popLast() }

  /// Removes the topmost presented screen, like a swipe of the user; only the release of the screen has an effect.
  @discardableResult
  public func swipeDismiss() -> Screen? { presented.popLast() }
}
