// SPDX-License-Identifier: MIT
// Copyright (c) 2026 Stepwise contributors

public import Stepwise

extension FlowStep where Content: Sendable {
  /// Creates a step that runs a chain: its content is the chain's input, and its result is the chain's output.
  ///
  /// An error of the chain fails the flow, unless `on(_:ended:)` handles it. Cancelling the presentation cancels the
  /// run. Going back skips the step, unless its rule for `.back` leads elsewhere: no work is repeated.
  ///
  /// - Parameters:
  ///   - name: The name of the step.
  ///   - chain: The work.
  ///   - onBack: What happens to the work when the user goes back while it runs.
  public convenience init(
    _ name: String,
    running chain: Chain<Content, Result>,
    onBack: FlowWorkOnBack = .cancels
  ) {
    self.init(name: name, runsWork: true) { _, content, context in
      if onBack == .finishes { context.run?.hold() }
      defer { if onBack == .finishes { context.run?.release() } }
      do {
        return FlowEnd(try await chain.outcome(of: content))
      } catch {
        return .ended(.failed(error))
      }
    }
  }

  /// Creates a step that runs a progression: its content selects the first stage, and its result is the progression's.
  ///
  /// ```swift
  /// let open = FlowStep("open", running: FileOpen.read)
  /// ```
  public convenience init<P: Progression>(
    _ name: String,
    running first: nonisolated(nonsending) @escaping @Sendable (Content) async throws -> P,
    onBack: FlowWorkOnBack = .cancels
  ) where P.Result == Result {
    self.init(name, running: Chain(name, running: first), onBack: onBack)
  }
}

/// What going back does to the work of a step, which has no screen.
///
/// Let work finish that must not stop halfway, such as a payment that cannot be undone.
public struct FlowWorkOnBack: Hashable, Sendable, CustomStringConvertible {
  /// The name of the behaviour.
  public let description: String

  /// Cancels the work, and goes back when its undos and `finally` handlers have run.
  public static let cancels = FlowWorkOnBack(description: "cancels")

  /// Lets the work finish, and tells the navigators meanwhile that the user may not go back.
  ///
  /// If the user goes back nevertheless, the flow goes back when the work has ended. The rule for its end still runs: it
  /// may finish or fail the flow, but it opens no step.
  public static let finishes = FlowWorkOnBack(description: "finishes")
}

extension FlowStep {
  /// Creates a step that runs another flow: its result is the flow's output.
  ///
  /// Going back from the first step of that flow goes back from this step. Every other end of the flow ends this step
  /// in the same way.
  /// `makeFlow` is called each time the step is presented.
  public convenience init(_ name: String, flow makeFlow: @escaping @MainActor (Content) -> Flow<Result>) {
    self.init(name: name, flow: { makeFlow($0).definition }) { _, content, context in
      await makeFlow(content).present(in: context)
    }
  }
}

extension FlowStep where Content == Void {
  /// Creates a step that runs another flow, which names it unless you do; its result is the flow's output.
  public convenience init(_ name: String? = nil, flow: Flow<Result>) {
    self.init(name ?? flow.name, flow: { (_: Void) in flow })
  }
}

// MARK: - Several steps as one

extension FlowStep {
  /// Returns a step that presents several steps concurrently; its result consists of theirs, in order.
  ///
  /// When one of them ends without a result, the others are cancelled and awaited, and this step ends in the same way.
  /// Its content consists of the contents of the steps: it is nil until each has one, and setting it sets each of them.
  /// A tuple is not `Codable`, so a log with such a result cannot be stored. Without a name, it has those of the steps.
  public static func all<each StepContent, each StepResult: Sendable>(
    name: String? = nil,
    _ steps: repeat FlowStep<each StepContent, each StepResult>
  ) -> FlowStep where Content == (repeat each StepContent), Result == (repeat each StepResult) {
    var members: [AnyFlowStep] = []
    repeat members.append(each steps)
    let all = members
    let typed = (repeat each steps)
    let name = name ?? all.map(\.name).joined(separator: " + ")
    let group = FlowGroup<Content>(
      steps: all,
      content: { try? (repeat (each typed).contentToPresent()) },
      store: { contents in
        var deliveries: [@MainActor () -> Void] = []
        if let contents {
          repeat deliveries += (each typed).store(each contents)
        } else {
          repeat deliveries += (each typed).store(nil)
        }
        return deliveries
      }
    )
    return FlowStep(name: name, group: group) { _, _, context in
      await presentAll(all, in: context) { ends in
        var ends = zip(all, ends).makeIterator()
        func next<Value: Sendable>(_ type: Value.Type) throws -> Value {
          guard let (step, end) = ends.next() else { throw CancellationError() }
          return try end.result(of: step.name)
        }
        let results: Result = (repeat try next((each StepResult).self))
        return Box(results)
      }
    }
  }

