// SPDX-License-Identifier: MIT
// Copyright (c) 2026 Stepwise contributors

/// A step of a chain, as events, `onError` and ``Run/failedStep`` name it.
public struct ChainStep: Hashable, Sendable, CustomStringConvertible {
  /// The position in the chain, starting at 0.
  ///
  /// The steps of a nested chain are counted at its position.
  public let index: Int

  /// The name, if the step has one.
  public let name: String?

  package init(index: Int, name: String?) {
    self.index = index
    self.name = name
  }

  /// The name, or the position, counted from 1, of a step without a name.
  public var description: String { name ?? "step \(index + 1)" }
}
