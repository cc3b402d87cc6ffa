// SPDX-License-Identifier: MIT
// Copyright (c) 2026 Stepwise contributors

import Dispatch
import LegacyFlowState

/// What `FlowStateMeaningTests` expects was recorded by running these functions on FlowState 1.5.
@available(*, deprecated)
@MainActor
enum FlowStateScenarios {
  final class Navigation: UINavigationController {
    var screens: [Page] = []
  }

  final class Page {
    let results = FlowStepHandler(String.self, String.self)
    let onRelease: () -> Void

    init(onRelease: @escaping () -> Void = {}) { self.onRelease = onRelease }

    deinit { onRelease() }
  }

  /// Whether an object was released.
  final class Released {
    private weak var object: AnyObject?
    var isReleased: Bool { object == nil }

    init(_ object: AnyObject?) { self.object = object }
  }

  final class Log {
    var lines: [String] = []

    func add(_ line: String) { lines.append(line) }

    func add<Value>(_ name: String, _ value: Value?) { lines.append("\(name) = \(value.map { "\($0)" } ?? "nil")") }
  }

  final class Coordinator: NavigationFlowCoordinator {
    var onRelease: () -> Void = {}

    deinit { onRelease() }
  }

  /// A step that pushes a page.
  static func page(_ name: String, on navigation: Navigation, _ log: Log) -> FlowStep<String, String> {
    FlowStep(
      String.self,
      String.self,
      identifier: name,
      { _ in
        let page = Page(onRelease: { log.add("\(name) is released") })
        navigation.screens.append(page)
        page.results.contentUpdateHandler = { log.add("\(name) shows", $0) }
        return page.results
      },
      { _, result in log.add(name, result) }
    )
  }

  static func aReleasedCoordinatorThatWaitsAtItsFirstScreen() -> [String] {
    let log = Log()
    var navigation: Navigation? = Navigation()
    let released = Released(navigation)
    var coordinator: Coordinator? = navigation.map { navigation in
      Coordinator(navigationController: navigation, identifier: "flow", firstStep: page("a", on: navigation, log))
    }
    coordinator?.onRelease = { log.add("the coordinator is released") }
    coordinator?.start()
    navigation = nil
    log.add("waits")
    coordinator = nil
    log.add(released.isReleased ? "the navigation controller is released" : "the navigation controller leaks")
    return log.lines
  }

  static func completingAfterTheOwnerWasReleased() -> [String] {
    let log = Log()
    let navigation = Navigation()
    var owner: Coordinator?
    do {
      let display = page("display", on: navigation, log)
      let edit = page("edit", on: navigation, log)
      edit.setCompletion { [unowned display] _, result in
        log.add("edit", result)
        display.content = result
      }
      display.nextStep = edit
      owner = Coordinator(navigationController: navigation, identifier: "flow", firstStep: display)
    }
    owner?.start()
    navigation.screens[0].results.complete("go")
    owner = nil
    navigation.screens[1].results.complete("x")
    log.add("completed")
    return log.lines
  }

  static func goingBackFromAnEditor() -> [String] {
    let log = Log()
    let navigation = Navigation()
    let display = page("display", on: navigation, log)
    let edit = page("edit", on: navigation, log)
    edit.setCompletion { [unowned display] _, result in
      log.add("edit", result)
      display.content = result
      navigation.screens.removeLast()
    }
    display.setCompletion { step, _ in step.nextStep = edit }
    display.content = "Ann"
    display.start()
    navigation.screens[0].results.complete("edit")
    navigation.screens.removeLast()
    log.add("back")
    navigation.screens[0].results.complete("edit")
    navigation.screens[1].results.complete("Ada")
    log.add("screens: \(navigation.screens.count)")
    return log.lines
  }

  static func aListThatPushesDetails() -> [Int] {
    var details: [Int] = []
    var shown: [FlowStepHandler<Int, Bool>] = []
    let list = FlowStepHandler(String.self, Int.self)
    let detail = FlowStep(Int.self, Bool.self, identifier: "detail") { step in
      details.append(step.content ?? 0)
      let handler = FlowStepHandler(Int.self, Bool.self)
      shown.append(handler)
      return handler
    }
    let first = FlowStep(String.self, Int.self, identifier: "list", { _ in list }) { step, row in
      detail.content = row
      step.nextStep = detail
    }
    first.start()
    for row in 1...3 { list.complete(row) }
    return details
  }

  static func whatACompletionSees() -> [String] {
    let log = Log()
    let navigation = Navigation()
    let step = page("a", on: navigation, log)
    step.setCompletion { step, result in log.add("completed with \(result ?? "nil") at", step.content) }
    step.content = "first"
    step.start()
    navigation.screens[0].results.complete("x")
    step.content = "second"
    navigation.screens[0].results.complete("y")
    return log.lines
  }

  static func anIntentThatCompletesTwiceBeforeItReturns() -> [String] {
    let log = Log()
    let navigation = Navigation()
    let step = FlowStep(
      String.self,
      String.self,
      identifier: "early",
      { _ in
        let handler = FlowStepHandler(String.self, String.self)
        handler.complete("1")
        handler.complete("2")
        log.add("returns")
        return handler
      },
      { _, result in log.add("early", result) }
    )
    step.nextStep = page("b", on: navigation, log)
    step.start()
    return log.lines
  }

  static func aHandlerThatOutlivesItsStep() -> [String] {
    let log = Log()
    let handler = FlowStepHandler(String.self, String.self)
    func step(_ name: String) -> FlowStep<String, String> {
      FlowStep(String.self, String.self, identifier: name, { _ in handler }, { _, result in log.add(name, result) })
    }
    step("first").start()
    handler.complete("x")
    log.add("the first step is released")
    let second = step("second")
    second.start()
    second.start()
    return log.lines
  }

  static func aStepThatIsStartedWhileItWaits() -> [String] {
    let log = Log()
    let navigation = Navigation()
    let step = page("a", on: navigation, log)
    step.start()
    step.start()
    navigation.screens[0].results.complete("old")
    step.content = "x"
    navigation.screens[1].results.complete("new")
    return log.lines
  }

  static func aContentHandlerThatIsSetLater() -> [String] {
    let log = Log()
    let handler = FlowStepHandler(String.self, String.self)
    let step = FlowStep(String.self, String.self, identifier: "late") { _ in handler }
    step.content = "x"
    step.start()
    handler.contentUpdateHandler = { log.add("shows", $0) }
    log.add("holds", handler.content)
    step.content = "y"
    return log.lines
  }

  static func aScreenThatOnlyTheIntentHad() -> [String] {
    let log = Log()
    let step = FlowStep(
      String.self,
      String.self,
      identifier: "gone",
      { _ in Page(onRelease: { log.add("released") }).results },
      { _, result in log.add("gone", result) }
    )
    step.start()
    return log.lines
  }

  static func aCoordinatorInsideAnother() -> [String] {
    let log = Log()
    let navigation = Navigation()
    let inner = Coordinator(firstStep: page("a", on: navigation, log))
    inner.nextStep = page("after", on: navigation, log)
    let outer = Coordinator(navigationController: navigation, identifier: "outer", firstStep: inner)
    outer.start()
    navigation.screens[0].results.complete("x")
    log.add("\(inner.identifier.isEmpty) \(outer.identifier)")
    return log.lines
  }
}
