// SPDX-License-Identifier: MIT
// Copyright (c) 2026 Stepwise contributors

import Stepwise
import StepwiseFlows
import StepwiseTesting
import Testing

/// Random walks of a user through a flow, with a plain list as the oracle.
@Suite(.timeLimit(.minutes(60)))
@MainActor
struct FlowWalkTests {
  /// One step on the path, with the pages that it shows.
  struct Frame {
    let name: String
    var pages: [String] = []
  }

  /// The oracle.
  @MainActor
  struct Plan {
    private(set) var frames: [Frame] = []
    /// The number of works that wait for the clock.
    private(set) var working = 0

    init() { enter("0") }

    var shown: [String] { frames.flatMap(\.pages) }
    var sheet: String? { frames.last.flatMap { WalkWorld.sheets.contains($0.name) ? $0.name : nil } }
    var isFinishing: Bool { frames.last?.name == "f" }
    /// The name of the page that waits for an answer.
    var open: String? { sheet ?? frames.last?.pages.last }

    var free: [String] {
      (WalkWorld.pages + WalkWorld.sheets + WalkWorld.works + ["N", "g"]).filter { name in
        !frames.contains { $0.name == name }
      }
    }

    /// Presents the newest step.
    private mutating func activate() {
      guard let top = frames.popLast() else { return }
      let pages =
        switch top.name {
        case "N": ["n0"]
        case "g": ["gp"]
        case let name: WalkWorld.pages.contains(name) ? [name] : []
        }
      frames.append(Frame(name: top.name, pages: pages))
      working = WalkWorld.works.contains(top.name) || top.name == "g" ? 1 : 0
    }

    private mutating func enter(_ name: String) {
      if let index = frames.firstIndex(where: { $0.name == name }) {
        frames.removeSubrange(index...)
      }
      frames.append(Frame(name: name))
      activate()
    }

    mutating func answer(_ answer: WalkAnswer, isInner: Bool = false) {
      if isInner, case .next(let name, _) = answer { return frames[frames.count - 1].pages.append(name) }
      // The pages of a nested flow, and of concurrent steps, disappear with their end.
      if ["N", "g"].contains(frames.last?.name) { frames[frames.count - 1].pages = [] }
      switch answer {
      case .next(let name, _): enter(name)
      case .replace(let name):
        frames.removeLast()
        enter(name)
      case .finish: frames = []
      }
    }

    /// The page of the concurrent steps was answered, and their work runs on.
    mutating func answerGroup() { frames[frames.count - 1].pages = [] }

    mutating func finishWork() { working = 0 }

    /// The user has left some pages, or the sheet.
    mutating func leave(pages count: Int) {
      guard sheet == nil, count > 0 else { return goBack(over: 1, isSwiped: true) }
      var rest = count
      for index in frames.indices.reversed() {
        guard rest > frames[index].pages.count || frames[index].pages.isEmpty else {
          let isTop = index == frames.count - 1
          guard isTop, rest < frames[index].pages.count else {
            return rest < frames[index].pages.count
              ? goBack(over: frames.count - index - 1, isSwiped: true)
              : goBack(over: frames.count - index, isSwiped: true)
          }
          return frames[index].pages.removeLast(rest)
        }
        rest -= frames[index].pages.count
      }
    }

    mutating func goBack(over count: Int, isSwiped: Bool) {
      working = 0
      var rest = count
      while let top = frames.last, rest > 0 || WalkWorld.works.contains(top.name) {
        if top.name == "r" {
          if count > 1 { frames.removeLast(rest) } else if isSwiped { frames[frames.count - 1].pages = [] }
          return enter("e")
        }
        frames.removeLast()
        rest -= 1
      }
      activate()
    }
  }

  @MainActor
  struct Walk {
    let seed: UInt64
    var dice: SeededGenerator
    let world = WalkWorld()
    var plan = Plan()
    var actions: [String] = []

