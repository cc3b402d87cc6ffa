// SPDX-License-Identifier: MIT
// Copyright (c) 2026 Stepwise contributors

import StepwiseTesting
import Testing

@testable import StepwiseCheckpoints

/// The pure state of a durable run, in random orders that a seed chooses.
@Suite(.timeLimit(.minutes(2)))
struct DurableLogTests {
  /// A run that calls steps, waits, fails, is cancelled and undoes, at random.
  private struct Course {
    var log = DurableLog()
    var events: [DurableEvent] = []
    var random: SeededGenerator
    private var number = 0
    private var call = 0

    init(seed: UInt64) {
      random = SeededGenerator(seed: seed)
      for _ in 0..<Int(seed % 40) { step() }
      conclude()
    }

    mutating func store(_ event: DurableEvent) {
      events.append(event)
      log.apply(event)
    }

    private mutating func step() {
      switch Int.random(in: 0..<10, using: &random) {
      case 0:
        let outstanding = log.outstanding.filter { _ in Bool.random(using: &random) }
        if !outstanding.isEmpty { store(.undoing(outstanding)) }
        for number in outstanding.reversed() where Bool.random(using: &random) { store(.undone(number)) }
      case 1:
        store(.deadline("wait \(call)", number))
        if Bool.random(using: &random) { store(.waited("wait \(call)", task: 2)) }
      case 2: store(.returned(task: call))
      default:
        call += 1
        let key = DurableLog.key("step/\(call)", 1, in: Bool.random(using: &random) ? "" : "scope@2[1]")
        let isUndoable = Bool.random(using: &random)
        if isUndoable { store(.began(key, by: .init(task: 0, calls: call))) }
        // A process that died leaves a step in doubt.
        if !isUndoable || Int.random(in: 0..<8, using: &random) > 0 { end(key, isUndoable) }
      }
    }

    private mutating func end(_ key: String, _ isUndoable: Bool) {
      number += 1
      if Int.random(in: 0..<5, using: &random) == 0 {
        store(
          .failed(
            key,
            by: .init(task: 0, calls: call),
            number: number,
            StoredFailure(kind: .other, type: "E", description: "e")
          )
        )
        // A repetition that was interrupted leaves it in doubt.
        if isUndoable, Bool.random(using: &random) { store(.began(key, by: .init(task: 0, calls: call))) }
      } else {
        let value = [UInt8](repeating: 7, count: number % 5)
        store(.completed(key, by: .init(task: 0, calls: call), number: number, value: value, isUndoable: isUndoable))
        if isUndoable, Int.random(in: 0..<4, using: &random) == 0 {
          store(.undoFailed(number, StoredFailure(kind: .other)))
        }
      }
    }

    private mutating func conclude() {
      switch Int.random(in: 0..<4, using: &random) {
      case 0: store(.cancelled(reason: "r"))
      case 1: store(.concluded(.resolved([1])))
      case 2:
        store(.undoing(log.outstanding))
        store(.concluded(.failed(StoredFailure(kind: .cancellation))))
        for number in log.outstanding.reversed() where Bool.random(using: &random) { store(.undone(number)) }
      default: break
      }
    }
  }

  // G142
  @Test func `What is read equals what was stored`() throws {
    for seed: UInt64 in 0..<500 {
      let events = Course(seed: seed).events
      #expect(try DurableEvent.events(in: DurableEvent.bytes(of: events)) == events)
    }
  }

  // G142
  @Test func `A truncated or changed sequence is not misread`() throws {
    let stored = Course(seed: 39).events
    let bytes = DurableEvent.bytes(of: stored)
    for count in 0..<bytes.count {
      // A cut between two events is a shorter run; the store detects it.
      let events = try? DurableEvent.events(in: bytes.prefix(count))
      #expect(events.map { stored.starts(with: $0) } ?? true)
    }
  }

  // G142
  @Test func `The outcome alone gives the same answers as a run that has ended`() {
    for seed: UInt64 in 0..<1_000 {
      let events = Course(seed: seed).events
      let full = DurableLog(events)
      guard full.isEnded else { continue }
      let kept = DurableLog(events.filter(\.isOutcome))
      #expect(full.phase == kept.phase && kept.isEnded && kept.outstanding.isEmpty, "\(seed)")
    }
  }

  @Test func `A run ends with the last of its undos and of its steps in doubt`() {
    for seed: UInt64 in 0..<1_000 {
      var log = Course(seed: seed).log
      guard log.isUnwinding else { continue }
      for key in log.begun { log.apply(.settled(key)) }
      for number in log.outstanding {
        #expect(!log.isEnded)
        log.apply(.undone(number))
      }
      log.apply(.concluded(.cancelled(reason: nil, underlying: nil)))
      #expect(log.isEnded, "\(seed)")
    }
  }

  @Test func `Names that look like paths stay distinct`() {
    let names = ["a/b", "a#2", "a@2", "a[0]", "a%2f", "a", "%", "[", ""]
    let keys = names.flatMap { name in [1, 2].map { DurableLog.key(name, $0, in: "s") } }
    #expect(Set(keys).count == keys.count)
    #expect(keys.allSatisfy { $0.split(separator: "/", omittingEmptySubsequences: false).count == 2 })
  }
}
