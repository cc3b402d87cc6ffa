// SPDX-License-Identifier: MIT
// Copyright (c) 2026 Stepwise contributors

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
    self.init(
      name,
      isRestored: presentation != .present,
      show: { handler, context in
        let screen = makeScreen(handler)
        let previous = context.previous
        if presentation == .present {
          navigator.present(screen)
          return FlowShown(in: previous?.place, dismiss: { [weak screen] in screen.map(navigator.dismiss) })
        }
        let place = previous?.place.flatMap { $0.navigator === navigator ? $0 : nil }
        if let old = place?.screen as? Navigator.Screen {
          navigator.replace(old, with: screen)
        } else if place == nil, presentation == .replace {
          previous?.leave(to: EmptyCollection())
          navigator.replace(nil, with: screen)
        } else {
          previous?.leave(to: EmptyCollection())
          navigator.push(screen)
        }
        return FlowShown(
          in: FlowShown.Place(
            screen: screen,
            navigator: navigator,
            isCovering: place?.isCovering ?? (presentation == .replace),
            staysAtEnd: presentation == .replace,
            popScreen: { screen in (screen as? Navigator.Screen).map(navigator.pop) }
          )
        )
      }
    )
  }
}