    init(seed: UInt64) {
      self.seed = seed
      dice = SeededGenerator(seed: seed)
    }

    mutating func roll(_ range: Range<Int>) -> Int { Int.random(in: range, using: &dice) }
  }

  /// Waits until the flow is as the oracle says, and then a little longer.
  private func settle(_ walk: Walk) async -> String? {
    let (world, plan) = (walk.world, walk.plan)
    func difference() -> String? {
      let shown = world.host.stack.map(\.name)
      if shown != plan.shown { return "shown \(shown), expected \(plan.shown)" }
      let path = world.flow.path.map(\.name)
      if path != plan.frames.map(\.name) { return "path \(path), expected \(plan.frames.map(\.name))" }
      if world.host.sheet?.name != plan.sheet { return "sheet \(world.host.sheet?.name ?? "-")" }
      if plan.frames.last?.name == "N", world.nested.path.map(\.name) != plan.shown.filter({ $0.hasPrefix("n") }) {
        return "nested path \(world.nested.path)"
      }
      if world.clock.sleeperCount != plan.working { return "\(world.clock.sleeperCount) works run" }
      if world.started.value != world.finished.value + world.undone.value + plan.working {
        return "works: \(world.started.value), \(world.finished.value) finished, \(world.undone.value) undone"
      }
      if plan.open != nil, (world.host.sheet ?? world.host.stack.last)?.handler.isFinished != false {
        return "the top page is not open"
      }
      if world.host.isBackAllowed == plan.isFinishing { return "back is allowed: \(world.host.isBackAllowed)" }
      return world.host.faults.first
    }
    // Work runs on other threads, which may be slow to start.
    var patience = _isDebugAssertConfiguration() ? 100_000 : 3_000_000
    while difference() != nil, patience > 0 {
      patience -= 1
      await Task.yield()
    }
    for _ in 0..<10 { await Task.yield() }
    return difference()
  }

