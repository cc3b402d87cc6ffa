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
  @MainActor
  struct Walk {
    let seed: UInt64
    var dice: SeededGenerator
    let world = WalkWorld()
    var plan = WalkPlan()
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
      if shown != plan.stack { return "shown \(shown), expected \(plan.stack)" }
      let path = world.flow.path.map(\.name)
      if path != plan.frames.map(\.name) { return "path \(path), expected \(plan.frames.map(\.name))" }
      if world.host.sheet?.name != plan.sheet { return "sheet \(world.host.sheet?.name ?? "-")" }
      if let top = plan.frames.last, let nested = world.nested[top.name], nested.path.map(\.name) != top.pages {
        return "nested path \(nested.path)"
      }
      if world.clock.sleeperCount != plan.working { return "\(world.clock.sleeperCount) works run" }
      if world.started.value != world.finished.value + world.undone.value + plan.working {
        return "works: \(world.started.value), \(world.finished.value) finished, \(world.undone.value) undone"
      }
      if plan.open != nil, (world.host.sheet ?? world.host.stack.last)?.handler.isFinished != false {
        return "the top page is not open"
      }
      // Without a page there is no back button to hide.
      if !plan.shown.isEmpty, world.host.isBackAllowed == plan.isFinishing {
        return "back is allowed: \(world.host.isBackAllowed)"
      }
      return world.host.faults.first
    }
    await wait { difference() == nil }
    for _ in 0..<10 { await Task.yield() }
    return difference()
  }

  /// Work runs on other threads, which may be slow to start.
  private func wait(until isReached: () -> Bool) async {
    var patience = _isDebugAssertConfiguration() ? 10_000 : 3_000_000
    while !isReached(), patience > 0 {
      patience -= 1
      await Task.yield()
    }
  }

  private func end(_ run: Run<Void>, in walk: Walk) async {
    await wait { run.isFinished }
    if !run.isFinished { walk.world.host.fault("the run has not ended") }
  }

  /// Chooses what the top page answers.
  private func answer(to open: String, _ walk: inout Walk) -> WalkAnswer {
    let inner = ["n0": "n1", "n1": "n2", "m0": "m1"]
    if let name = walk.plan.frames.last?.name, ["N", "M"].contains(name), let next = inner[open], walk.roll(0..<3) > 0 {
      return .next(next)
    }
    if walk.roll(0..<40) == 0 { return .finish }
    if walk.roll(0..<20) == 0 { return .back }
    let onPath = walk.plan.frames.map(\.name).filter { WalkWorld.pages.contains($0) }
    if walk.roll(0..<20) == 0, let name = onPath.randomElement(using: &walk.dice) { return .next(name) }
    let free = walk.plan.free
    guard let name = free.randomElement(using: &walk.dice) else { return .back }
    let pages = free.filter { WalkWorld.pages.contains($0) && $0 != name }
    guard let then = pages.randomElement(using: &walk.dice) else { return .back }
    // A page may replace any step, and a nested flow a page.
    let isPage = WalkWorld.pages.contains(name) || ["N", "M"].contains(name) && WalkWorld.pages.contains(open)
    if isPage, walk.roll(0..<4) == 0 { return .replace(name) }
    return .next(name, then: then, replacing: walk.roll(0..<3) == 0)
  }

  private func step(_ walk: inout Walk, _ run: inout Run<Void>) async {
    let world = walk.world
    world.host.delay = walk.roll(0..<4)
    let isGroup = walk.plan.frames.last?.name == "g"
    switch walk.roll(0..<20) {
    case 0..<9:
      guard let open = walk.plan.open, let page = world.host.sheet ?? world.host.stack.last else { fallthrough }
      let answer = answer(to: open, &walk)
      walk.actions.append("\(open) answers \(answer)")
      let isInner = [.next("n1"), .next("n2"), .next("m1")].contains(answer)
      page.handler.complete(answer)
      if walk.roll(0..<10) == 0, WalkWorld.pages.contains(open), answer != .finish {
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
      walk.plan.answer(world.then)
    case 9..<15:
      let count = world.host.sheet != nil ? 1 : walk.roll(1..<max(2, walk.plan.shown.count + 1))
      guard world.host.sheet != nil || !walk.plan.shown.isEmpty else { return }
      let turns = walk.roll(0..<6)
      let isOldestFirst = walk.roll(0..<2) == 0
      walk.actions.append("back over \(count) after \(turns), oldest first \(isOldestFirst)")
      // Work that ends while the report is on its way; the rule of its next page may not decide, and no page may cover
      // the one that is gone.
      let isRace = walk.plan.working > 0 && !walk.plan.isFinishing && !isGroup && walk.roll(0..<3) == 0
      let decisive = (["r"] + WalkWorld.covers).flatMap { [WalkAnswer.next($0), .replace($0)] }
      if isRace, !decisive.contains(world.then) {
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
      var isMidway = false
      if walk.roll(0..<2) == 0, let open = walk.plan.open, let page = world.host.sheet ?? world.host.stack.last {
        // The flow is on its way to the next step.
        let answer = answer(to: open, &walk)
        walk.actions.append("while \(open) answers \(answer)")
        isMidway = page.handler.complete(answer)
        for _ in 0..<walk.roll(0..<8) { await Task.yield() }
      }
      let old = run
      run.cancel(reason: "deep link")
      run = world.flow.start()
      if walk.roll(0..<3) == 0 {
        run.cancel()
        run = world.flow.start()
      }
      walk.plan.restart()
      await end(old, in: walk)
      // The step that was on its way may have left its page, or not.
      if isMidway { walk.plan.base = world.host.stack.map(\.name).filter { WalkPlan.stays($0) } }
    case 18:
      walk.actions.append("killed and replayed")
      let answers = world.flow.answers
      let old = run
      run.cancel()
      run = world.flow.start(replaying: answers)
      walk.plan.replay()
      await end(old, in: walk)
    default:
      guard let old = world.host.removed.randomElement(using: &walk.dice) else { return }
      walk.actions.append("\(old.name) reports again")
      if old.handler.back() { world.host.fault("\(old.name) was believed") }
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
          await end(run, in: walk)
          fault = await settle(walk)
          run = walk.world.flow.start()
          walk.plan.restart()
        }
        if fault == nil { fault = await settle(walk) }
      }
      if let fault { Issue.record("seed \(seed): \(fault) after \(walk.actions.joined(separator: "; "))") }
      run.cancel()
      await end(run, in: walk)
      let world = walk.world
      walk.plan.restart()
      let shown = world.host.stack.map(\.name)
      if fault == nil, world.started.value != world.finished.value + world.undone.value || shown != walk.plan.base {
        Issue.record("seed \(seed): left \(world.host.stack.map(\.name)), \(world.started.value) works")
      }
    }
  }

  private var scaledWalks: UInt64 { _isDebugAssertConfiguration() ? 300 : 3_000 }
}
