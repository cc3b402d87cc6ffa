// SPDX-License-Identifier: MIT
// Copyright (c) 2026 Stepwise contributors

import Stepwise
import StepwiseTesting
import Testing

/// What an explorer finds, each finding in a flow that has it and in one that has not.
@Suite(.timeLimit(.minutes(5)))
@MainActor
struct FlowExplorerTests {
  enum Action: Sendable {
    case edit, download, quit
  }

  let profile = FlowStep<String, Action>("profile") { _ in Issue.record("asked") }
  let edit = FlowStep<String, String>("edit") { _ in Issue.record("asked") }
  let network = FlowStep<Void, String>("network") { _ in Issue.record("asked") }

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

  @Test func aSoundFlowHasNoFindingsAndNobodyIsAsked() {
    let report = FlowExplorer(flow)
      .answers(profile, .edit, .download, .quit)
      .answers(edit, "Bob")
      .answers(network, "Cid")
      .explore()
    #expect(report.isSound, "\(report)")
    #expect(report.reached == ["profile", "edit", "network"])
    #expect(profile.content == nil)
  }

  @Test func stepsNeverReached() {
    let report = FlowExplorer(flow).answers(profile, .edit, .quit).answers(edit, "Bob").explore()
    #expect(report.unreached == ["network"])
    #expect(!report.isSound)
    #expect(report.description.contains("never reached: network"))
  }

  @Test func deadEnds() {
    let report = FlowExplorer(flow).answers(profile, .edit, .download, .quit).answers(network, "Cid").explore()
    #expect(report.deadEnds == ["edit"])
    #expect(report.loops.isEmpty)
  }

  @Test func loopsWithoutAWayOut() {
    let report = FlowExplorer(flow)
      .answers(profile, .edit, .download)
      .answers(edit, "Bob")
      .answers(network, "Cid")
      .explore()
    #expect(report.loops == [["profile", "edit", "network"]])
    #expect(report.deadEnds.isEmpty)
  }

  @Test func aLoopBehindAWayOutIsFoundToo() {
    let flow = flow.on(edit) { [edit] _, _ in .next(edit, "again") }
    let report = FlowExplorer(flow).answers(profile, .edit, .quit, .download).answers(edit, "Bob")
      .answers(network, "Cid").explore()
    #expect(report.loops == [["edit"]])
  }

  @Test func resultsNobodyHandled() {
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

  @Test func endingsAreWalkedWhenSupplied() {
    let report = FlowExplorer(flow).endings(profile, .back, .abandoned).explore()
    #expect(report.deadEnds.isEmpty)
    let rescued = FlowExplorer(flow.on(edit, ended: { _, _ in .finish("gone") }))
      .answers(profile, .edit)
      .endings(edit, .abandoned)
      .explore()
    #expect(rescued.loops.isEmpty && rescued.deadEnds.isEmpty)
  }

  @Test func contentsTellPositionsApart() {
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
}
