// SPDX-License-Identifier: MIT
// Copyright (c) 2026 Stepwise contributors

/// A reusable piece of a chain, for ``Chain/appending(_:)``: a ``Step``, another ``Chain``, or a type you write.
///
/// Write a type to reuse a group of steps with parameters:
///
/// ```swift
/// struct Decoded<Value: Decodable & Sendable>: ChainSegment {
///   let maxAttempts: Int
///
///   func appended<Start: Sendable>(to chain: Chain<Start, URL>) -> Chain<Start, Value> {
///     chain
///       .then("fetch") { url in try await fetch(url) }
///       .then("decode") { data in try JSONDecoder().decode(Value.self, from: data) }
///       .retry(RetryPolicy(maxAttempts: maxAttempts, backoff: .none))
///   }
/// }
/// ```
public protocol ChainSegment<Input, Output>: Sendable {
  /// The output of the previous step.
  associatedtype Input: Sendable

  /// The output of the chain that ends with this segment.
  associatedtype Output: Sendable

  /// Appends this segment to a chain.
  ///
  /// - Parameter chain: The preceding steps; the chain is unchanged.
  /// - Returns: A new chain, which ends with this segment.
  func appended<Start: Sendable>(to chain: Chain<Start, Input>) -> Chain<Start, Output>
}

extension Chain {
  /// Appends a step, another chain, or another segment.
  ///
  /// An appended chain keeps its own handlers, policy and token, which apply to its own steps. Its handlers run first;
  /// the handlers of this chain cover the whole. Once the appended chain has completed, its undos belong to the run of
  /// the whole.
  ///
  /// - Parameter segment: Receives the output of the previous step.
  /// - Returns: A new chain; this one is unchanged.
  public nonisolated func appending<Segment: ChainSegment>(_ segment: Segment) -> Chain<Input, Segment.Output>
  where Segment.Input == Output {
    segment.appended(to: self)
  }
}

extension Step: ChainSegment {
  /// Appends this step to a chain.
  ///
  /// - Parameter chain: The preceding steps; the chain is unchanged.
  /// - Returns: A new chain, which ends with this step.
  public func appended<Start: Sendable>(to chain: Chain<Start, Input>) -> Chain<Start, Output> {
    Chain<Start, Output>(chain.path.appending(Chain<Input, Output>.part(self)))
  }
}

extension Chain: ChainSegment {
  /// Appends this chain to another, as one step.
  ///
  /// - Parameter chain: The preceding steps; the chain is unchanged.
  /// - Returns: A new chain, which ends with the steps of this one.
  public nonisolated func appended<Start: Sendable>(to chain: Chain<Start, Input>) -> Chain<Start, Output> {
    let nested = NestedChains([core])
    let code: StepCode = { frame in
      let input: Input = frame.slot.take()
      let child = frame.fork(into: nested, .chain)
      let (output, undos): (Output, [UndoStack.Entry]) = try await nested.cores[0].run(input, as: child)
      await frame.adopt(undos)
      frame.slot.put(output)
    }
    return Chain<Start, Output>(chain.path.appending(.chains(nested, how: "then", code)))
  }
}
