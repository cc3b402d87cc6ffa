// SPDX-License-Identifier: MIT
// Copyright (c) 2026 Stepwise contributors

/// Records what your steps and handlers report, in order, for a test to wait for and compare.
///
/// Use it instead of sleeping until a handler may have been called.
///
/// ```swift
/// let calls = Recorder<String>()
/// let run = chain.finally { _ in calls.record("finally") }.start(input)
/// await calls.elements(atLeast: 1)
/// ```
///
/// You can use it from any thread.
public final class Recorder<Element: Sendable>: Sendable {
  private let recorded = Watched<[Element]>([])

  /// Creates an empty recorder.
  public init() {}

  /// What has been recorded so far, oldest first.
  public var elements: [Element] {
    recorded.read { $0 }
  }

  /// Appends an element, and resumes the tasks that wait for it.
  ///
  /// Does not suspend.
  public func record(_ element: Element) {
    recorded.mutate { $0.append(element) }
  }

  /// Appends each element of a sequence as it arrives, until the sequence ends.
  ///
  /// Suspends while the sequence runs. Most sequences end when the task is cancelled.
  /// - Throws: The error of the sequence; earlier elements stay recorded.
  public nonisolated(nonsending) func record<Elements: AsyncSequence>(
    contentsOf sequence: Elements
  ) async throws(Elements.Failure) where Elements.Element == Element {
    for try await element in sequence {
      record(element)
    }
  }

  /// Suspends until at least that many elements are recorded, and returns all of them.
  ///
  /// Returns early, with the elements so far, when the waiting task is cancelled.
  @discardableResult
  public nonisolated(nonsending) func elements(atLeast count: Int) async -> [Element] {
    await recorded.wait { $0.count >= count }
    return elements
  }

  /// Suspends until an element satisfies a condition, and returns the first such element.
  ///
  /// Elements that were recorded before the call count as well.
  /// - Parameter condition: Returns whether an element matches; called once for each element, in order.
  /// - Returns: The element; nil when the waiting task is cancelled first.
  public nonisolated(nonsending) func first(where condition: (Element) throws -> Bool) async rethrows -> Element? {
    var seen = 0
    while true {
      let elements = elements
      for element in elements[seen...] where try condition(element) { return element }
      seen = elements.count
      guard !Task.isCancelled else { return nil }
      await recorded.wait { [seen] in $0.count > seen }
    }
  }
}
