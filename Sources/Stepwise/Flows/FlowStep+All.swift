// SPDX-License-Identifier: MIT
// Copyright (c) 2026 Stepwise contributors

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
      switch await askAll(all) {
      case .failure(let ending): return .ended(ending.ending)
      case .success(let boxes):
        var position = 0
        func next<Value: Sendable>(_ type: Value.Type) throws -> Value {
          defer { position += 1 }
          guard let box = boxes[position] as? Box<Value> else {
            throw FlowError(.wrongAnswer, step: all[position].name)
          }
          return box.value
        }
        do {
          let results: Result = (repeat try next((each StepResult).self))
          return .answered(Box(results))
        } catch {
          return .ended(.failed(error))
        }
      }
    }
  }

  /// Returns a step that presents any number of steps of one type concurrently; its result consists of theirs, in
  /// order.
  ///
  /// - Parameters:
  ///   - name: The name of the step in events, errors, diagrams and answer logs; the names of the steps when nil.
  ///   - steps: The steps, which must be distinct and have their contents.
  /// - Returns: A step.
  public static func all<StepContent, StepResult: Sendable>(
    name: String? = nil,
    _ steps: [FlowStep<StepContent, StepResult>]
  ) -> FlowStep where Content == Void, Result == [StepResult] {
    let name = name ?? steps.map(\.name).joined(separator: " + ")
    let group = FlowGroup<Void>(steps: steps, content: {}, store: { _ in [] })
    return FlowStep(name: name, group: group) { _, _, _ in
      switch await askAll(steps) {
      case .failure(let ending): .ended(ending.ending)
      case .success(let boxes): .answered(Box(boxes.compactMap { ($0 as? Box<StepResult>)?.value }))
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

/// The first ending without a result.
private struct FirstEnding: Error {
  let ending: FlowEnding
}

@MainActor
private func askAll(_ steps: [AnyFlowStep]) async -> Result<[any AnyBox], FirstEnding> {
  await withTaskGroup(of: (Int, FlowEnd).self) { group in
    var first: FirstEnding?
    var boxes: [Int: any AnyBox] = [:]
    for (index, step) in steps.enumerated() {
      group.addTask { (index, await askApart(step)) }
    }
    for await (index, end) in group {
      switch end {
      case .answered(let box): boxes[index] = box
      case .ended(let ending):
        if first == nil { first = FirstEnding(ending: ending) }
        group.cancelAll()
      }
    }
    if let first { return .failure(first) }
    return .success(steps.indices.compactMap { boxes[$0] })
  }
}

@MainActor
private func askApart(_ step: AnyFlowStep) async -> FlowEnd {
  let context = FlowPresentationContext()
  let end = await step.present(in: context)
  _ = context.shown?.finish(above: EmptyCollection())
  return end
}
