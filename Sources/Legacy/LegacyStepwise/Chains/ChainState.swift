// SPDX-License-Identifier: MIT
// Copyright (c) 2026 Stepwise contributors

internal import Stepwise

/// How a chain has ended.
@available(*, deprecated, message: "Use ChainState of Stepwise, whose cases are .resolved, .failed and .cancelled")
public enum ChainState {
  /// It ended with the output of its last step.
  @available(*, deprecated, renamed: "resolved")
  case Resolved(Any)

  /// A step failed.
  @available(*, deprecated, renamed: "failed")
  case Errored(any Error)

  /// It was cancelled, by this token.
  @available(*, deprecated, renamed: "cancelled")
  case Canceled(CancellationToken)

  /// Whether it ended with the output of its last step.
  @available(*, deprecated, message: "Match with `if case .resolved = state`")
  public var resolved: Bool { if case .Resolved = self { true } else { false } }

  /// Whether a step failed.
  @available(*, deprecated, message: "Match with `if case .failed = state`")
  public var errored: Bool { if case .Errored = self { true } else { false } }

  /// Whether it was cancelled.
  @available(*, deprecated, message: "Match with `if case .cancelled = state`")
  public var canceled: Bool { if case .Canceled = self { true } else { false } }

  init(_ outcome: Outcome<any AnySent>, token: CancellationToken) {
    switch outcome {
    case .resolved(let content): self = .Resolved(content.erased)
    case .failed(let error): self = .Errored(error)
    case .cancelled(let cancellation):
      if !token.cancelled {
        // Somebody cancelled the Task, or the new chain, that this one is a part of.
        let own = CancellationToken()
        own.cancel(reason: cancellation.reason)
        self = .Canceled(own)
      } else {
        self = .Canceled(token)
      }
    }
  }
}

@available(*, unavailable)
extension ChainState: Sendable {}
