// SPDX-License-Identifier: MIT
// Copyright (c) 2026 Stepwise contributors

/// Isolates what has to be called nowhere; see `ChainSegment.recover(_:)`.
@globalActor
@_documentation(visibility: internal)
public actor RecoverReturnsOutput {
  /// The actor that no one runs on.
  public static let shared = RecoverReturnsOutput()
}

// A closure that returns nothing fits a chain of a single expression, whose value the compiler then drops with a
// warning, so that `Chain { (n: Int) in n + 1 }.recover { error in print(error) }` was a `Chain<Int, ()>`. The compiler
// prefers these two, which take such a closure as it is; as members of a protocol they lose against the real ones
// wherever both fit. An unavailable member would lose in any case, so the isolation is what no caller has.
extension ChainSegment {
  /// Explains that the closure returns no output.
  ///
  /// - Parameter replacement: A closure that returns nothing.
  /// - Returns: The chain itself.
  @available(*, deprecated, message: "the closure of 'recover' must return the Output of the chain")
  @available(*, noasync, message: "the closure of 'recover' must return the Output of the chain")
  @_documentation(visibility: internal)
  @RecoverReturnsOutput public func recover(
    _ replacement: nonisolated(nonsending) @escaping @Sendable (any Error) async throws -> Void
  ) -> Chain<Input, Output> {
    appended(to: Chain<Input, Input> { $0 })
  }

  /// Explains that the closure returns no output.
  ///
  /// - Parameters:
  ///   - type: The type of error.
  ///   - replacement: A closure that returns nothing.
  /// - Returns: The chain itself.
  @available(*, deprecated, message: "the closure of 'recover' must return the Output of the chain")
  @available(*, noasync, message: "the closure of 'recover' must return the Output of the chain")
  @_documentation(visibility: internal)
  @RecoverReturnsOutput public func recover<Failure: Error>(
    from type: Failure.Type,
    _ replacement: nonisolated(nonsending) @escaping @Sendable (Failure) async throws -> Void
  ) -> Chain<Input, Output> {
    appended(to: Chain<Input, Input> { $0 })
  }
}
