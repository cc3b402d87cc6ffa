// SPDX-License-Identifier: MIT
// Copyright (c) 2026 Stepwise contributors

/// Which answers a flow stores in its log.
public struct FlowLogging: Hashable, Sendable {
  let keepsAll: Bool

  /// The answers along the path.
  ///
  /// Going back and forth does not use more memory.
  public static let path = FlowLogging(keepsAll: false)

  /// All answers, including those of steps that the user has left with back.
  public static let all = FlowLogging(keepsAll: true)
}
