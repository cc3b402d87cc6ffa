// SPDX-License-Identifier: MIT
// Copyright (c) 2026 Stepwise contributors

import StepwiseTesting

/// The world of the index pipeline: a disk with documents that is busy now and then, and a console.
actor Library {
  struct Busy: Error {}
  struct Refused: Error {}

  nonisolated let console = Recorder<String>()
  nonisolated let clock: ManualClock
  private let documents: [String: String]
  private let publishes: Bool
  private var reads: [String: Int] = [:]
  private(set) var index: [String: Int]?
  private(set) var isOpen = true

  init(documents: [String: String], publishes: Bool = true, clock: ManualClock) {
    self.clock = clock
    self.documents = documents
    self.publishes = publishes
  }

  func names() -> [String] { documents.keys.sorted() }

  /// Fails at the first attempt for names that begin with "b"; waits for ever for those that begin with "z".
  func read(_ name: String) async throws -> String {
    reads[name, default: 0] += 1
    if name.hasPrefix("b"), reads[name] == 1 { throw Busy() }
    if name.hasPrefix("z") { try await clock.sleep(for: .seconds(1_000_000)) }
    return documents[name] ?? ""
  }

  func write(_ index: [String: Int]) -> Int {
    self.index = index
    return index.count
  }

  func removeIndex() { index = nil }

  func publish(_ count: Int) throws -> Int {
    guard publishes else { throw Refused() }
    return count
  }

  func close() { isOpen = false }
}

/// How often each word occurs.
func countedWords(_ texts: [String]) -> [String: Int] {
  Dictionary(texts.flatMap { $0.split(separator: " ") }.map { (String($0), 1) }, uniquingKeysWith: +)
}
