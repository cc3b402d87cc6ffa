// SPDX-License-Identifier: MIT
// Copyright (c) 2026 Stepwise contributors

/// How a step's screen is shown.
public struct FlowPresentation: Hashable, Sendable, CustomStringConvertible {
  enum Kind: String {
    case push, replace, present
  }

  let kind: Kind

  /// On top of the others, until its step leaves the path or the flow has ended.
  public static let push = FlowPresentation(kind: .push)

  /// In the place of the topmost one, until its step leaves the path; when the flow ends it stays.
  public static let replace = FlowPresentation(kind: .replace)

  /// Over all others, until the ask has ended.
  public static let present = FlowPresentation(kind: .present)

  /// The name of the presentation.
  public var description: String { kind.rawValue }
}
