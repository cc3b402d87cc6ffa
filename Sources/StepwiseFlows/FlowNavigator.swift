// SPDX-License-Identifier: MIT
// Copyright (c) 2026 Stepwise contributors

/// A type that shows the screens of a flow; implement it once for your user interface.
///
/// Implement it once for each kind of user interface, and create steps with it:
/// `FlowStep("edit", .push, on: navigator) { handler in … }`. The flow then removes the screens of steps that it has left.
///
/// The user may remove a screen before the flow does; then `pop` and `dismiss` must do nothing. The flow does not retain
/// screens, so a screen that the user has removed releases its handler.
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

/// How a step's screen is shown.
public struct FlowPresentation: Hashable, Sendable, CustomStringConvertible {
  /// The name of the presentation.
  public let description: String

  /// Pushed on top of the others, until its step leaves the path or the flow ends.
  public static let push = FlowPresentation(description: "push")

  /// Replaces the topmost screen, until its step leaves the path.
  ///
  /// It stays when the flow ends.
  public static let replace = FlowPresentation(description: "replace")

  /// Presented over all others, until the presentation of the step ends.
  public static let present = FlowPresentation(description: "present")
}

extension FlowStep {
  /// Creates a step whose screens a navigator shows and removes.
  ///
  /// When the step is presented again, its new screen replaces the old one.
  ///
  /// - Parameters:
  ///   - name: The name of the step in events, errors, diagrams and answer logs.
  ///   - presentation: How to show the screens.
  ///   - navigator: The navigator that shows them.
  ///   - makeScreen: Creates a screen, which retains the handler and completes it.
  public convenience init<Navigator: FlowNavigator>(
    _ name: String,
    _ presentation: FlowPresentation,
    on navigator: Navigator,
    makeScreen: @escaping @MainActor (FlowStepHandler<Content, Result>) -> Navigator.Screen
  ) {
    guard presentation != .present else {
      self.init(name) { handler, context in
        let screen = makeScreen(handler)
        navigator.present(screen)
        return FlowShown(in: context.previous?.place, dismiss: { [weak screen] in screen.map(navigator.dismiss) })
      }
      return
    }
    let position: @MainActor (FlowShown?) -> FlowShown.Place = { previous in
      let isCovering = previous?.place(on: navigator)?.isCovering ?? (presentation == .replace)
      return FlowShown.Place(navigator: navigator, isCovering: isCovering, staysAtEnd: presentation == .replace)
    }
    self.init(name, place: position) { handler, context in
      let screen = makeScreen(handler)
      let old = context.previous?.place(on: navigator)
      var place = position(context.previous)
      if let oldScreen = old?.screen as? Navigator.Screen {
        navigator.replace(oldScreen, with: screen)
      } else {
        context.previous?.leave(to: EmptyCollection())
        // Where the user has removed the old screen, the screen that it covered is gone, too.
        let replacesTop = place.isCovering && old?.isVacant ?? true
        if replacesTop { navigator.replace(nil, with: screen) } else { navigator.push(screen) }
      }
      place.fill(with: screen) { screen in (screen as? Navigator.Screen).map(navigator.pop) }
      return FlowShown(in: place)
    }
  }
}
