// SPDX-License-Identifier: MIT
// Copyright (c) 2026 Stepwise contributors

import LegacyFlowState

@available(*, deprecated)
extension FlowStateScenarios {
  /// A step of one's own that is completed by a call from outside.
  final class Later: Startable {
    let identifier = "later"
    var nextStep: Startable?

    func start() {}
    func finish() { nextStep?.start() }
  }

  struct Value: Startable {
    let log: Log
    var nextStep: Startable?
    var identifier: String { "value" }

    func start() {
      log.add("value starts")
      nextStep?.start()
    }
  }

  static func aStepOfOnesOwnAmongSeveral() -> [String] {
    let log = Log()
    let navigation = Navigation()
    let own = Later()
    let both = ConcurentFlowStep(identifier: "both", steps: [own, page("a", on: navigation, log)])
    both.nextStep = page("after", on: navigation, log)
    both.start()
    log.add("started")
    navigation.screens[0].results.complete("x")
    log.add("own ends")
    own.finish()
    return log.lines
  }

  static func whatFollowsOneOfSeveral() -> [String] {
    let log = Log()
    let navigation = Navigation()
    let first = page("a", on: navigation, log)
    first.nextStep = page("after a", on: navigation, log)
    let both = ConcurentFlowStep(identifier: "both", steps: [first, page("b", on: navigation, log)])
    both.nextStep = page("after both", on: navigation, log)
    both.start()
    navigation.screens[0].results.complete("1")
    navigation.screens[1].results.complete("2")
    log.add("screens: \(navigation.screens.count)")
    return log.lines
  }

  static func severalThatAreCompletedAtOnce() -> [String] {
    let log = Log()
    let none = FlowStep(String.self, String.self, identifier: "none", { _ in nil }) { _, result in
      log.add("none", result)
    }
    let both = ConcurentFlowStep(identifier: "both", steps: [none, none])
    both.nextStep = Value(log: log, nextStep: nil)
    both.start()
    both.start()
    return log.lines
  }

  static func aStructureAsAStep() -> [String] {
    let log = Log()
    let none = FlowStep(String.self, String.self, identifier: "none", { _ in nil }) { _, result in
      log.add("none", result)
    }
    Value(log: log, nextStep: none).start()
    let both = ConcurentFlowStep(identifier: "both", steps: [Value(log: log, nextStep: nil)])
    both.nextStep = none
    both.start()
    return log.lines
  }

  static func theSpellingsOfClosuresAndNames() -> [String] {
    let log = Log()
    let intent: FlowStep<String, String>.IntentClosure = { _ in nil }
    let completion: FlowStep<String, String>.CompletionClosure = { step, result in log.add(step.identifier, result) }
    let step = FlowStep(String.self, String.self, identifier: "old", intent, completion)
    step.identifier = "new"
    step.start()
    step.setCompletion { step, _ in log.add("completed \(step.identifier)") }
    step.start()
    return log.lines
  }
}
