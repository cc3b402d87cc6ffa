// SPDX-License-Identifier: MIT
// Copyright (c) 2026 Stepwise contributors

/// What a callback's resolver ends with when the callback gave neither a value nor an error of its own.
public struct ResolverError: Error, Hashable, CustomStringConvertible {
  /// What went wrong.
  public struct Code: Hashable, Sendable, CustomStringConvertible {
    private enum Kind: String {
      case abandoned, noValueAndNoError
    }

    private let kind: Kind

    /// Every reference to the resolver was let go of, and it had not been called.
    public static let abandoned = Code(kind: .abandoned)

    /// The callback gave neither a value nor an error.
    public static let noValueAndNoError = Code(kind: .noValueAndNoError)

    /// The name of the code.
    public var description: String { kind.rawValue }
  }

  /// What went wrong.
  public let code: Code

  /// The file that made the resolver.
  public let file: String

  /// The line that made the resolver.
  public let line: UInt

  package init(_ code: Code, file: String, line: UInt) {
    self.code = code
    self.file = file
    self.line = line
  }

  /// To compare with: a resolver was let go of without a call.
  public static let abandoned = ResolverError(.abandoned, file: "", line: 0)

  /// To compare with: the callback gave neither a value nor an error.
  public static let noValueAndNoError = ResolverError(.noValueAndNoError, file: "", line: 0)

  /// Errors are equal when their codes are, wherever the resolver was made.
  public static func == (left: ResolverError, right: ResolverError) -> Bool { left.code == right.code }

  /// Matches an error in a `catch` clause.
  public static func ~= (pattern: ResolverError, error: any Error) -> Bool { (error as? ResolverError) == pattern }

  /// Hashes the code alone, as `==` compares it.
  public func hash(into hasher: inout Hasher) { hasher.combine(code) }

  /// What went wrong, where the resolver was made, and how to mend it.
  public var description: String {
    switch code {
    case .abandoned:
      "the resolver made at \(file):\(line) was let go of without a call; call resolve or fail on every path of the callback"
    default:
      "the callback of the resolver made at \(file):\(line) gave neither a value nor an error"
    }
  }
}
