// SPDX-License-Identifier: MIT
// Copyright (c) 2026 Stepwise contributors

/// Transforms elements concurrently, up to a limit, and preserves their order.
func mapped<Elements: Sequence & Sendable, Element: Sendable>(
  _ elements: Elements,
  maxConcurrent: Int,
  _ transform: nonisolated(nonsending) @escaping @Sendable (Elements.Element) async throws -> Element
) async throws -> [Element] where Elements.Element: Sendable {
  try await withThrowingTaskGroup(of: (Int, Element).self) { group in
    var pending = elements.enumerated().makeIterator()
    var results: [Int: Element] = [:]
    /// Returns whether an element was left.
    func addNext() throws -> Bool {
      guard let (index, element) = pending.next() else { return false }
      let awaited = AwaitedTask.make()
      let isAdded = group.addTaskUnlessCancelled {
        (index, try await awaited.run { try await transform(element) })
      }
      guard isAdded else {
        throw CancellationError()
      }
      return true
    }
    var begun = 0
    while begun < max(1, maxConcurrent), try addNext() { begun += 1 }
    while let (index, result) = try await group.next() {
      results[index] = result
      _ = try addNext()
    }
    return (0..<results.count).compactMap { results[$0] }
  }
}
