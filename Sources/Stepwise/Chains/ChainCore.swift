// SPDX-License-Identifier: MIT
// Copyright (c) 2026 Stepwise contributors

import Synchronization

/// A chain without its types.
@usableFromInline
final class ChainCore: Sendable {
  let node: Node
  let family: Family
  let flight = Flight()
  private let compiled = Lock<Program?>(nil)
  private let cancels = Atomic(0)
  private let cancelReason = Lock<String?>(nil)

  init(_ node: Node, family: Family) {
    self.node = node
    self.family = family
  }

  /// The chain that this one becomes with one thing more.
  func appending(_ part: Node.Part) -> ChainCore {
    ChainCore(Node(part, after: node), family: family)
  }

  @usableFromInline
  convenience init(name: String?, _ code: @escaping StepCode) {
    self.init(Node(.step(name: name, isUndoable: false, code), after: nil), family: Family())
  }

  convenience init(_ chains: [ChainCore], how: String, _ code: @escaping StepCode) {
    self.init(Node(.chains(chains, how: how, code), after: nil), family: Family())
  }

  @usableFromInline
  func appending(name: String?, _ code: @escaping StepCode) -> ChainCore {
    appending(.step(name: name, isUndoable: false, code))
  }

  /// The path as an array, made by the first run.
  var program: Program {
    if let program = compiled.withLock({ $0 }) { return program }
    let new = Program(path: node)
    return compiled.withLock { compiled in
      let program = compiled ?? new
      compiled = program
      return program
    }
  }

  // MARK: - Cancelling all runs

  /// Counts the calls to `cancelRuns`: a run knows which were before it.
  var epoch: Int { cancels.load(ordering: .acquiring) }

  func cancelRuns(reason: String?) {
    cancelReason.withLock { $0 = reason }
    cancels.add(1, ordering: .acquiringAndReleasing)
    family.cancelRuns(reason: reason) { $0.chainID == ObjectIdentifier(self) }
  }

  func isAsked(since epoch: Int) -> Bool {
    if self.epoch != epoch { return true }
    return family.isTokenTaken && family.token.isCancelled
  }

  func request(since epoch: Int) -> Cancellation? {
    if let request = family.tokenIfTaken?.request { return request }
    return self.epoch == epoch ? nil : Cancellation(reason: cancelReason.withLock { $0 })
  }
}
