// SPDX-License-Identifier: MIT
// Copyright (c) 2026 Stepwise contributors

extension FlowStep {
  /// Creates a step whose screens a navigator shows and takes away.
  ///
  /// When the step is asked again, its new screen takes the place of the old one.
  ///
  /// - Parameters:
  ///   - name: What events, errors, pictures and answer logs call the step.
  ///   - presentation: How its screens are shown.
  ///   - navigator: Who shows them.
  ///   - makeScreen: Makes a screen, which keeps the handler and answers through it.
  public convenience init<Navigator: FlowNavigator>(
    _ name: String,
    _ presentation: FlowPresentation,
    on navigator: Navigator,
    makeScreen: @escaping @MainActor (FlowStepHandler<Content, Result>) -> Navigator.Screen
  ) {
    self.init(
      name,
      isRestored: presentation != .present,
      show: { handler, stage in
        let screen = makeScreen(handler)
        let old = stage.previous?.screen(on: navigator) as? Navigator.Screen
        switch presentation.kind {
        case .present:
          navigator.present(screen)
          return FlowShown(over: stage.previous, whenAskEnded: { [weak screen] in screen.map(navigator.dismiss) })
        case .replace:
          if old == nil { stage.previous?.leave() }
          // Not the old one: that another has replaced it meanwhile does not let it live on.
          navigator.replace(nil, with: screen)
          return FlowShown(screen, on: navigator)
        case .push:
          if let old {
            navigator.replace(old, with: screen)
          } else {
            stage.previous?.leave()
            navigator.push(screen)
          }
          return FlowShown(screen, on: navigator, whenLeft: { [weak screen] in screen.map(navigator.pop) })
        }
      }
    )
  }
}
