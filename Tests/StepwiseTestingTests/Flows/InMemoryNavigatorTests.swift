// SPDX-License-Identifier: MIT
// Copyright (c) 2026 Stepwise contributors

import StepwiseTesting
import Testing

/// The navigator that shows nothing.
@Suite(.timeLimit(.minutes(5)))
@MainActor
struct InMemoryNavigatorTests {
  final class Screen {}

  let navigator = InMemoryNavigator<Screen>()
  let a = Screen()
  let b = Screen()
  let c = Screen()

  @Test func `A navigator pushes, pops and replaces`() {
    navigator.push(a)
    navigator.push(b)
    navigator.replace(a, with: c)
    #expect(navigator.stack.map(ObjectIdentifier.init) == [c, b].map(ObjectIdentifier.init))
    navigator.replace(nil, with: a)
    #expect(navigator.visible === a)
    navigator.pop(b)
    navigator.pop(a)
    #expect(navigator.visible === c)
    #expect(navigator.calls == ["push", "push", "replace", "replace", "pop"])
  }

  @Test func `A presented screen covers all others`() {
    navigator.push(a)
    navigator.present(b)
    #expect(navigator.visible === b)
    navigator.dismiss(c)
    navigator.dismiss(b)
    #expect(navigator.visible === a)
    #expect(navigator.calls == ["push", "present", "dismiss"])
  }

  @Test func `The user removes screens`() {
    navigator.push(a)
    navigator.present(b)
    #expect(navigator.swipeDismiss() === b)
    #expect(navigator.swipeBack() === a)
    navigator.pop(a)
    navigator.dismiss(b)
    #expect(navigator.visible == nil)
    #expect(navigator.calls == ["push", "present"])
  }
}
