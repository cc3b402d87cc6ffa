// SPDX-License-Identifier: MIT
// Copyright (c) 2026 Stepwise contributors

extension FlowStep where Content: Sendable {
  /// Creates a step that runs a chain: it is asked with the chain's input, and its output is the answer.
  ///
  /// An error of the chain fails the flow, unless `on(_:ended:)` says otherwise. When the ask is cancelled, so is the run.
  ///
  /// - Parameters:
  ///   - name: What events, errors, pictures and answer logs call the step.
  ///   - chain: The work.
  public convenience init(_ name: String, running chain: Chain<Content, Result>) {
    let core = chain.core
    self.init(name: name) { _, content, _ in
      do {
        let conclusion: Conclusion = try await core.runApart(as: nil) { $0.put(content) }
        return FlowEnd(conclusion.outcome.map { $0.value() as Result })
      } catch {
        return .ended(.failed(error))
      }
    }
  }

  /// Creates a step that runs a progression: it is asked with what its first stage needs, and its result is the answer.
  ///
  /// ```swift
  /// let open = FlowStep("open", running: FileOpen.read)
  /// ```
  ///
  /// - Parameters:
  ///   - name: What events, errors, pictures and answer logs call the step.
  ///   - first: Takes the content and gives the stage to begin with.
  public convenience init<P: Progression>(
    _ name: String,
    running first: nonisolated(nonsending) @escaping @Sendable (Content) async throws -> P
  ) where P.Result == Result {
    let core = ChainCore(name: name, Chain<Content, Result>.code(running: first))
    self.init(name, running: Chain<Content, Result>(core: core))
  }
}

extension FlowStep {
  /// Creates a step that is another flow: its output is the answer.
  ///
  /// Going back from the flow's first step is going back from this step. Whatever else ends the flow ends the ask alike.
  ///
  /// - Parameters:
  ///   - name: What events, errors, pictures and answer logs call the step.
  ///   - makeFlow: Gives the flow for a content, each time the step is asked.
  public convenience init(_ name: String, flow makeFlow: @escaping @MainActor (Content) -> Flow<Result>) {
    self.init(name: name, flow: makeFlow) { _, content, context in await makeFlow(content).present(in: context) }
  }
}

extension FlowStep where Content == Void {
  /// Creates a step that is another flow: its output is the answer.
  ///
  /// - Parameters:
  ///   - name: What events, errors, pictures and answer logs call the step; the flow's name when nil.
  ///   - flow: The flow.
  public convenience init(_ name: String? = nil, flow: Flow<Result>) {
    self.init(name ?? flow.name, flow: { (_: Void) in flow })
  }
}
