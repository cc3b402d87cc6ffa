// SPDX-License-Identifier: MIT
// Copyright (c) 2026 Stepwise contributors

import Observation
import Stepwise
import StepwiseFlows
import StepwiseTesting
import Testing

/// One screen of a flow.
final class FlowPage: Hashable, Identifiable {
  let view: AnyView
  let wentBack: @MainActor () -> Void

  @MainActor
  init(_ view: some View, wentBack: @escaping @MainActor () -> Void) {
    self.view = AnyView(view)
    self.wentBack = wentBack
  }

  static func == (left: FlowPage, right: FlowPage) -> Bool { left === right }
  func hash(into hasher: inout Hasher) { hasher.combine(ObjectIdentifier(self)) }
}

/// Hosts a flow in a navigation stack.
@MainActor
@Observable
final class StackHost: FlowNavigator {
  // Whatever takes pages away has gone back from them: the back button, its menu, `path = []`. For the pages that the
  // flow removes, this changes nothing.
  var path: [FlowPage] = [] {
    didSet { for page in oldValue.reversed() where !path.contains(page) { page.wentBack() } }
  }

  var sheet: FlowPage? {
    didSet {
      guard let page = oldValue, page != sheet else { return }
      isDismissing = sheet == nil
      page.wentBack()
    }
  }

  private(set) var isBackAllowed = true
  private var isDismissing = false
  private var waiting: [CheckedContinuation<Void, Never>] = []

  func push(_ page: FlowPage) { path.append(page) }

  func replace(_ page: FlowPage?, with newPage: FlowPage) {
    // Another page must not be removed for one that the user has removed.
    let old = page ?? path.last
    guard let index = path.firstIndex(where: { $0 === old }) else { return push(newPage) }
    path[index] = newPage
  }

  func pop(_ page: FlowPage) { path.removeAll { $0 === page } }
  func present(_ page: FlowPage) { sheet = page }

  func dismiss(_ page: FlowPage) async {
    if sheet === page { sheet = nil }
    guard isDismissing else { return }
    await withCheckedContinuation { waiting.append($0) }
  }

  /// Call it in `onDismiss`: another sheet can be presented then.
  func sheetDidDismiss() {
    isDismissing = false
    for continuation in waiting { continuation.resume() }
    waiting = []
  }

  func setBackAllowed(_ isAllowed: Bool) { isBackAllowed = isAllowed }
}

/// Shows the host's pages, and runs the flow as long as it is seen itself.
struct FlowView: View {
  @State var host = StackHost()
  let flow: @MainActor (StackHost) -> Flow<String>

  var body: some View {
    NavigationStack(path: $host.path) {
      Text("Welcome").navigationDestination(for: FlowPage.self) { page in page.view }
    }
    .sheet(item: $host.sheet, onDismiss: host.sheetDidDismiss) { page in page.view }
    .task { _ = try? await flow(host).run() }
  }
}

private struct NameView: View {
  let handler: FlowStepHandler<String, String>
  var body: some View { Text(handler.content) }
}

/// The documentation's host, under a navigation stack that stands in.
@Suite(.timeLimit(.minutes(5)))
@MainActor
struct FlowSwiftUITests {
  let made = Recorder<String>()
  let host = StackHost()

  private func step(_ name: String, _ presentation: FlowPresentation, on host: StackHost) -> FlowStep<String, String> {
    FlowStep(name, presentation, on: host) { [made] handler in
      made.record(name)
      return FlowPage(NameView(handler: handler)) { handler.back() }
    }
  }

  private func complete(_ page: FlowPage?, _ name: String) {
    (page?.view.content as? NameView)?.handler.complete(name)
  }

  private func flow(_ host: StackHost, second: FlowPresentation) -> Flow<String> {
    let first = step("first", .push, on: host)
    let second = step("second", second, on: host)
    return Flow<String>("flow", first: first, content: "Ann").on(first) { name, _ in .next(second, name) }
  }

  @Test func `A swipe back ends the presentation as back`() async throws {
    let view = FlowView(host: host) { host in flow(host, second: .push) }
    let shown = view.body.shown
    let task = Task { await shown.task?() }
    await made.elements(atLeast: 1)
    complete(host.path.last, "Bob")
    await made.elements(atLeast: 2)
    #expect(host.path.count == 2)
    shown.swipeBack?()
    await made.elements(atLeast: 3)
    #expect(made.elements == ["first", "second", "first"])
    #expect(host.path.count == 1)
    complete(host.path.last, "Cid")
    await made.elements(atLeast: 4)
    complete(host.path.last, "Dan")
    await task.value
    #expect(host.path.isEmpty)
  }

  @Test func `A swipe down ends the presentation as back`() async throws {
    let view = FlowView(host: host) { host in flow(host, second: .present) }
    let shown = view.body.shown
    let task = Task { await shown.task?() }
    await made.elements(atLeast: 1)
    complete(host.path.last, "Bob")
    await made.elements(atLeast: 2)
    #expect(host.sheet != nil)
    shown.swipeDown?()
    await made.elements(atLeast: 3)
    #expect(made.elements == ["first", "second", "first"])
    task.cancel()
    await task.value
    #expect(host.path.isEmpty)
  }

  @Test func `An empty path goes back from every page`() async throws {
    let view = FlowView(host: host) { host in flow(host, second: .push) }
    let task = Task { await view.body.shown.task?() }
    await made.elements(atLeast: 1)
    complete(host.path.last, "Bob")
    await made.elements(atLeast: 2)
    host.path = []
    await task.value
    #expect(made.elements == ["first", "second"] && host.path.isEmpty)
  }

  @Test func `A sheet follows a sheet when onDismiss is called`() async throws {
    let first = step("first", .present, on: host)
    let second = step("second", .present, on: host)
    let view = FlowView(host: host) { _ in
      Flow<String>("flow", first: first, content: "Ann").on(first) { name, _ in .next(second, name) }
    }
    let shown = view.body.shown
    let task = Task { await shown.task?() }
    await made.elements(atLeast: 1)
    complete(host.sheet, "Bob")
    while host.sheet != nil { await Task.yield() }
    for _ in 0..<100 { await Task.yield() }
    #expect(made.elements == ["first"])
    shown.sheetDisappeared?()
    await made.elements(atLeast: 2)
    #expect(host.sheet != nil)
    shown.swipeDown?()
    await made.elements(atLeast: 3)
    #expect(made.elements == ["first", "second", "first"])
    complete(host.sheet, "Cid")
    while host.sheet != nil { await Task.yield() }
    task.cancel()
    shown.sheetDisappeared?()
    await task.value
  }

  @Test func `A view that disappears ends its flow`() async throws {
    let flow = flow(host, second: .push)
    let view = FlowView(host: host) { _ in flow }
    let task = Task { await view.body.shown.task?() }
    await made.elements(atLeast: 1)
    task.cancel()
    await task.value
    #expect(flow.current == nil)
    #expect(host.path.isEmpty)
  }

  @Test func `A retained page that was removed replaces no other`() async throws {
    let home = FlowPage(Text("Home")) {}
    host.path = [home]
    let step = step("step", .push, on: host)
    let run = Flow<String>("flow", first: step, content: "Ann")
      .on(step, ended: { ending, _ in if case .back = ending { .next(step) } else { nil } })
      .start()
    await made.elements(atLeast: 1)
    let kept = host.path
    host.path.removeLast()
    await made.elements(atLeast: 2)
    #expect(host.path.count == 2 && host.path.first == home)
    complete(host.path.last, "Bob")
    #expect(try await run.value == "Bob")
    #expect(host.path == [home])
    withExtendedLifetime(kept) {}
  }
}
