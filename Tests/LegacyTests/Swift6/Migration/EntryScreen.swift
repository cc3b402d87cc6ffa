// SPDX-License-Identifier: MIT
// Copyright (c) 2026 Stepwise contributors

import Stepwise
import StepwiseFlows
import StepwiseTesting

/// A screen of either world.
@MainActor
class EntryScreen {
  var text = ""

  init() {}

  func save(_ newText: String) {}
  func leave() {}
}

/// A navigator that tells when it shows something.
@MainActor
final class EntryNavigator: UINavigationController, FlowNavigator {
  let shown = Recorder<String>()
  private var screens: [EntryScreen] = []

  var visible: EntryScreen? { screens.last }

  func push(_ screen: EntryScreen) {
    screens.append(screen)
    shown.record("push")
  }

  func replace(_ screen: EntryScreen?, with newScreen: EntryScreen) {
    screens.removeAll { $0 === screen }
    push(newScreen)
  }

  func pop(_ screen: EntryScreen) { screens.removeAll { $0 === screen } }
  func present(_ screen: EntryScreen) { push(screen) }
  func dismiss(_ screen: EntryScreen) { pop(screen) }
}
