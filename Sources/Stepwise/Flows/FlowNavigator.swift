// SPDX-License-Identifier: MIT
// Copyright (c) 2026 Stepwise contributors

/// What shows the screens of a flow: a host implements it, the flow says what is to be seen.
///
/// A step that is made with a navigator hands its screens over: `FlowStep("edit", .push, on: navigator) { handler in … }`.
/// The user may have taken a screen away before the flow asks for it: then `pop` and `dismiss` do nothing. The flow holds
/// screens weakly, so that one that the user has taken away lets go of its handler.
@MainActor
public protocol FlowNavigator<Screen>: AnyObject {
  /// What is shown, such as a view controller.
  associatedtype Screen: AnyObject

  /// Shows a screen on top of the others.
  func push(_ screen: Screen)

  /// Shows a screen in the place of another one, or of the topmost when that is nil.
  ///
  /// The user may have taken the other one away. Then the new one is pushed: nobody else is to go for it.
  func replace(_ screen: Screen?, with newScreen: Screen)

  /// Takes a pushed screen away, unless the user has done so.
  func pop(_ screen: Screen)

  /// Shows a screen over all others.
  func present(_ screen: Screen)

  /// Takes a presented screen away, unless the user has done so.
  func dismiss(_ screen: Screen)
}
