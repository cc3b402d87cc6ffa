// SPDX-License-Identifier: MIT
// Copyright (c) 2026 Stepwise contributors

import Foundation
import Stepwise
import StepwiseFlows
import StepwiseTesting
import Testing

/// A screen that can say that the user has gone back from it.
@MainActor
protocol BackScreen: UIViewController {
  func wentBack()
}

/// Hosts a flow in a navigation controller.
@MainActor
final class NavigationHost: NSObject, FlowNavigator, UINavigationControllerDelegate,
  UIAdaptivePresentationControllerDelegate
{
  private let controller: UINavigationController
  // Also those whose animation has not ended: the user may leave them before `didShow` is called.
  private var screens: [UIViewController] = []

  init(_ controller: UINavigationController) {
    self.controller = controller
    super.init()
    controller.delegate = self
  }

  func push(_ screen: UIViewController) {
    screens.append(screen)
    controller.pushViewController(screen, animated: true)
  }

  func replace(_ screen: UIViewController?, with newScreen: UIViewController) {
    var stack = controller.viewControllers
    // Another screen must not be removed for one that the user has removed.
    let old = screen ?? stack.last
    guard let index = stack.firstIndex(where: { $0 === old }) else { return push(newScreen) }
    stack[index] = newScreen
    screens.append(newScreen)
    controller.setViewControllers(stack, animated: false)
  }

  func pop(_ screen: UIViewController) {
    controller.setViewControllers(controller.viewControllers.filter { $0 !== screen }, animated: true)
  }

  func present(_ screen: UIViewController) async {
    screen.presentationController?.delegate = self
    // UIKit ignores `present` of a controller that already presents another one.
    var top: UIViewController = controller
    while let presented = top.presentedViewController { top = presented }
    await withCheckedContinuation { done in top.present(screen, animated: true) { done.resume() } }
  }

  func dismiss(_ screen: UIViewController) async {
    guard let presenting = screen.presentingViewController else { return }
    await withCheckedContinuation { done in presenting.dismiss(animated: true) { done.resume() } }
  }

  func setBackAllowed(_ isAllowed: Bool) {
    controller.topViewController?.navigationItem.hidesBackButton = !isAllowed
    controller.interactivePopGestureRecognizer?.isEnabled = isAllowed
  }

  // The swipe, the back button, its menu and pop to root: the user has left each screen that is no longer there. Never
  // report from `willShow`, because the user can still cancel the swipe then.
  func navigationController(
    _ navigationController: UINavigationController,
    didShow viewController: UIViewController,
    animated: Bool
  ) {
    let gone = screens.filter { screen in !navigationController.viewControllers.contains { $0 === screen } }
    screens = navigationController.viewControllers
    for screen in gone.reversed() { (screen as? any BackScreen)?.wentBack() }
  }

  // A sheet that is swiped down. Without this its presentation would end as abandoned, when UIKit releases it.
  func presentationControllerDidDismiss(_ presentationController: UIPresentationController) {
    (presentationController.presentedViewController as? any BackScreen)?.wentBack()
  }
}

/// A screen, as a host in UIKit has it.
final class NameViewController: UIViewController, BackScreen {
  let handler: FlowStepHandler<String, String>
  private(set) var name = ""

  init(_ handler: FlowStepHandler<String, String>) {
    self.handler = handler
    super.init(nibName: nil, bundle: nil)
    handler.onContent { [weak self] name in self?.name = name }
  }

  required init?(coder: NSCoder) { nil }

  func save(_ newName: String) { handler.complete(newName) }
  func wentBack() { handler.back() }
}

/// The documentation's host, under a navigation controller that stands in.
@Suite(.timeLimit(.minutes(5)))
@MainActor
struct FlowUIKitTests {
  let controller = UINavigationController(nibName: nil, bundle: nil)
  let made = Recorder<String>()

  private func step(_ name: String, _ presentation: FlowPresentation, on host: NavigationHost) -> FlowStep<
    String, String
  > {
    FlowStep(name, presentation, on: host) { [made] handler in
      made.record(name)
      return NameViewController(handler)
    }
  }

  private func flow(_ host: NavigationHost, second: FlowPresentation) -> Flow<String> {
    let first = step("first", .push, on: host)
    let second = step("second", second, on: host)
    return Flow<String>("flow", first: first, content: "Ann").on(first) { name, _ in .next(second, name) }
  }

  private var top: NameViewController? { controller.viewControllers.last as? NameViewController }

  @Test func `A swipe back from a pushed screen ends its presentation as back`() async throws {
    let host = NavigationHost(controller)
    let run = flow(host, second: .push).start()
    await made.elements(atLeast: 1)
    top?.save("Bob")
    await made.elements(atLeast: 2)
    #expect(top?.name == "Bob")
    #expect(controller.viewControllers.count == 2)
    controller.swipeBack()
    await made.elements(atLeast: 3)
    #expect(made.elements == ["first", "second", "first"])
    #expect(controller.viewControllers.count == 1)
    top?.save("Cid")
    await made.elements(atLeast: 4)
    top?.save("Dan")
    #expect(try await run.value == "Dan")
    #expect(controller.viewControllers.isEmpty)
  }

