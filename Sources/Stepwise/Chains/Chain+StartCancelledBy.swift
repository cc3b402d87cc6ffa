// SPDX-License-Identifier: MIT
// Copyright (c) 2026 Stepwise contributors

extension Chain {
  /// Starts an unstructured run that a token cancels, for code that is not asynchronous.
  ///
  /// The run behaves as if `start(_:)` were called in the body of ``withCancellation(by:isolation:_:)``: cancelling the
  /// token cancels this run and what its steps run, with the token's reason. Other runs of the chain are unaffected. If
  /// the token is already cancelled, the run only calls its `finally` handlers.
  ///
  /// - Parameters:
  ///   - input: The first step's input.
  ///   - token: The token that cancels the run.
  /// - Returns: The handle; releasing it does not cancel the run.
  @discardableResult
  public nonisolated func start(_ input: Input, cancelledBy token: CancellationToken) -> Run<Output> {
    let scope = (CancellationScope.current ?? CancellationScope()).inside(token)
    return CancellationScope.$current.withValue(scope) { start(input) }
  }
}

extension Chain where Input == Void {
  /// Starts an unstructured run that a token cancels; see ``start(_:cancelledBy:)``.
  ///
  /// - Parameter token: The token that cancels the run.
  /// - Returns: The handle; releasing it does not cancel the run.
  @discardableResult
  public nonisolated func start(cancelledBy token: CancellationToken) -> Run<Output> {
    start((), cancelledBy: token)
  }
}