  /// Returns a step that presents any number of steps of one type concurrently, each with the content that it has.
  public static func all<StepContent, StepResult: Sendable>(
    name: String? = nil,
    _ steps: [FlowStep<StepContent, StepResult>]
  ) -> FlowStep where Content == Void, Result == [StepResult] {
    let name = name ?? steps.map(\.name).joined(separator: " + ")
    let group = FlowGroup<Void>(steps: steps, content: {}, store: { _ in [] })
    return FlowStep(name: name, group: group) { _, _, context in
      await presentAll(steps, in: context) { ends in
        Box(try zip(steps, ends).map { step, end in try end.result(of: step.name) as StepResult })
      }
    }
  }
}

extension FlowStep {
  /// - Throws: ``FlowError/noContent``.
  fileprivate func contentToPresent() throws -> Content {
    guard let content = knownContent else { throw FlowError(.noContent, step: name) }
    return content
  }
}

/// Presents steps concurrently, and combines their results; the first one without a result cancels the others.
@MainActor
private func presentAll(
  _ steps: [AnyFlowStep],
  in context: FlowPresentationContext,
  combine: ([FlowEnd]) throws -> any AnyBox
) async -> FlowEnd {
  await withTaskGroup(of: (Int, FlowEnd).self) { group in
    var failure: FlowEnd?
    var ends: [Int: FlowEnd] = [:]
    for (index, step) in steps.enumerated() {
      group.addTask { (index, await step.presentAlone(beside: context)) }
    }
    for await (index, end) in group {
      ends[index] = end
      guard case .ended = end else { continue }
      failure = failure ?? end
      group.cancelAll()
    }
    do {
      return try failure ?? .answered(combine(steps.indices.compactMap { ends[$0] }))
    } catch {
      return .ended(.failed(error))
    }
  }
}

// MARK: - Screens on a navigator

/// A type that shows the screens of a flow; implement it once for your user interface.
///
/// Create your steps with it: `FlowStep("edit", .push, on: navigator) { handler in … }`. The flow then removes the
/// screens of steps that it has left.
///
/// The user may remove screens before the flow does; then `pop` and `dismiss` must do nothing. Call `back()` of the
/// handler of each screen that the user has removed, after the fact, so that the flow follows. The flow does not retain
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

  /// Presents a screen over all others, and returns when another one could be presented over it.
  ///
  /// The flow waits for it. A synchronous method satisfies the requirement, too.
  func present(_ screen: Screen) async

  /// Dismisses a presented screen, unless the user has dismissed it, and returns when another one can be presented.
  ///
  /// The flow waits for it, at most as long as ``Flow/dismissLimit(_:clock:)`` says. A synchronous method satisfies the
  /// requirement, too.
  func dismiss(_ screen: Screen) async

  /// Shows whether the user may go back: false while work runs that ``FlowWorkOnBack/finishes``.
  ///
  /// Hide the back button and disable the swipe. By default it does nothing.
  func setBackAllowed(_ isAllowed: Bool)
}

extension FlowNavigator {
  /// Does nothing.
  public func setBackAllowed(_ isAllowed: Bool) {}
}

/// How a step's screen is shown.
///
/// You choose it when you create the step.
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
  /// When the step is presented again, its new screen replaces the old one. A screen retains the handler and completes it.
  public convenience init<Navigator: FlowNavigator>(
    _ name: String,
    _ presentation: FlowPresentation,
    on navigator: Navigator,
    makeScreen: @escaping @MainActor (FlowStepHandler<Content, Result>) -> Navigator.Screen
  ) {
    guard presentation != .present else {
      self.init(name, isDismissed: true) { handler, context in
        let screen = makeScreen(handler)
        return FlowShown(
          in: context.previous?.place,
          presenting: { await navigator.present(screen) },
          dismissal: FlowDismissal(screen: screen) { screen in
            if let screen = screen as? Navigator.Screen { await navigator.dismiss(screen) }
          }
        )
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
        let covers = place.isCovering && old?.popScreen == nil
        let covered = covers ? context.cover(on: navigator) : nil
        let coveredScreen = covered?.screen as? Navigator.Screen
        if covers, covered == nil || coveredScreen != nil {
          navigator.replace(coveredScreen, with: screen)
        } else {
          navigator.push(screen)
        }
      }
      place.screen = screen
      place.visit = context.visits.last
      place.popScreen = { screen in (screen as? Navigator.Screen).map(navigator.pop) }
      return FlowShown(in: place)
    }
  }
}