  @Test func `A swipe down on a sheet ends its presentation as back`() async throws {
    let host = NavigationHost(controller)
    let run = flow(host, second: .present).start()
    await made.elements(atLeast: 1)
    top?.save("Bob")
    await made.elements(atLeast: 2)
    #expect(controller.presentedViewController is NameViewController)
    controller.swipeDown()
    await made.elements(atLeast: 3)
    #expect(made.elements == ["first", "second", "first"])
    top?.save("Cid")
    await made.elements(atLeast: 4)
    (controller.presentedViewController as? NameViewController)?.save("Dan")
    #expect(try await run.value == "Dan")
    #expect(controller.presentedViewController == nil)
  }

  @Test func `Back over several screens leaves the first one`() async throws {
    let host = NavigationHost(controller)
    let steps = ["a", "b", "c", "d"].map { step($0, .push, on: host) }
    var flow = Flow<String>("flow", first: steps[0], content: "Ann")
    for (step, next) in zip(steps, steps.dropFirst()) { flow = flow.on(step) { name, _ in .next(next, name) } }
    let run = flow.start()
    for count in 1..<4 {
      await made.elements(atLeast: count)
      top?.save("Bob")
    }
    await made.elements(atLeast: 4)
    controller.swipeBack(over: 3)
    await made.elements(atLeast: 5)
    #expect(made.elements == ["a", "b", "c", "d", "a"])
    #expect(controller.viewControllers.count == 1 && flow.path.map(\.name) == ["a"])
    run.cancel()
    _ = await run.outcome
  }

  // G163
  @Test func `A cancelled swipe reports nothing`() async throws {
    let host = NavigationHost(controller)
    let flow = flow(host, second: .push)
    let run = flow.start()
    await made.elements(atLeast: 1)
    top?.save("Bob")
    await made.elements(atLeast: 2)
    for _ in 0..<100 { await Task.yield() }
    controller.cancelSwipeBack()
    for _ in 0..<100 { await Task.yield() }
    #expect(made.elements == ["first", "second"] && controller.viewControllers.count == 2)
    #expect(flow.path.map(\.name) == ["first", "second"] && top?.handler.isFinished == false)
    top?.save("Cid")
    #expect(try await run.value == "Cid")
  }

  // G163
  @Test func `A screen that the user leaves while it appears goes back`() async throws {
    let host = NavigationHost(controller)
    let run = flow(host, second: .push).start()
    await made.elements(atLeast: 1)
    top?.save("Bob")
    await made.elements(atLeast: 2)
    controller.swipeBack()
    await made.elements(atLeast: 3)
    #expect(made.elements == ["first", "second", "first"] && controller.viewControllers.count == 1)
    run.cancel()
    _ = await run.outcome
  }

  @Test func `A sheet follows a sheet`() async throws {
    let host = NavigationHost(controller)
    let first = step("first", .present, on: host)
    let second = step("second", .present, on: host)
    let flow = Flow<String>("flow", first: first, content: "Ann").on(first) { name, _ in .next(second, name) }
      .dismissLimit(.seconds(300))
    let run = flow.start()
    await made.elements(atLeast: 1)
    (controller.presentedViewController as? NameViewController)?.save("Bob")
    await made.elements(atLeast: 2)
    #expect((controller.presentedViewController as? NameViewController)?.name == "Bob")
    (controller.presentedViewController as? NameViewController)?.save("Cid")
    #expect(try await run.value == "Cid")
    #expect(controller.presentedViewController == nil)
  }

  @Test func `A sheet without delegate is abandoned`() async throws {
    let host = NavigationHost(controller)
    let run = flow(host, second: .present).start()
    await made.elements(atLeast: 1)
    top?.save("Bob")
    await made.elements(atLeast: 2)
    controller.presentedViewController?.presentationController?.delegate = nil
    controller.swipeDown()
    await #expect(throws: FlowError.abandoned) { try await run.value }
  }

  @Test func `A retained screen that was removed replaces no other`() async throws {
    let host = NavigationHost(controller)
    let home = UIViewController(nibName: nil, bundle: nil)
    controller.pushViewController(home, animated: false)
    let step = step("step", .push, on: host)
    let run = Flow<String>("flow", first: step, content: "Ann")
      .on(step, ended: { ending, _ in if case .back = ending { .next(step) } else { nil } })
      .start()
    await made.elements(atLeast: 1)
    let kept = controller.viewControllers
    controller.swipeBack()
    await made.elements(atLeast: 2)
    #expect(controller.viewControllers.count == 2 && controller.viewControllers.first === home)
    top?.save("Bob")
    #expect(try await run.value == "Bob")
    #expect(controller.viewControllers.count == 1 && controller.viewControllers.first === home)
    withExtendedLifetime(kept) {}
  }
}
