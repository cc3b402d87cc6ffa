// SPDX-License-Identifier: MIT
// Copyright (c) 2026 Stepwise contributors

import StepwiseTesting
import Testing

@testable import StepwiseCheckpoints

/// The pure state of a durable run, in random orders that a seed chooses.
@Suite(.timeLimit(.minutes(2)))
struct DurableLogTests {
  /// A run that calls steps in nested scopes, fails, is cancelled and undoes, at random.
  private struct Course {
    var log = DurableLog()
    var events: [DurableEvent] = []
    var random: SeededGenerator
    /// The open scopes, with the position of the next step of each.
    var scopes: [(path: String, index: Int)] = [("", 0)]
    var number = 0

    init(seed: UInt64) { random = SeededGenerator(seed: seed) }

    mutating func store(_ event: DurableEvent) {
      events.append(event)
      log.apply(event)
    }

    mutating func step() {
      let scope = scopes[scopes.count - 1]
      switch Int.random(in: 0..<10, using: &random) {
      case 0..<2 where scopes.count < 5:
        scopes.append((DurableLog.key("in \(scope.index)", 1, in: scope.path), 0))
      case 2 where scopes.count > 1:
        // The step around has ended.
        scopes.removeLast()
        end(scope.path, isUndoable: Bool.random(using: &random))
        scopes[scopes.count - 1].index += 1
      case 3:
        let outstanding = log.outstanding.filter { _ in Bool.random(using: &random) }
        if !outstanding.isEmpty { store(.undoing(outstanding)) }
        for number in outstanding.reversed() where Bool.random(using: &random) { store(.undone(number)) }
      case 4: store(.deadline(scope.path + "/wait", number))
      default:
        let key = DurableLog.key("step/\(scope.index)", 1, in: scope.path)
        let isUndoable = Bool.random(using: &random)
        if isUndoable { store(.began(key)) }
        // A process that died leaves a step in doubt.
        if !isUndoable || Int.random(in: 0..<8, using: &random) > 0 {
          end(key, isUndoable: isUndoable)
        }
        scopes[scopes.count - 1].index += 1
      }
    }

    private mutating func end(_ key: String, isUndoable: Bool) {
      number += 1
      if Int.random(in: 0..<5, using: &random) == 0 {
        let isInterrupted = Bool.random(using: &random)
        let failure = StoredFailure(kind: .other, type: "E", description: "e")
        store(.failed(key, thread: 0, number: number, failure, isInterrupted: isInterrupted))
        // A repetition that was interrupted leaves it in doubt.
        if isUndoable, isInterrupted { store(.began(key)) }
      } else {
        let value = [UInt8](repeating: 7, count: number % 5)
        store(.completed(key, thread: 0, number: number, value: value, isUndoable: isUndoable))
      }
    }

    mutating func conclude() {
      switch Int.random(in: 0..<4, using: &random) {
      case 0: store(.cancelled(reason: "r"))
      case 1: store(.concluded(.resolved([1])))
      case 2:
        // Within a step that has ended, its code is not entered any more.
        for key in log.begun.sorted() where !key.contains("/") && Bool.random(using: &random) { store(.settled(key)) }
        store(.undoing(log.outstanding))
        store(.concluded(.failed(StoredFailure(kind: .cancellation))))
        for number in log.outstanding.reversed() where Bool.random(using: &random) { store(.undone(number)) }
      default: break
      }
    }
  }

  private func course(_ seed: UInt64) -> Course {
    var course = Course(seed: seed)
    for _ in 0..<Int(seed % 40) { course.step() }
    course.conclude()
    return course
  }

  // G142
  @Test func `What is read equals what was stored`() throws {
    for seed: UInt64 in 0..<500 {
      let events = course(seed).events
      #expect(try DurableEvent.events(in: DurableEvent.bytes(of: events)) == events)
    }
  }

  // G142
  @Test func `A truncated or changed sequence is not misread`() throws {
    let bytes = DurableEvent.bytes(of: course(39).events)
    for count in 0..<bytes.count {
      // A cut between two events is a shorter run; the store detects it.
      let events = try? DurableEvent.events(in: bytes.prefix(count))
      #expect(events.map { course(39).events.starts(with: $0) } ?? true)
    }
  }