  private func step(_ walk: inout Walk, _ run: inout Run<Void>) async {
    let world = walk.world
    world.host.delay = walk.roll(0..<4)
    let isGroup = walk.plan.frames.last?.name == "g"
    switch walk.roll(0..<20) {
    case 0..<9:
      guard let open = walk.plan.open, let page = world.host.sheet ?? world.host.stack.last else { fallthrough }
      var answer = WalkAnswer.finish
      if open == "n0" || open == "n1", walk.roll(0..<3) > 0 {
        answer = .next(open == "n0" ? "n1" : "n2")
      } else if walk.roll(0..<40) > 0 {
        let free = walk.plan.free
        guard let name = free.randomElement(using: &walk.dice) else { return }
        let pages = free.filter { WalkWorld.pages.contains($0) && $0 != name }
        guard let then = pages.randomElement(using: &walk.dice) else { return }
        // A page that is replaced by another one.
        let isPage = WalkWorld.pages.contains(name) && WalkWorld.pages.contains(open)
        answer = isPage && walk.roll(0..<4) == 0 ? .replace(name) : .next(name, then: then)
      }
      walk.actions.append("\(open) answers \(answer)")
      let isInner = answer == .next("n1") || answer == .next("n2")
      page.handler.complete(answer)
      if walk.roll(0..<10) == 0, !isGroup, !open.hasPrefix("n"), world.host.sheet == nil, answer != .finish {
        // A tap on the button and on back in one turn.
        walk.actions.append("and goes back")
        walk.plan.leave(pages: 1)
        return await world.host.leave(1, after: 0, oldestFirst: false)
      }
      if isGroup {
        walk.plan.answerGroup()
        let fault = await settle(walk)
        walk.actions.append("-> \(fault ?? "ok")")
        world.clock.advance(by: .seconds(1))
        walk.plan.finishWork()
      }
      walk.plan.answer(answer, isInner: isInner)
      world.note(answer)
    case 9..<11 where walk.plan.working > 0 && !isGroup:
      walk.actions.append("the work finishes")
      world.clock.advance(by: .seconds(1))
      walk.plan.finishWork()
      walk.plan.answer(.next(world.then))
    case 9..<15:
      let count = world.host.sheet != nil ? 1 : walk.roll(1..<max(2, walk.plan.shown.count + 1))
      guard world.host.sheet != nil || !walk.plan.shown.isEmpty else { return }
      let turns = walk.roll(0..<6)
      let isOldestFirst = walk.roll(0..<2) == 0
      walk.actions.append("back over \(count) after \(turns), oldest first \(isOldestFirst)")
      // Work that ends while the report is on its way; the rule of its next page may not decide.
      if walk.plan.working > 0, world.then != "r", !walk.plan.isFinishing, !isGroup, walk.roll(0..<3) == 0 {
        world.clock.advance(by: .seconds(1))
      }
      await world.host.leave(count, after: turns, oldestFirst: isOldestFirst)
      await finishIfHeld(&walk)
      walk.plan.leave(pages: count)
    case 15..<17:
      let index = walk.roll(0..<walk.plan.frames.count)
      let count = walk.plan.frames.count - 1 - index
      // Its rule would leave its page on the path, under a presentation that code has ended.
      guard count != 1 || walk.plan.frames.last?.name != "r" else { return }
      walk.actions.append("back to \(walk.plan.frames[index].name)")
      if !world.flow.back(to: world.flow.path[index]) { walk.actions.append("refused") }
      if count > 0 {
        await finishIfHeld(&walk)
        walk.plan.goBack(over: count, isSwiped: false)
      }
    case 17:
      walk.actions.append("cancel and start")
      let old = run
      run.cancel(reason: "deep link")
      run = world.flow.start()
      if walk.roll(0..<3) == 0 {
        run.cancel()
        run = world.flow.start()
      }
      walk.plan = Plan()
      _ = await old.outcome
    case 18 where walk.plan.working == 0:
      walk.actions.append("killed and replayed")
      let answers = world.flow.answers
      // Neither a step that the user went back from by its rule, nor its page, is replayed as the user saw it.
      guard !walk.plan.frames.contains(where: { $0.name == "r" || $0.name == "e" }) else { return }
      let old = run
      run.cancel()
      run = world.flow.start(replaying: answers)
      _ = await old.outcome
    default:
      guard let old = world.host.removed.randomElement(using: &walk.dice) else { return }
      walk.actions.append("\(old.name) reports again")
      if old.handler.back() { walk.actions.append("it was believed") }
    }
  }

  /// Work that finishes runs on although the user has left.
  private func finishIfHeld(_ walk: inout Walk) async {
    guard walk.plan.isFinishing else { return }
    for _ in 0..<5 { await Task.yield() }
    if walk.world.clock.sleeperCount != 1 { walk.actions.append("the work was cancelled") }
    walk.world.clock.advance(by: .seconds(1))
  }

  @Test func `After each action of the user the screens, the path and a plain list are the same`() async {
    for seed in seeds(scaledWalks) {
      var walk = Walk(seed: seed)
      var run = walk.world.flow.start()
      var fault = await settle(walk)
      for _ in 0..<20 where fault == nil {
        await step(&walk, &run)
        if walk.plan.frames.isEmpty {
          _ = await run.outcome
          fault = await settle(walk)
          run = walk.world.flow.start()
          walk.plan = Plan()
        }
        if fault == nil { fault = await settle(walk) }
      }
      if let fault { Issue.record("seed \(seed): \(fault) after \(walk.actions.joined(separator: "; "))") }
      run.cancel()
      _ = await run.outcome
      let world = walk.world
      if fault == nil, world.started.value != world.finished.value + world.undone.value || !world.host.stack.isEmpty {
        Issue.record("seed \(seed): left \(world.host.stack.map(\.name)), \(world.started.value) works")
      }
    }
  }

  private var scaledWalks: UInt64 { _isDebugAssertConfiguration() ? 300 : 3_000 }
}
