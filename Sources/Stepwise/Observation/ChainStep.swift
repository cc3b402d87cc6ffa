// SPDX-License-Identifier: MIT
// Copyright (c) 2026 Stepwise contributors

/// A step of a chain, as events name it.
public struct ChainStep: Hashable, Sendable, CustomStringConvertible {
  /// Its place in the chain, from 0; the steps of a nested chain are counted where it stands.
  public let index: Int

  /// Its name, if it was given one.
  public let name: String?

  package init(index: Int, name: String?) {
    self.index = index
    self.name = name
  }

  /// The name, or the place, counted from 1, of a step that has none.
  public var description: String { name ?? "step \(index + 1)" }
}
