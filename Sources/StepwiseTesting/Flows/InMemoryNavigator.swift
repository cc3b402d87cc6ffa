// SPDX-License-Identifier: MIT
// Copyright (c) 2026 Stepwise contributors

public import Stepwise

/// A navigator that shows nothing: it holds the screens as a user interface would, and keeps what it was told.
///
/// ```swift
/// let navigator = InMemoryNavigator<Screen>()
/// let edit = FlowStep<String, String>("edit", .push, on: navigator) { handler in Screen("edit", handler) }
/// ```
@MainActor
public final class InMemoryNavigator<Screen: AnyObject>: FlowNavigator {
  /// The pushed screens, the topmost last.
  public private(set) var stack: [Screen] = []

  /// The presented screens, the topmost last.
  public private(set) var presented: [Screen] = []

  /// The calls that changed something, in order: `push`, `replace`, `pop`, `present` and `dismiss`.
  public private(set) var calls: [String] = []

  /// Creates a navigator without screens.
  public init() {}

  /// What the user sees.
  public var visible: Screen? { presented.last ?? stack.last }

  /// Shows a screen on top of the others.
  public func push(_ screen: Screen) {
    stack.append(screen)
    calls.append("push")
  }

  /// Shows a screen in the place of another one, or of the topmost when that is nil; pushes it when the user has taken the
  /// other one away.
  public func replace(_ screen: Screen?, with newScreen: Screen) {
    if let screen {
      guard let index = stack.firstIndex(where: { $0 === screen }) else { return push(newScreen) }
      stack[index] = newScreen
    } else {
      stack = stack.dropLast() + [newScreen]
    }
    calls.append("replace")
  }

  /// Takes a pushed screen away, unless the user has done so.
  public func pop(_ screen: Screen) {
    remove(screen, from: &stack, call: "pop")
  }

  /// Shows a screen over all others.
  public func present(_ screen: Screen) {
    presented.append(screen)
    calls.append("present")
  }

  /// Takes a presented screen away, unless the user has done so.
  public func dismiss(_ screen: Screen) {
    remove(screen, from: &presented, call: "dismiss")
  }

  private func remove(_ screen: Screen, from screens: inout [Screen], call: String) {
    guard let index = screens.firstIndex(where: { $0 === screen }) else { return }
    screens.remove(at: index)
    calls.append(call)
  }

  /// Takes the topmost pushed screen away, as a user who swipes; nobody is told but by what the screen itself does.
  @discardableResult
  public func swipeBack() -> Screen? { stack.popLast() }

  /// Takes the topmost presented screen away, as a user who swipes; nobody is told but by what the screen itself does.
  @discardableResult
  public func swipeDismiss() -> Screen? { presented.popLast() }
}
