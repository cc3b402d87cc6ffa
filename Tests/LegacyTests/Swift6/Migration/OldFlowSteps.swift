// SPDX-License-Identifier: MIT
// Copyright (c) 2026 Stepwise contributors

import LegacyFlowState
import StepwiseTesting

/// The old code of Migration.md about flows, each piece with what is needed to see what it does.
@available(*, deprecated)
@MainActor
enum OldFlowSteps {
  final class Entry: EntryScreen {
    let results = FlowStepHandler(String.self, String.self)

    override init() {
      super.init()
      results.contentUpdateHandler = { [weak self] text in self?.text = text ?? "" }
    }

    override func save(_ newText: String) { results.complete(newText) }
    override func leave() { results.complete(nil) }
  }

  static func editName(_ navigator: EntryNavigator) -> FlowStep<String, String> {
    let editName = FlowStep(String.self, String.self, identifier: "Edit Name") { step in
      let entry = Entry()
      navigator.push(entry)
      return entry.results
    }
    return editName
  }

  static func count() -> FlowStep<String, Int> {
    let count = FlowStep(String.self, Int.self, identifier: "count") { step in
      let results = FlowStepHandler(String.self, Int.self)
      results.complete(step.content?.count)
      return results
    }
    return count
  }

  static func linked(_ navigator: EntryNavigator, show: @escaping @MainActor (Int) -> Void) -> any Startable {
    let editName = editName(navigator)
    let count = count()
    editName.setCompletion { step, newName in
      guard let newName = newName else {
        step.nextStep = nil
        return
      }
      count.content = newName
      step.nextStep = count
    }
    count.setCompletion { _, number in show(number ?? 0) }
    editName.content = "Ann"
    editName.start()
    return editName
  }

  static func withoutAHandler(show: @escaping @MainActor (String) -> Void) {
    let tour = FlowStep(Any.self, Bool.self, identifier: "tour", { _ in nil }) { _, liked in
      show(liked == nil ? "skipped" : "seen")
    }
    tour.start()
  }

  static func concurrent(show: @escaping @MainActor (Int, Int) -> Void) {
    let left = count()
    let right = count()
    left.content = "four"
    right.content = "seven"
    var first = 0
    var second = 0
    left.setCompletion { _, number in first = number ?? 0 }
    right.setCompletion { _, number in second = number ?? 0 }
    let both = ConcurentFlowStep(identifier: "both", steps: [left, right])
    both.nextStep = FlowStep(Any.self, Any.self, identifier: "show") { _ in
      show(first, second)
      return nil
    }
    both.start()
  }

  static func coordinator(_ navigator: EntryNavigator) -> NavigationFlowCoordinator {
    let editName = editName(navigator)
    editName.content = "Ann"
    let coordinator = NavigationFlowCoordinator(
      navigationController: navigator,
      identifier: "rename",
      firstStep: editName
    )
    coordinator.start()
    return coordinator
  }

  final class Greeting: Startable {
    let identifier = "greeting"
    var nextStep: (any Startable)?
    let greet: @MainActor () -> Void

    init(greet: @escaping @MainActor () -> Void) { self.greet = greet }

    func start() {
      greet()
      nextStep?.start()
    }
  }

  static func startable(greet: @escaping @MainActor () -> Void) {
    let greeting = Greeting(greet: greet)
    greeting.start()
  }
}

@available(*, deprecated)
extension FlowStep where Content == String {
  /// Starts the step, and tells its result.
  func tell(_ seen: Recorder<String>, content: String) {
    setCompletion { _, result in seen.record(result.map { "\($0)" } ?? "nothing") }
    self.content = content
    start()
  }
}
