// SPDX-License-Identifier: MIT
// Copyright (c) 2026 Stepwise contributors

import Stepwise
import StepwiseFlows
import StepwiseTesting

/// What a page of a walk answers: the step that follows, and for work the page after it, which may replace the work.
enum WalkAnswer: Sendable, Equatable {
  case next(String, then: String = "", replacing: Bool = false)
  case replace(String)
  case back
  case finish
}

/// A page with the handler of one presentation.
@MainActor
final class WalkPage {
  let name: String
  let handler: FlowStepHandler<Void, WalkAnswer>

  init(_ name: String, _ handler: FlowStepHandler<Void, WalkAnswer>) {
    self.name = name
    self.handler = handler
  }
}

/// A host whose sheets take time, and that reports each page that the user, or the flow, has removed.
@MainActor
final class WalkHost: FlowNavigator {
  private(set) var stack: [WalkPage] = [] {
    didSet { report(oldValue.filter { page in !stack.contains { $0 === page } }.reversed()) }
  }
  private(set) var sheet: WalkPage?
  private(set) var isBackAllowed = true
  /// Every page that was shown and has been removed.
  private(set) var removed: [WalkPage] = []
  private(set) var faults: [String] = []
  /// The number of turns that the next animation takes.
  var delay = 0
  private var isUser = false

  func push(_ page: WalkPage) { stack.append(page) }

  func replace(_ page: WalkPage?, with newPage: WalkPage) {
    let old = page ?? stack.last
    guard let index = stack.firstIndex(where: { $0 === old }) else { return push(newPage) }
    stack[index] = newPage
  }

  func pop(_ page: WalkPage) { stack.removeAll { $0 === page } }

  func present(_ page: WalkPage) async {
    if sheet != nil { faults.append("\(page.name) is presented over \(sheet?.name ?? "")") }
    sheet = page
    for _ in 0..<delay { await Task.yield() }
  }

  func dismiss(_ page: WalkPage) async {
    guard sheet === page else { return }
    for _ in 0..<delay { await Task.yield() }
    if sheet === page { removeSheet() }
  }

  func fault(_ text: String) { faults.append(text) }

  func setBackAllowed(_ isAllowed: Bool) { isBackAllowed = isAllowed }

  private func removeSheet() {
    guard let sheet = sheet.take() else { return }
    report([sheet])
  }

  private func report(_ pages: [WalkPage]) {
    removed += pages
    if !isUser { for page in pages where page.handler.back() { faults.append("\(page.name) was left by the flow") } }
  }

  /// Removes pages as a user does, and reports them in one later turn.
  func leave(_ count: Int, after turns: Int, oldestFirst: Bool) async {
    isUser = true
    var pages: [WalkPage] = []
    if let sheet {
      pages = [sheet]
      removeSheet()
    } else {
      pages = stack.suffix(count).reversed()
      stack.removeLast(count)
    }
    isUser = false
    for _ in 0..<turns { await Task.yield() }
    for page in oldestFirst ? pages.reversed() : pages { page.handler.back() }
  }
}

/// The flow of the walks: pages, pages that cover the topmost one, sheets that take time, work with undo, nested flows,
/// concurrent steps, and a rule for back.
@MainActor
final class WalkWorld {
  nonisolated static let pushed = ["0", "1", "2", "3", "4", "r", "e"]
  /// They replace the topmost page, and stay when the flow ends.
  nonisolated static let covers = ["c", "d"]
  nonisolated static let pages = pushed + covers
  nonisolated static let sheets = ["q", "s"]
  nonisolated static let works = ["w", "f"]

  let host = WalkHost()
  let clock = ManualClock()
  let started = Counter()
  let finished = Counter()
  let undone = Counter()
  let flow: Flow<Void>
  /// What follows the work in flight.
  private(set) var then = WalkAnswer.finish
  /// The flow of each step that runs one.
  let nested: [String: Flow<WalkAnswer>]

  final class Counter: Sendable {
    private let count = Lock(0)
    var value: Int { count.withLock { $0 } }
    func add() { count.withLock { $0 += 1 } }
  }

  init() {
    let (host, clock) = (host, clock)
    let (started, finished, undone) = (started, finished, undone)
    func page(_ name: String, _ presentation: FlowPresentation = .push) -> FlowStep<Void, WalkAnswer> {
      FlowStep(name, presentation, on: host) { WalkPage(name, $0) }
    }
    func work(_ name: String, _ onBack: FlowWorkOnBack) -> FlowStep<WalkAnswer, WalkAnswer> {
      let chain = Chain(undo: { (_: WalkAnswer) in undone.add() }) { (then: WalkAnswer) in
        started.add()
        return then
      }
      .then { then in
        try await clock.sleep(for: .seconds(1))
        finished.add()
        return then
      }
      return FlowStep(name, running: chain, onBack: onBack)
    }
    func nest(_ pages: [FlowStep<Void, WalkAnswer>]) -> Flow<WalkAnswer> {
      var flow = Flow<WalkAnswer>("nested", first: pages[0])
      for (page, next) in zip(pages, pages.dropFirst()) {
        flow = flow.on(page) { answer, _ in answer == .next(next.name) ? .next(next) : .finish(answer) }
      }
      return flow
    }
    // The first page of the second one covers that of the enclosing flow.
    nested = ["N": nest([page("n0"), page("n1"), page("n2")]), "M": nest([page("m0", .replace), page("m1")])]
    var answers: [String: FlowStep<Void, WalkAnswer>] = [:]
    for name in Self.pages { answers[name] = page(name, Self.covers.contains(name) ? .replace : .push) }
    for name in Self.sheets { answers[name] = page(name, .present) }
    for (name, flow) in nested { answers[name] = FlowStep(name, flow: flow) }
    let works = ["w": work("w", .cancels), "f": work("f", .finishes)]
    let (groupPage, groupWork) = (page("gp"), work("gw", .cancels))
    let group = FlowStep.all(name: "g", groupPage, groupWork)
    func move(_ answer: WalkAnswer) -> FlowTransition<Void> {
      switch answer {
      case .next("g", let then, let isReplacing): .next(group, ((), isReplacing ? .replace(then) : .next(then)))
      case .next(let name, let then, let isReplacing):
        if let work = works[name] {
          .next(work, isReplacing ? .replace(then) : .next(then))
        } else {
          answers[name].map { .next($0) } ?? .finish
        }
      case .replace(let name): answers[name].map { .replace($0) } ?? .finish
      case .back: .back
      case .finish: .finish
      }
    }
    var flow = Flow<Void>("flow", first: answers["0"] ?? groupPage)
      .on(group) { results, _ in move(results.0) }
    for step in answers.values { flow = flow.on(step) { answer, _ in move(answer) } }
    for step in works.values { flow = flow.on(step) { then, _ in move(then) } }
    if let r = answers["r"], let e = answers["e"] {
      flow = flow.on(r, ended: { ending, _ in if case .back = ending { .next(e) } else { nil } })
    }
    self.flow = flow
  }

  func note(_ answer: WalkAnswer) {
    if case .next(_, let then, let isReplacing) = answer { self.then = isReplacing ? .replace(then) : .next(then) }
  }
}
