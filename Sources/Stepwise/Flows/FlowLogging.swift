// SPDX-License-Identifier: MIT
// Copyright (c) 2026 Stepwise contributors

/// Which answers a flow keeps.
public struct FlowLogging: Hashable, Sendable {
  let keepsAll: Bool

  /// The answers that led along the path, so that going round in circles does not use memory.
  public static let path = FlowLogging(keepsAll: false)

  /// All answers, those that led back included.
  public static let all = FlowLogging(keepsAll: true)
}
