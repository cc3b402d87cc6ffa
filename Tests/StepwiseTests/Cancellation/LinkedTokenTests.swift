// SPDX-License-Identifier: MIT
// Copyright (c) 2026 Stepwise contributors

import StepwiseTesting
import Testing

@testable import Stepwise

@Suite(.timeLimit(.minutes(5)))
struct LinkedTokenTests {
  @Test func aParentCancelsItsChildrenWithItsReason() {
    let parent = CancellationToken()
    let children = (0..<3).map { _ in CancellationToken(linkedTo: parent) }
    parent.cancel(reason: "stop")
    #expect(children.allSatisfy { $0.isCancelled && $0.reason == "stop" })
    #expect(!children[0].cancel())
  }

  @Test func aChildLeavesItsParentAndSiblingsAlone() {
    let parent = CancellationToken()
    let (child, sibling) = (CancellationToken(linkedTo: parent), CancellationToken(linkedTo: parent))
    #expect(child.cancel(reason: "mine"))
    #expect(!parent.isCancelled)
    #expect(!sibling.isCancelled)
    parent.cancel(reason: "all")
    #expect(child.reason == "mine")
    #expect(sibling.reason == "all")
  }

  @Test func aChildOfACancelledParentIsCancelledFromTheStart() {
    let parent = CancellationToken()
    parent.cancel(reason: "before")
    let child = CancellationToken(linkedTo: parent)
    #expect(child.isCancelled)
    #expect(child.reason == "before")
    #expect(!child.cancel())
  }

  @Test func aChildsHandlersHaveRunWhenTheParentsCancelReturns() {
    let parent = CancellationToken()
    let calls = Recorder<String?>()
    let child = CancellationToken(linkedTo: parent)
    let grandchild = CancellationToken(linkedTo: child)
    grandchild.onCancel { calls.record($0) }
    parent.cancel(reason: "stop")
    #expect(calls.elements == ["stop"])
  }

  @Test func aHandlerOfTheChildMayCancelTheParent() {
    let parent = CancellationToken()
    let child = CancellationToken(linkedTo: parent)
    child.onCancel { _ in #expect(parent.cancel(reason: "from below")) }
    #expect(child.cancel(reason: "mine"))
    #expect(parent.reason == "from below")
    #expect(child.reason == "mine")
  }

  // MARK: - Lifetimes

  @Test func aParentKeepsNoChildAlive() {
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

  @Test func aChildKeepsItsParentAliveUntilItIsCancelled() throws {
    var parent: CancellationToken? = CancellationToken()
    weak let watched = parent
    let child = CancellationToken(linkedTo: try #require(parent))
    parent = nil
    #expect(watched != nil)
    child.cancel()
    #expect(watched == nil)
  }

  @Test func aChildThatGoesTakesItsLinkWithIt() {
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

  @Test func aCancelledChildTakesItsLinkWithIt() {
    let parent = CancellationToken()
    let children = (0..<100).map { _ in CancellationToken(linkedTo: parent) }
    #expect(parent.handlerCount == 100)
    for child in children { child.cancel() }
    #expect(parent.handlerCount == 0)
  }

  @Test func nothingIsHeldOnceTheParentIsCancelled() throws {
    var parent: CancellationToken? = CancellationToken()
    weak let watched = parent
    let children = try (0..<100).map { _ in CancellationToken(linkedTo: try #require(parent)) }
    parent?.cancel(reason: "stop")
    parent = nil
    #expect(watched == nil)
    #expect(children.allSatisfy { $0.reason == "stop" })
  }

  @Test func tokensLinkedInALongLineAreAllCancelled() {
    let root = CancellationToken()
    var line = [root]
    for _ in 0..<1_000 { line.append(CancellationToken(linkedTo: line[line.endIndex - 1])) }
    root.cancel(reason: "stop")
    #expect(line.allSatisfy { $0.reason == "stop" })
  }
}
