// SPDX-License-Identifier: MIT
// Copyright (c) 2026 Stepwise contributors

import Stepwise
import StepwiseCheckpoints
import Testing

/// A stage that cannot be stored is an error that says which, where and why, in few words.
@Suite(.timeLimit(.minutes(10))) struct UnencodableTests {
  enum Growing: Progression, Codable, Equatable {
    case tree(Tree), poison(Poison)
    var result: Int? { nil }
    @concurrent func next() async throws -> Growing {
      guard case .tree(.node(let first)) = self else { return .poison(Poison()) }
      var tree = first
      for _ in 0..<2_000 { tree = .node(tree) }
      return .tree(tree)
    }
  }

  indirect enum Tree: Codable, Sendable, Equatable { case leaf, node(Tree) }

  struct Poison: Codable, Sendable, Equatable {
    func encode(to encoder: any Encoder) throws {
      throw EncodingError.invalidValue(self, EncodingError.Context(codingPath: [], debugDescription: "it is poison"))
    }
  }

  @Test(arguments: [Growing.tree(.leaf), .tree(.node(.leaf))])
  func aStageThatCannotBeEncodedIsNamedInFewWords(start: Growing) async throws {
    let store = MemoryCheckpointStore()
    let error = await #expect(throws: CheckpointError.self) { try await start.run(id: "import-7", in: store) }
    guard case .unencodable("import-7", "memory", let reason) = error else {
      Issue.record("it is \(String(describing: error))")
      return
    }
    let text = error.map { "\($0)" } ?? ""
    #expect(text.hasPrefix("checkpoint \"import-7\" at memory: "))
    #expect(text.contains(reason) && text.count < 600, "\(text)")
    if start == .tree(.leaf) { #expect(reason == "it is poison") }
    // The stage before is kept, and the id is free.
    #expect(try await store.load("import-7")?.version == 1)
    try await store.remove("import-7")
  }

  @Test func aFirstStageThatCannotBeEncodedIsNamed() async throws {
    let store = MemoryCheckpointStore()
    let error = await #expect(throws: CheckpointError.self) {
      try await Growing.poison(Poison()).run(id: "a", in: store)
    }
    if case .unencodable("a", _, "it is poison") = error {} else { Issue.record("it is \(String(describing: error))") }
    #expect(try await store.load("a") == nil)
  }
}
