// SPDX-License-Identifier: MIT
// Copyright (c) 2026 Stepwise contributors

extension Chain {
  /// Starts an unstructured run that a token cancels, for code that is not asynchronous.
  ///
  /// It is what `start(_:)` does in the body of ``withCancellation(by:isolation:_:)``: cancelling the token cancels this run, with the
  /// token's reason, and what its steps run. Other runs of the chain are unaffected. If the token is cancelled already, the run
  /// calls its `finally` handlers and nothing else.
  ///
  /// - Parameters:
  ///   - input: The first step's input.
  ///   - token: Cancels the run.
  /// - Returns: The handle; releasing it cancels nothing.
  @discardableResult
  public nonisolated func start(_ input: Input, cancelledBy token: CancellationToken) -> Run<Output> {
    let scope = (CancellationScope.current ?? CancellationScope()).inside(token)
    return CancellationScope.$current.withValue(scope) { start(input) }
  }
}

extension Chain where Input == Void {
  /// Starts an unstructured run that a token cancels; see ``start(_:cancelledBy:)``.
  ///
  /// - Parameter token: Cancels the run.
  /// - Returns: The handle; releasing it cancels nothing.
  @discardableResult
  public nonisolated func start(cancelledBy token: CancellationToken) -> Run<Output> {
    start((), cancelledBy: token)
  }
}
