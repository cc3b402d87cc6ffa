// SPDX-License-Identifier: MIT
// Copyright (c) 2026 Stepwise contributors

/// A chain was used in a way that could never end.
public struct ChainError: Error, Hashable, CustomStringConvertible {
  private enum Kind {
    case reentrant
  }

  private let kind: Kind

  /// A run was awaited from inside itself: by `run` of a chain that lets in one at a time, or by its own handle.
  ///
  /// `start`, which queues and does not wait, is what works there.
  public static let reentrant = ChainError(kind: .reentrant)

  /// Matches an error in a `catch` clause.
  public static func ~= (pattern: ChainError, error: any Error) -> Bool { (error as? ChainError) == pattern }

  /// What was wrong and what to do instead.
  public var description: String {
    "a run was awaited from inside one of the chain's own steps or handlers and could never end; use start there"
  }
}
