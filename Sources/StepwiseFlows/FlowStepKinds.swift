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
  /// Creates a step that runs another flow, which names it unless you do; its result is the flow's output.
  public convenience init(_ name: String? = nil, flow: Flow<Result>) {
    self.init(name ?? flow.name, flow: { (_: Void) in flow })
  }
}

// MARK: - Several steps as one

extension FlowStep {
  /// Returns a step that presents several steps concurrently; its result consists of theirs, in order.
  ///
  /// When one of them ends without a result, the others are cancelled and awaited, and this step ends in the same way.
  /// Its content consists of the contents of the steps: it is nil until each has one, and setting it sets each of them.
  /// A tuple is not `Codable`, so a log with such a result cannot be stored.
  ///
  /// - Parameters:
  ///   - name: The name of the step in events, errors, diagrams and answer logs; the names of the steps when nil.
  ///   - steps: The steps, which must be distinct.
  /// - Returns: A step.
  public static func all<each StepContent, each StepResult: Sendable>(
    name: String? = nil,
    _ steps: repeat FlowStep<each StepContent, each StepResult>
  ) -> FlowStep where Content == (repeat each StepContent), Result == (repeat each StepResult) {
    var members: [AnyFlowStep] = []
    repeat members.append(each steps)
    let all = members
    let typed = (repeat each steps)
    let name = name ?? all.map(\.name).joined(separator: " + ")
    let group = FlowGroup<Content>(
      steps: all,
      content: { try? (repeat (each typed).contentToPresent()) },
      store: { contents in
        var deliveries: [@MainActor () -> Void] = []
        if let contents {
          repeat deliveries += (each typed).store(each contents)
        } else {
          repeat deliveries += (each typed).store(nil)
        }
        return deliveries
      }
    )
    return FlowStep(name: name, group: group) { _, _, _ in
      await presentAll(all) { ends in
        var ends = zip(all, ends).makeIterator()
        func next<Value: Sendable>(_ type: Value.Type) throws -> Value {
          guard let (step, end) = ends.next() else { throw CancellationError() }
          return try end.result(of: step.name)
        }
        let results: Result = (repeat try next((each StepResult).self))
        return Box(results)
      }
    }
  }

  /// Returns a step that presents any number of steps of one type concurrently, each with the content that it has.
  public static func all<StepContent, StepResult: Sendable>(
    name: String? = nil,
    _ steps: [FlowStep<StepContent, StepResult>]
  ) -> FlowStep where Content == Void, Result == [StepResult] {
    let name = name ?? steps.map(\.name).joined(separator: " + ")
    let group = FlowGroup<Void>(steps: steps, content: {}, store: { _ in [] })
    return FlowStep(name: name, group: group) { _, _, _ in
      await presentAll(steps) { ends in
        Box(try zip(steps, ends).map { step, end in try end.result(of: step.name) as StepResult })
      }
    }
  }
}

extension FlowStep {
  /// - Throws: ``FlowError/noContent``.
  fileprivate func contentToPresent() throws -> Content {
    guard let content = knownContent else { throw FlowError(.noContent, step: name) }
    return content
  }
}

/// Presents steps concurrently, and combines their results; the first one without a result cancels the others.
@MainActor
private func presentAll(_ steps: [AnyFlowStep], combine: ([FlowEnd]) throws -> any AnyBox) async -> FlowEnd {
  await withTaskGroup(of: (Int, FlowEnd).self) { group in
    var failure: FlowEnd?
    var ends: [Int: FlowEnd] = [:]
    for (index, step) in steps.enumerated() {
      group.addTask { (index, await step.presentAlone()) }
    }
    for await (index, end) in group {
      ends[index] = end
      guard case .ended = end else { continue }
      failure = failure ?? end
      group.cancelAll()
    }
    do {
      return try failure ?? .answered(combine(steps.indices.compactMap { ends[$0] }))
    } catch {
      return .ended(.failed(error))
    }
  }
}
