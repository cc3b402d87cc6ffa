// SPDX-License-Identifier: MIT
// Copyright (c) 2026 Stepwise contributors

import Stepwise

/// One presentation of a step, which a screen knows through its handler.
///
/// It is open until it ends. After a result the user may still leave its screen, until the run closes the visit.
final class FlowVisit: Sendable {
  let answer = Once<FlowEnd>()
  private let visits: FlowVisits?

  /// Creates a visit; without a run, the user cannot leave it after it has ended.
  init(in visits: FlowVisits?, isAnswered: Bool = false) {
    self.visits = visits
    visits?.add(self)
    if isAnswered { answer.settle(.answered(Box(()))) }
  }

  /// Ends the presentation as back, or leaves its screen after a result; returns whether this call did.
  func back() -> Bool {
    if answer.settle(.ended(.back)) { return true }
    guard case .answered = answer.settled else { return false }
    return visits?.leave(ObjectIdentifier(self)) ?? false
  }

  var isLeft: Bool { visits?.isLeft(ObjectIdentifier(self)) ?? false }

  /// Ends the time in which the user may leave the screen: call it before the flow itself removes the screen.
  func close() { visits?.close(ObjectIdentifier(self)) }

  /// Lets the enclosing run find out that the user has left the screen, because it stays when its flow ends.
  func move(to outer: FlowVisits) { visits?.move(self, to: outer) }
}

/// The screens of a run that the user may leave, and the presentation that leaving one of them cancels.
final class FlowVisits: Sendable {
  private struct State {
    /// The visits on the path, and whether the user has left each.
    var isLeft: [ObjectIdentifier: Bool] = [:]
    var presentation: Task<FlowEnd, Never>?
    /// The number of presentations in flight that finish although the user has left.
    var holds = 0
    /// Where the screen that stays when the flow has ended belongs to.
    var outer: FlowVisits?

    var interrupted: Task<FlowEnd, Never>? { holds == 0 ? presentation : nil }
  }

  private let state = Lock(State())

  func add(_ visit: FlowVisit) { state.withLock { $0.isLeft[ObjectIdentifier(visit)] = false } }

  func close(_ id: ObjectIdentifier) {
    let outer = state.withLock { state in
      state.isLeft[id] = nil
      return state.outer
    }
    outer?.close(id)
  }

  func isLeft(_ id: ObjectIdentifier) -> Bool {
    let (isLeft, outer) = state.withLock { ($0.isLeft[id], $0.outer) }
    return isLeft ?? outer?.isLeft(id) ?? false
  }

  func leave(_ id: ObjectIdentifier) -> Bool {
    let (isOpen, presentation, outer) = state.withLock { state in
      let isOpen = state.isLeft[id] == false
      if isOpen { state.isLeft[id] = true }
      return (isOpen, isOpen ? state.interrupted : nil, state.outer)
    }
    presentation?.cancel()
    return isOpen || outer?.leave(id) ?? false
  }

  fileprivate func move(_ visit: FlowVisit, to outer: FlowVisits) {
    let id = ObjectIdentifier(visit)
    outer.add(visit)
    let (wasLeft, former) = state.withLock { state in
      let former = state.outer
      state.outer = outer
      return (state.isLeft.removeValue(forKey: id), former)
    }
    if wasLeft ?? former?.isLeft(id) == true { _ = outer.leave(id) }
  }

  // MARK: - The presentation in flight

  func begin(_ presentation: Task<FlowEnd, Never>) { state.withLock { $0.presentation = presentation } }

  func end() { _ = state.withLock { $0.presentation.take() } }

  /// Cancels the presentation in flight, unless it finishes although the user has left.
  func interrupt() { state.withLock { $0.interrupted }?.cancel() }

  /// Changes the number of holds, and returns it.
  func hold(_ change: Int) -> Int {
    state.withLock { state in
      state.holds += change
      return state.holds
    }
  }
}