  // G142
  @Test func `A compacted log gives the same answers`() {
    for seed: UInt64 in 0..<1_000 {
      let course = course(seed)
      var (full, compact) = (DurableLog(course.events), DurableLog(DurableLog(course.events).effective(course.events)))
      #expect(full.phase == compact.phase && full.isEnded == compact.isEnded, "\(seed)")
      guard !full.isEnded else { continue }
      #expect(full.outstanding == compact.outstanding && full.begun == compact.begun, "\(seed)")
      #expect(Set(full.records.keys) == Set(compact.records.keys), "\(seed)")
      for key in full.records.keys {
        #expect(full.begin(key, thread: nil) == compact.begin(key, thread: nil), "\(seed) \(key)")
      }
    }
  }

  // G143
  @Test func `Once the run is decided, only bodies in doubt run`() {
    for seed: UInt64 in 0..<1_000 {
      let course = course(seed)
      var log = DurableLog(course.events)
      guard log.isUnwinding else { continue }
      for index in 0..<50 {
        for scope in course.scopes.map(\.path) {
          let key = DurableLog.key("step/\(index)", 1, in: scope)
          if case .perform(let why) = log.begin(key, thread: nil) {
            #expect(why == .toUndo && log.begun.contains(key), "\(seed) \(key)")
          }
        }
      }
      // Everything that can be undone is known, and the run ends with the last of it.
      for key in log.begun { log.apply(.settled(key)) }
      for number in log.outstanding {
        #expect(!log.isEnded)
        log.apply(.undone(number))
      }
      log.apply(.concluded(.cancelled(reason: nil, underlying: nil)))
      #expect(log.isEnded, "\(seed)")
    }
  }

  // G144
  @Test func `A different step is noticed before its body runs`() {
    for seed: UInt64 in 0..<1_000 {
      var course = course(seed)
      var log = DurableLog(course.events)
      // Whatever scopes the new code has opened, and in each place of its order.
      let keys = log.records.filter { $0.value.isExpected }.sorted { $0.value.number < $1.value.number }.map(\.key)
      for key in keys {
        let scope = ["", "new", "step/1"].randomElement(using: &course.random) ?? ""
        let answer = log.begin(DurableLog.key("changed", 1, in: scope), thread: 0)
        #expect(answer == .different(stored: key), "\(seed) \(key)")
        _ = log.begin(key, thread: 0)
        log.replayed(key)
      }
    }
  }

  @Test
  func `A step stored after the end around it does not wait for what follows`() {
    let failure = StoredFailure(kind: .cancellation)
    var log = DurableLog([
      .failed("race[1]", thread: nil, number: 1, failure, isInterrupted: true),
      .completed("after", thread: 0, number: 2, value: [], isUndoable: false),
      .completed("race[1]/outer/inner", thread: 0, number: 3, value: [], isUndoable: true),
      .completed("race[1]/outer", thread: 0, number: 4, value: [], isUndoable: true),
      .concluded(.failed(failure)),
    ])
    let isNext = [(3, "race[1]/outer/inner"), (4, "race[1]/outer"), (3, "other")].map { log.isNext($0.0, at: $0.1) }
    #expect(isNext == [true, true, false])
  }

  @Test func `Names that look like paths stay distinct`() {
    let names = ["a/b", "a#2", "a@2", "a[0]", "a%2f", "a", "%", "[", ""]
    let keys = names.flatMap { name in [1, 2].map { DurableLog.key(name, $0, in: "s") } }
    #expect(Set(keys).count == keys.count)
    #expect(keys.allSatisfy { $0.split(separator: "/", omittingEmptySubsequences: false).count == 2 })
  }

  @Test func `Only the owner of a scope repeats a name`() {
    var names = StepNames()
    #expect([names.next("a", isOwner: true), names.next("a", isOwner: true)] == [1, 2])
    #expect(names.next("b", isOwner: false) == 1)
    #expect(names.next("b", isOwner: false) == nil && names.next("b", isOwner: true) == nil)
    #expect(names.next("a", isOwner: false) == nil)
  }
}
