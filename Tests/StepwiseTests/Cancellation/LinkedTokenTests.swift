// SPDX-License-Identifier: MIT
// Copyright (c) 2026 Stepwise contributors

import StepwiseTesting
import Testing

@testable import Stepwise

@Suite(.timeLimit(.minutes(5)))
struct LinkedTokenTests {
  // G76
  @Test func `A parent cancels its children with its reason`() {
    let parent = CancellationToken()
    let children = (0..<3).map { _ in CancellationToken(linkedTo: parent) }
    parent.cancel(reason: "stop")
    #expect(children.allSatisfy { $0.isCancelled && $0.reason == "stop" })
    #expect(!children[0].cancel())
  }

  @Test func `A child's cancel leaves its parent and siblings alone`() {
    let parent = CancellationToken()
    let (child, sibling) = (CancellationToken(linkedTo: parent), CancellationToken(linkedTo: parent))
    #expect(child.cancel(reason: "mine"))
    #expect(!parent.isCancelled)
    #expect(!sibling.isCancelled)
    parent.cancel(reason: "all")
    #expect(child.reason == "mine")
    #expect(sibling.reason == "all")
  }

  @Test func `A child of a cancelled parent is cancelled from the start`() {
    let parent = CancellationToken()
    parent.cancel(reason: "before")
    let child = CancellationToken(linkedTo: parent)
    #expect(child.isCancelled)
    #expect(child.reason == "before")
    #expect(!child.cancel())
  }

  @Test func `A child's handlers have run when the parent's cancel returns`() {
    let parent = CancellationToken()
    let calls = Recorder<String?>()
    let child = CancellationToken(linkedTo: parent)
    let grandchild = CancellationToken(linkedTo: child)
    grandchild.onCancel { calls.record($0) }
    parent.cancel(reason: "stop")
    #expect(calls.elements == ["stop"])
  }

  @Test func `A handler of the child may cancel the parent`() {
    let parent = CancellationToken()
    let child = CancellationToken(linkedTo: parent)
    child.onCancel { _ in #expect(parent.cancel(reason: "from below")) }
    #expect(child.cancel(reason: "mine"))
    #expect(parent.reason == "from below")
    #expect(child.reason == "mine")
  }

  // MARK: - Lifetimes

  // G76
  @Test func `A parent does not retain its children`() {
    let parent = CancellationToken()
    weak var child: CancellationToken?
    do {
      let linked = CancellationToken(linkedTo: parent)
      child = linked
      #expect(child != nil)
    }
    #expect(child == nil)
    parent.cancel()
  }

  @Test func `A child keeps its parent alive until it is cancelled`() throws {
    var parent: CancellationToken? = CancellationToken()
    weak let watched = parent
    let child = CancellationToken(linkedTo: try #require(parent))
    parent = nil
    #expect(watched != nil)
    child.cancel()
    #expect(watched == nil)
  }

  @Test func `A released child removes its link`() {
    let parent = CancellationToken()
    let children = 100_000
    let tracker = LifetimeTracker()
    for _ in 0..<children {
      let child = CancellationToken(linkedTo: parent)
      let tracked = tracker.track()
      child.onCancel { _ in withExtendedLifetime(tracked) {} }
    }
    #expect(tracker.made == children)
    #expect(tracker.alive == 0)
    #expect(parent.handlerCount == 0)
  }

  @Test func `A cancelled child removes its link`() {
    let parent = CancellationToken()
    let children = (0..<100).map { _ in CancellationToken(linkedTo: parent) }
    #expect(parent.handlerCount == 100)
    for child in children { child.cancel() }
    #expect(parent.handlerCount == 0)
  }

  @Test func `Nothing is retained once the parent is cancelled`() throws {
    var parent: CancellationToken? = CancellationToken()
    weak let watched = parent
    let children = try (0..<100).map { _ in CancellationToken(linkedTo: try #require(parent)) }
    parent?.cancel(reason: "stop")
    parent = nil
    #expect(watched == nil)
    #expect(children.allSatisfy { $0.reason == "stop" })
  }

  // MARK: - Long lines

  /// A line of tokens, each linked to the one before.
  private static func line(_ count: Int) -> [CancellationToken] {
    var line = [CancellationToken()]
    while line.count < count { line.append(CancellationToken(linkedTo: line[line.endIndex - 1])) }
    return line
  }

  // G76
  @Test func `A long line of tokens is cancelled without recursion`() async throws {
    let reasons = try await onASmallStack {
      let line = Self.line(100_000)
      line[0].cancel(reason: "stop")
      return Set(line.map(\.reason))
    }
    #expect(reasons == ["stop"])
  }

  @Test func `A long line of tokens is released without recursion`() async throws {
    let tracker = LifetimeTracker()
    try await onASmallStack {
      // The last one alone keeps the line.
      var last: CancellationToken? = Self.line(100_000).last
      for _ in 0..<2 { last?.onCancel { [object = tracker.track()] _ in withExtendedLifetime(object) {} } }
      withExtendedLifetime(last) {}
      last = nil
    }
    #expect(tracker.made == 2 && tracker.alive == 0)
  }

  @Test func `The rest of a line of tokens stays linked`() throws {
    var line: [CancellationToken] = Self.line(1_000)
    weak let middle = line[500]
    let (first, last) = (line[0], line[400])
    line = []
    #expect(middle == nil)
    #expect(last.handlerCount == 0)
    first.cancel(reason: "stop")
    #expect(last.reason == "stop")
  }

  @Test
  func `Handlers of a token and its children are called in order`() {
    let parent = CancellationToken()
    let calls = Recorder<Int>()
    parent.onCancel { _ in calls.record(1) }
    let child = CancellationToken(linkedTo: parent)
    parent.onCancel { _ in calls.record(5) }
    child.onCancel { _ in calls.record(2) }
    let grandchild = CancellationToken(linkedTo: child)
    grandchild.onCancel { _ in calls.record(3) }
    child.onCancel { _ in calls.record(4) }
    parent.cancel()
    #expect(calls.elements == [1, 2, 3, 4, 5])
  }
}
