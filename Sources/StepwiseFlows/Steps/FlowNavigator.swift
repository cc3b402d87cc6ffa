// SPDX-License-Identifier: MIT
// Copyright (c) 2026 Stepwise contributors

/// A type that shows the screens of a flow in a user interface.
///
/// A step that is created with a navigator shows its screens through it: `FlowStep("edit", .push, on: navigator) {
/// handler in … }`. The user may remove a screen before the flow does; then `pop` and `dismiss` must do nothing. The
/// flow does not retain screens, so a screen that the user has removed releases its handler.
@MainActor
public protocol FlowNavigator<Screen>: AnyObject {
  /// The type of a screen, such as a view controller.
  associatedtype Screen: AnyObject

  /// Shows a screen on top of the others.
  func push(_ screen: Screen)

  /// Replaces a screen, or the topmost one when `screen` is nil.
  ///
  /// When the user has already removed the screen, push the new one: no other screen may be removed in its place.
  func replace(_ screen: Screen?, with newScreen: Screen)

  /// Removes a pushed screen, unless the user has removed it.
  func pop(_ screen: Screen)

  /// Presents a screen over all others.
  func present(_ screen: Screen)

  /// Dismisses a presented screen, unless the user has dismissed it.
  func dismiss(_ screen: Screen)
}
