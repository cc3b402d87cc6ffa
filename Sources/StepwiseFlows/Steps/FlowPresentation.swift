// SPDX-License-Identifier: MIT
// Copyright (c) 2026 Stepwise contributors

/// How a step's screen is shown.
public struct FlowPresentation: Hashable, Sendable, CustomStringConvertible {
  enum Kind: String {
    case push, replace, present
  }

  let kind: Kind

  /// Pushed on top of the others, until its step leaves the path or the flow ends.
  public static let push = FlowPresentation(kind: .push)

  /// Replaces the topmost screen, until its step leaves the path.
  ///
  /// It stays when the flow ends.
  public static let replace = FlowPresentation(kind: .replace)

  /// Presented over all others, until the presentation of the step ends.
  public static let present = FlowPresentation(kind: .present)

  /// The name of the presentation.
  public var description: String { kind.rawValue }
}
