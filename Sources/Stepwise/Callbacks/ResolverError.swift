// SPDX-License-Identifier: MIT
// Copyright (c) 2026 Stepwise contributors

/// An error that a resolver fails with when its callback delivers neither a value nor an error.
public struct ResolverError: Error, Hashable, CustomStringConvertible {
  /// What went wrong.
  public struct Code: Hashable, Sendable, CustomStringConvertible {
    private enum Kind: String {
      case abandoned, noValueAndNoError
    }

    private let kind: Kind

    /// The resolver was released without being called.
    public static let abandoned = Code(kind: .abandoned)

    /// The callback delivered neither a value nor an error.
    public static let noValueAndNoError = Code(kind: .noValueAndNoError)

    /// The name of the code.
    public var description: String { kind.rawValue }
  }

  /// What went wrong.
  public let code: Code

  /// The file in which the resolver was created.
  public let file: String

  /// The line at which the resolver was created.
  public let line: UInt

  package init(_ code: Code, file: String, line: UInt) {
    self.code = code
    self.file = file
    self.line = line
  }

  /// For comparison: the resolver was released without being called.
  public static let abandoned = ResolverError(.abandoned, file: "", line: 0)

  /// For comparison: the callback delivered neither a value nor an error.
  public static let noValueAndNoError = ResolverError(.noValueAndNoError, file: "", line: 0)

  /// Returns a Boolean value that indicates whether two errors have the same code.
  public static func == (left: ResolverError, right: ResolverError) -> Bool { left.code == right.code }

  /// Matches an error in a `catch` clause.
  public static func ~= (pattern: ResolverError, error: any Error) -> Bool { (error as? ResolverError) == pattern }

  /// Hashes the code, consistently with `==`.
  public func hash(into hasher: inout Hasher) { hasher.combine(code) }

  /// What went wrong, where the resolver was created, and how to fix it.
  public var description: String {
    switch code {
    case .abandoned:
      "resolver created at \(file):\(line) was released without being resolved; call `resolve` or `fail` on every path"
    default:
      "the callback of the resolver created at \(file):\(line) delivered neither a value nor an error"
    }
  }
}
