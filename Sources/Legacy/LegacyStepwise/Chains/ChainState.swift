// SPDX-License-Identifier: MIT
// Copyright (c) 2026 Stepwise contributors

/// How a chain ended.
@available(*, deprecated, message: "Use ChainState of Stepwise, whose cases are .resolved, .failed and .cancelled")
public enum ChainState {
  /// The chain ended with the output of its last step.
  @available(*, deprecated, message: "Use .resolved of ChainState of Stepwise")
  case Resolved(Any)

  /// A step failed.
  @available(*, deprecated, message: "Use .failed of ChainState of Stepwise")
  case Errored(any Error)

  /// The chain was cancelled, by this token.
  @available(*, deprecated, message: "Use .cancelled of ChainState of Stepwise")
  case Canceled(CancellationToken)

  /// A Boolean value that indicates whether the chain ended with the output of its last step.
  @available(*, deprecated, message: "Match with `if case .resolved = state`")
  public var resolved: Bool { if case .Resolved = self { true } else { false } }

  /// A Boolean value that indicates whether a step failed.
  @available(*, deprecated, message: "Match with `if case .failed = state`")
  public var errored: Bool { if case .Errored = self { true } else { false } }

  /// A Boolean value that indicates whether the chain was cancelled.
  @available(*, deprecated, message: "Match with `if case .cancelled = state`")
  public var canceled: Bool { if case .Canceled = self { true } else { false } }
}

@available(*, unavailable)
extension ChainState: Sendable {}
