// SPDX-License-Identifier: MIT
// Copyright (c) 2026 Stepwise contributors

public import Stepwise

@available(*, deprecated)
extension StepChain where StartInput: Sendable, CurrentOutput: Sendable {
  /// The chain as a `Chain`, for callers that have moved: with its steps, its handlers, and its token, as they are now.
  ///
  /// The token ends it for its own part. When a step goes on with another chain, whose output is of another type, it fails.
  @available(*, deprecated, message: "Make it a Chain when its last old caller has moved")
  public var modern: Chain<StartInput, CurrentOutput> {
    Chain<StartInput, Parcel> { Parcel($0) }.then(line.makeChain()).then { try $0.open() }
  }
}

extension Chain {
  /// The chain as a step of an old one, for callers that have not moved.
  ///
  /// Its own handlers and its own token stay with it. Cancelling the old chain cancels it.
  @available(*, deprecated, message: "Use the Chain itself when its last old caller has moved")
  public nonisolated var legacy: StepChain<Input, Output, Input, Output> { StepChain(Part(self)) }
}
