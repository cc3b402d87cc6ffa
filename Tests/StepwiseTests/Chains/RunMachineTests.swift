// SPDX-License-Identifier: MIT
// Copyright (c) 2026 Stepwise contributors

import StepwiseTesting
import Testing

@testable import Stepwise

@Suite(.timeLimit(.minutes(5)))
struct RunMachineTests {
  @Test func `The first reason wins`() {
    var machine = RunMachine()
    #expect(machine.requestCancellation(CancellationRequest(.handle, reason: "first")) == true)
    #expect(machine.requestCancellation(CancellationRequest(.handle, reason: "second")) == false)
    #expect(machine.request?.reason == "first")
    #expect(machine.decide(with: CancellationError()).brief == "cancelled first")
  }

  // G26
  @Test func `A cancel after the end returns false and changes nothing`() {
    var machine = RunMachine()
    #expect(machine.decide(with: Fault(1)).brief == "failed Fault(number: 1)")
    #expect(machine.requestCancellation(CancellationRequest(.handle, reason: "late")) == false)
    #expect(machine.request == nil)
    #expect(!machine.isUndecided)
  }

  @Test func `A cancel after success does not destroy the value`() {
    var machine = RunMachine()
    #expect(machine.requestCancellation(CancellationRequest(.handle, reason: "requested")) == true)
    #expect(machine.decide(with: nil).brief == "resolved ()")
  }

  // G53
  @Test func `A run that has left the queue is not admitted, and one that is admitted does not leave`() {
    var machine = RunMachine(isGated: true)
    let hasLeft = machine.leaveQueue()
    machine.admit()
    #expect(hasLeft && !machine.isAdmitted)
    machine = RunMachine(isGated: true)
    machine.admit()
    let leavesLate = machine.leaveQueue()
    #expect(!leavesLate && machine.isAdmitted)
  }

  // G24
  @Test func `An error after a cancel is the underlying error`() {
    var machine = RunMachine()
    _ = machine.requestCancellation(CancellationRequest(.handle, reason: nil))
    #expect(machine.decide(with: Fault(3)).brief == "cancelled - Fault(number: 3)")
  }

  @Test
  func `A CancellationError without a request is an error like any other`() {
    var machine = RunMachine()
    let reported = machine.decide(with: CancellationError()).brief
    #expect(reported.hasPrefix("failed"))
  }

  /// Asks from token, handle, task, gate and policy, and one result, in every order: one outcome, no ask lost.
  @Test func `No order of events ends a run twice or loses a cancel`() {
    for seed in seeds(10_000) {
      var generator = SeededGenerator(seed: seed)
      var machine = RunMachine()
      let askers = ["token", "handle", "task", "gate", "timer"].shuffled(using: &generator)
      let closing = Int.random(in: 0...askers.count, using: &generator)
      let error: (any Error)? =
        switch Int.random(in: 0..<3, using: &generator) {
        case 0: nil
        case 1: Fault(1)
        default: CancellationError()
        }
      var outcome: Outcome<Void>?
      var winners: [String] = []
      for position in 0...askers.count {
        if position == closing { outcome = machine.decide(with: error) }
        guard position < askers.count else { continue }
        if machine.requestCancellation(CancellationRequest(.handle, reason: askers[position])) {
          winners.append(askers[position])
        }
      }
      #expect(winners == Array(askers.prefix(closing == 0 ? 0 : 1)), "seed \(seed)")
      #expect(machine.request?.reason == winners.first, "seed \(seed)")
      let expected =
        if let error {
          winners.first.map { "cancelled \($0)" + (error is Fault ? " \(error)" : "") } ?? "failed \(error)"
        } else {
          "resolved ()"
        }
      #expect(outcome?.brief == expected, "seed \(seed)")
    }
  }

  /// The Task is interrupted once when the run was cancelled in time, whether it was attached before or after, else never.
  @Test func `The task is interrupted exactly when a cancel was in time`() {
    for seed in seeds(2_000) {
      var generator = SeededGenerator(seed: seed)
      let run = Execution(of: Chain { 0 }.core, entrance: nil, input: ValueSlot(()))
      let task = Task<Void, any Error> {}
      var events = ["attach", "cancel", "cancel", "close"].shuffled(using: &generator)
      events.append("end")
      var granted = 0
      for event in events {
        switch event {
        case "attach": run.attach(task)
        case "cancel": granted += run.cancel(CancellationRequest(.handle)) ? 1 : 0
        case "close": _ = run.decide(with: Fault(1))
        default: run.complete(.failed(Fault(1)), ValueSlot())
        }
      }
      let position = { (event: String) in events.firstIndex(of: event) ?? 0 }
      #expect(granted == (position("cancel") < position("close") ? 1 : 0), "seed \(seed)")
      #expect(run.hasRequest == (granted == 1), "seed \(seed)")
      #expect(run.isCompleted, "seed \(seed)")
      let isAttachedInTime = position("attach") < position("close")
      if isAttachedInTime { #expect(task.isCancelled == (granted == 1), "seed \(seed) \(events)") }
      #expect(!task.isCancelled || granted == 1, "seed \(seed) \(events)")
    }
  }
}
