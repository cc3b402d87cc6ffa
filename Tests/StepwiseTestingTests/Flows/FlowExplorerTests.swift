// SPDX-License-Identifier: MIT
// Copyright (c) 2026 Stepwise contributors

import Stepwise
import StepwiseFlows
import StepwiseTesting
import Testing

/// What an explorer finds, each finding in a flow that has it and in one that has not.
@Suite(.timeLimit(.minutes(5)))
@MainActor
struct FlowExplorerTests {
  enum Action: Sendable {
    case edit, download, quit
  }

  let profile = FlowStep<String, Action>("profile") { _ in Issue.record("presented") }
  let edit = FlowStep<String, String>("edit") { _ in Issue.record("presented") }
  let network = FlowStep<Void, String>("network") { _ in Issue.record("presented") }

  private var flow: Flow<String> {
    Flow<String>("flow", first: profile, content: "Ann")
      .on(profile, leadsTo: [edit, network]) { [edit, network] action, step in
        switch action {
        case .edit: .next(edit, step.content)
        case .download: .next(network)
        case .quit: .finish(step.content)
        }
      }
      .on(edit) { [profile] name, _ in .next(profile, name) }
      .on(network) { [profile] name, _ in
        profile.content = name
        return .back
      }
  }

  @Test func `A correct flow has no findings and presents no step`() {
    let report = FlowExplorer(flow)
      .answers(profile, .edit, .download, .quit)
      .answers(edit, "Bob")
      .answers(network, "Cid")
      .explore()
    #expect(report.isSound, "\(report)")
    #expect(report.reached == ["profile", "edit", "network"])
    #expect(profile.content == nil)
  }

  @Test func `Steps that are never reached are found`() {
    let report = FlowExplorer(flow).answers(profile, .edit, .quit).answers(edit, "Bob").explore()
    #expect(report.unreached == ["network"])
    #expect(!report.isSound)
    #expect(report.description.contains("never reached: network"))
  }

  @Test func `Dead ends are found`() {
    let report = FlowExplorer(flow).answers(profile, .edit, .download, .quit).answers(network, "Cid").explore()
    #expect(report.deadEnds == ["edit"])
    #expect(report.loops.isEmpty)
  }

  @Test func `Loops without an exit are found`() {
    let report = FlowExplorer(flow)
      .answers(profile, .edit, .download)
      .answers(edit, "Bob")
      .answers(network, "Cid")
      .explore()
    #expect(report.loops == [["profile", "edit", "network"]])
    #expect(report.deadEnds.isEmpty)
  }

  @Test func `A loop behind an exit is found, too`() {
    let flow = flow.on(edit) { [edit] _, _ in .next(edit, "again") }
    let report = FlowExplorer(flow).answers(profile, .edit, .quit, .download).answers(edit, "Bob")
      .answers(network, "Cid").explore()
    #expect(report.loops == [["edit"]])
  }

  @Test func `Results without a rule are found`() {
    let last = FlowStep<Void, Int>("last") { _ in }
    let flow = flow.on(edit) { _, _ in .next(last) }
    let report = FlowExplorer(flow)
      .answers(profile, .edit, .download, .quit)
      .answers(edit, "Bob")
      .answers(network, "Cid")
      .answers(last, 7)
      .explore()
    #expect(report.unhandled.map(\.step) == ["last"])
    #expect(report.unhandled.map(\.result) == ["7"])
    #expect(report.deadEnds == ["last"])
  }

  @Test func `Endings are explored when supplied`() {
    let report = FlowExplorer(flow).endings(profile, .back, .abandoned).explore()
    #expect(report.deadEnds.isEmpty)
    let rescued = FlowExplorer(flow.on(edit, ended: { _, _ in .finish("gone") }))
      .answers(profile, .edit)
      .endings(edit, .abandoned)
      .explore()
    #expect(rescued.loops.isEmpty && rescued.deadEnds.isEmpty)
  }

  @Test func `Back over any number of screens is tried at each position`() {
    let last = FlowStep<Void, Bool>("last") { _ in Issue.record("presented") }
    let help = FlowStep<Void, Bool>("help") { _ in Issue.record("presented") }
    let lost = FlowStep<Int, Bool>("lost") { _ in Issue.record("presented") }
    let save = FlowStep("save", running: Chain { (name: String) in name })
    var flow = flow.on(edit) { name, _ in .next(save, name) }.on(save) { _, _ in .next(last) }
      .on(edit, ended: { _, _ in .next(help) })
    func explore(_ flow: Flow<String>) -> FlowExploration {
      FlowExplorer(flow).answers(profile, .edit, .download, .quit).answers(edit, "Bob").answers(save, "Bob")
        .answers(network, "Cid").explore()
    }
    // Nothing but going back leads to it, and going back is no way out of it.
    #expect(explore(flow).reached.contains("help") && Set(explore(flow).deadEnds) == ["last", "help"])
    // Back from the last screen skips the work, so the rule is found when two screens are left.
    flow = flow.on(edit, ended: { _, _ in .next(lost) })
    #expect(explore(flow).unhandled.map(\.step).contains("last"))
  }

