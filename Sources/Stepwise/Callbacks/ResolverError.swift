// SPDX-License-Identifier: MIT
// Copyright (c) 2026 Stepwise contributors

/// An error that a resolver fails with when its callback delivers neither a value nor an error.
///
/// Two errors are equal when they have the same cause, so that you can compare with ``abandoned`` and
/// ``noValueAndNoError``, also in a `catch` clause.
public struct ResolverError: Error, Hashable, CustomStringConvertible {
  package enum Cause {
    case abandoned, noValueAndNoError
  }

  private let cause: Cause

  /// The file in which the resolver was created.
  public let file: String

  /// The line at which the resolver was created.
  public let line: UInt

  package init(_ cause: Cause, file: String, line: UInt) {
    self.cause = cause
    self.file = file
    self.line = line
  }

  /// For comparison: the resolver was released without being called.
  public static let abandoned = ResolverError(.abandoned, file: "", line: 0)

  /// For comparison: the callback delivered neither a value nor an error.
  public static let noValueAndNoError = ResolverError(.noValueAndNoError, file: "", line: 0)

  /// Returns a Boolean value that indicates whether two errors have the same cause.
  public static func == (left: ResolverError, right: ResolverError) -> Bool { left.cause == right.cause }

  /// Matches an error in a `catch` clause.
  public static func ~= (pattern: ResolverError, error: any Error) -> Bool { (error as? ResolverError) == pattern }

  /// Hashes the cause, consistently with `==`.
  public func hash(into hasher: inout Hasher) { hasher.combine(cause) }

  /// What went wrong, where the resolver was created, and how to fix it.
  public var description: String {
    switch cause {
    case .abandoned:
      "resolver created at \(file):\(line) was released without being resolved; call `resolve` or `fail` on every path"
    case .noValueAndNoError:
      "the callback of the resolver created at \(file):\(line) delivered neither a value nor an error"
    }
  }
}
