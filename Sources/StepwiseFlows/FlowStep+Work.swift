// SPDX-License-Identifier: MIT
// Copyright (c) 2026 Stepwise contributors

public import Stepwise

extension FlowStep where Content: Sendable {
  /// Creates a step that runs a chain: its content is the chain's input, and its result is the chain's output.
  ///
  /// An error of the chain fails the flow, unless `on(_:ended:)` handles it. Cancelling the presentation cancels the
  /// run.
  ///
  /// - Parameters:
  ///   - name: The name of the step in events, errors, diagrams and answer logs.
  ///   - chain: The chain to run.
  public convenience init(_ name: String, running chain: Chain<Content, Result>) {
    self.init(name: name) { _, content, _ in
      do {
        return FlowEnd(try await chain.outcome(of: content))
      } catch {
        return .ended(.failed(error))
      }
    }
  }

  /// Creates a step that runs a progression: its content selects the first stage, and its result is the progression's.
  ///
  /// ```swift
  /// let open = FlowStep("open", running: FileOpen.read)
  /// ```
  ///
  /// - Parameters:
  ///   - name: The name of the step in events, errors, diagrams and answer logs.
  ///   - first: Receives the content and returns the first stage.
  public convenience init<P: Progression>(
    _ name: String,
    running first: nonisolated(nonsending) @escaping @Sendable (Content) async throws -> P
  ) where P.Result == Result {
    self.init(name, running: Chain(name, running: first))
  }
}

extension FlowStep {
  /// Creates a step that runs another flow: its result is the flow's output.
  ///
  /// Going back from the first step of that flow goes back from this step. Every other end of the flow ends this step
  /// in the same way.
  ///
  /// - Parameters:
  ///   - name: The name of the step in events, errors, diagrams and answer logs.
  ///   - makeFlow: Receives the content and returns the flow, each time the step is presented.
  public convenience init(_ name: String, flow makeFlow: @escaping @MainActor (Content) -> Flow<Result>) {
    self.init(name: name, flow: { makeFlow($0).definition }) { _, content, context in
      await makeFlow(content).present(in: context)
    }
  }
}

extension FlowStep where Content == Void {
  /// Creates a step that runs another flow: its result is the flow's output.
  ///
  /// - Parameters:
  ///   - name: The name of the step in events, errors, diagrams and answer logs; the flow's name when nil.
  ///   - flow: The flow to run.
  public convenience init(_ name: String? = nil, flow: Flow<Result>) {
    self.init(name ?? flow.name, flow: { (_: Void) in flow })
  }
}