  @Test func `Contents distinguish positions`() {
    let count = FlowStep<Int, Bool>("count") { _ in }
    let flow = Flow<Int>("flow", first: count, content: 0).on(count) { _, step in
      step.content == 5 ? .finish(5) : .next(count, step.content + 1)
    }
    #expect(FlowExplorer(flow).answers(count, true).explore().isSound)
    let endless = flow.on(count) { _, step in .next(count, step.content + 1) }
    let report = FlowExplorer(endless).answers(count, true).explore(limit: 50)
    #expect(!report.isComplete)
    #expect(report.loops == [["count"]])
  }

  @Test
  func `The explorer restores the content of transition-only steps`() {
    let hidden = FlowStep<Int, Bool>("hidden") { _ in Issue.record("presented") }
    let set = FlowStep<Int, Bool>("set") { _ in Issue.record("presented") }
    hidden.content = 42
    set.content = 42
    let flow = Flow<Void>("flow", first: profile, content: "Ann").on(profile) { _, _ in
      set.content = 7
      return .next(hidden, 7)
    }
    let report = FlowExplorer(flow).answers(profile, .edit).answers(hidden, true).explore()
    #expect(report.isSound, "\(report)")
    #expect(hidden.content == 42)
    #expect(set.content == 42)
  }

  @Test
  func `The content of a transition-only step distinguishes positions`() {
    let count = FlowStep<Int, Bool>("count") { _ in Issue.record("presented") }
    let flow = Flow<Void>("flow", first: network)
      .on(network) { _, _ in .next(count, 0) }
      .on(count) { _, step in step.content == 5 ? .finish : .next(count, step.content + 1) }
    #expect(FlowExplorer(flow).answers(network, "Bob").answers(count, true).explore().isSound)
    #expect(count.content == nil)
  }

  /// A walk goes through each turn once, so its length grows with the number of positions alone.
  @Test func `Each turn is explored once`() {
    var turns = 0
    let there = FlowStep<Int, Bool>("there") { _ in Issue.record("presented") }
    let back = FlowStep<Int, Bool>("back") { _ in Issue.record("presented") }
    let flow = Flow<Void>("flow", first: there, content: 0)
      .on(there) { _, step in
        turns += 1
        return .next(back, step.content)
      }
      .on(back) { _, step in
        turns += 1
        return .next(there, step.content + 1)
      }
    let report = FlowExplorer(flow).answers(there, true).answers(back, true).explore(limit: 10_000)
    #expect(!report.isComplete)
    #expect(turns == 10_000)
    #expect(there.content == nil && back.content == nil)
  }

  @Test func `Two steps with one name are reported`() {
    let other = FlowStep<Void, Int>("network") { _ in Issue.record("presented") }
    let report = FlowExplorer(flow.on(edit) { _, _ in .next(other) })
      .answers(profile, .edit, .download, .quit)
      .answers(edit, "Bob")
      .answers(network, "Cid")
      .explore()
    #expect(report.unhandled.map(\.step) == ["edit"])
    #expect(report.unhandled.first?.error as? FlowError == .duplicateName)
  }

  @Test func `Nested flows are explored`() {
    let (inner, ask, nested) = nestedSteps()
    let outer = flow.on(profile) { [edit] action, step in
      switch action {
      case .edit: .next(nested, 3)
      case .download: .next(edit, step.content)
      case .quit: .finish(step.content)
      }
    }.on(nested) { [profile] text, _ in .next(profile, text) }
    let report = FlowExplorer(outer)
      .answers(profile, .edit, .download, .quit)
      .answers(edit, "Bob")
      .answers(inner, true)
      .answers(ask, "Cid", "loop")
      .endings(ask, .back)
      .endings(inner, .back)
      .explore()
    #expect(report.description == "reached: profile, edit, inner, ask, nested\nnever reached: network")
    #expect(inner.content == nil && ask.content == nil && nested.content == nil)
  }

  @Test func `Findings inside nested flows are reported`() {
    let (inner, ask, nested) = nestedSteps()
    let outer = Flow<String>("outer", first: nested, content: 3)
    #expect(FlowExplorer(outer).answers(inner, true).explore().deadEnds == ["ask"])
    #expect(FlowExplorer(outer).answers(inner, true).answers(ask, "loop").explore().loops == [["ask"]])
    #expect(FlowExplorer(outer).explore().deadEnds == ["inner"])
  }

  @Test
  func `A nested flow whose answers are supplied is not explored`() {
    let (_, _, nested) = nestedSteps()
    let report = FlowExplorer(Flow<String>("outer", first: nested, content: 3)).answers(nested, "x").explore()
    #expect(report.isSound && report.reached == ["nested"], "\(report)")
  }

  private func nestedSteps() -> (FlowStep<Int, Bool>, FlowStep<String, String>, FlowStep<Int, String>) {
    let inner = FlowStep<Int, Bool>("inner") { _ in Issue.record("presented") }
    let ask = FlowStep<String, String>("ask") { _ in Issue.record("presented") }
    let nested = FlowStep<Int, String>("nested") { number in
      Flow<String>("inner flow", first: inner, content: number)
        .on(inner) { _, step in .next(ask, "\(step.content)") }
        .on(ask) { text, _ in text == "loop" ? .next(ask) : .finish(text) }
    }
    return (inner, ask, nested)
  }
}
