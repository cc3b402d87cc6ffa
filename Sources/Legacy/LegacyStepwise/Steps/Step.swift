// SPDX-License-Identifier: MIT
// Copyright (c) 2026 Stepwise contributors

internal import Stepwise

/// What a step of edition 1 is given: its input, and how to end.
///
/// The first call of `resolve` or `error` ends the step, and later ones change nothing. A step that is let go of without
/// either ends with an error that says so.
@available(*, deprecated, message: "Take the input as the closure's argument, return the output and throw the error")
public struct Step<Input, Output> {
  /// The output of the step before, or what the chain was started with.
  @available(*, deprecated, message: "Use the closure's argument")
  public let input: Input

  private let handler: Handler<Output>

  init(input: Input, resolver: Resolver<Parcel>) {
    self.input = input
    handler = Handler(resolver: resolver)
  }

  /// Ends the step with its output.
  @available(*, deprecated, message: "Return the output")
  public func resolve(_ output: sending Output) { handler.settle(Parcel(output)) }

  /// Ends the step with its output, and lets a chain go on with that, in place of the steps that follow.
  ///
  /// - Parameters:
  ///   - output: The input of the chain.
  ///   - chain: Goes on. Its token is that of the chain it goes on for, and the `onError` of that covers it.
  @available(*, deprecated, message: "Return `try await chain.run(output)` from the last step of a Chain")
  public func resolve<StartOutput, CurrentInput, CurrentOutput>(
    _ output: sending Output,
    then chain: StepChain<Output, StartOutput, CurrentInput, CurrentOutput>
  ) {
    handler.settle(Parcel(output, detour: chain.line))
  }

  /// Ends the step, and with it the chain, with an error.
  @available(*, deprecated, message: "Throw the error")
  public func error(_ error: any Error) { handler.fail(error) }
}

@available(*, deprecated)
extension Step where Output == Void {
  /// Ends the step.
  @available(*, deprecated, message: "Return from the closure")
  public func resolve() { resolve(()) }
}

@available(*, deprecated)
extension Step: Sendable where Input: Sendable {}
