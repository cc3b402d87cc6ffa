// SPDX-License-Identifier: MIT
// Copyright (c) 2026 Stepwise contributors

import Foundation
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
  func `A stage that cannot be encoded is named in few words`(start: Growing) async throws {
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

  @Test func `A first stage that cannot be encoded is named`() async throws {
    let store = MemoryCheckpointStore()
    let error = await #expect(throws: CheckpointError.self) {
      try await Growing.poison(Poison()).run(id: "a", in: store)
    }
    if case .unencodable("a", _, "it is poison") = error {} else { Issue.record("it is \(String(describing: error))") }
    #expect(try await store.load("a") == nil)
  }

  enum Price: Progression, Codable {
    case known(Decimal), next(Decimal)
    var result: Int? { nil }
    @concurrent func next() async throws -> Price { .next(.nan) }
  }

  // G106
  @Test
  func `A stage that cannot be decoded does not replace the previous one`() async throws {
    let store = MemoryCheckpointStore()
    for _ in 0..<2 {
      let error = await #expect(throws: CheckpointError.self) { try await Price.known(1).run(id: "a", in: store) }
      guard case .unencodable("a", "memory", let reason) = error else {
        Issue.record("it is \(String(describing: error))")
        return
      }
      #expect(reason.hasPrefix("it could not be decoded again: "))
      #expect(try await store.load("a")?.version == 1)
    }
    await #expect(throws: CheckpointError.self) { try await Price.known(.nan).run(id: "b", in: store) }
    #expect(try await store.load("b") == nil)
  }

  class Base: Codable, Equatable, @unchecked Sendable {
    var number = 1
    init() {}
    static func == (one: Base, other: Base) -> Bool { type(of: one) == type(of: other) && one.number == other.number }
  }

  final class Derived: Base, @unchecked Sendable {}

  struct Box<Value: Codable & Sendable & Equatable>: Codable, Sendable, Equatable {
    var name = "n"
    var inner: Value
  }

  enum Holding<Value: Codable & Sendable & Equatable>: Progression, Codable, Equatable {
    case begun, done(value: Box<Value>)
    var result: Value? { if case .done(let box) = self { box.inner } else { nil } }
    @concurrent func next() async throws -> Holding { try completed() }
  }

  private func expectChange<Value: Codable & Sendable & Equatable>(
    _ value: Value,
    at path: String,
    sourceLocation: SourceLocation = #_sourceLocation
  ) async throws {
    let store = MemoryCheckpointStore()
    let error = await #expect(throws: CheckpointError.self, sourceLocation: sourceLocation) {
      try await Holding.done(value: Box(inner: value)).run(id: "a", in: store)
    }
    guard case .unencodable("a", _, let reason) = error else {
      Issue.record("it is \(String(describing: error))", sourceLocation: sourceLocation)
      return
    }
    #expect(reason == "\(path) changes when it is stored and decoded", sourceLocation: sourceLocation)
    #expect(try await store.load("a") == nil, sourceLocation: sourceLocation)
  }

  // G106
  @Test
  func `A stage that storing would change is refused with the path`() async throws {
    try await expectChange(Int??.some(nil), at: "done.value.inner")
    try await expectChange([1: [Int??.none, .some(nil)]], at: "done.value.inner[1][1]")
    try await expectChange(Derived() as Base, at: "done.value.inner")
    let relative = try #require(URL(string: "b", relativeTo: URL(string: "http://host/a/")))
    try await expectChange(relative, at: "done.value.inner")
    try await expectChange(["a": [relative]], at: "done.value.inner[a][0]")
    // NaN does not equal itself, and does not change.
    try await expectChange([.url(relative), .number(.nan)] as [Mixed], at: "done.value.inner[0].url")
  }

  enum Mixed: Codable, Sendable, Equatable { case url(URL), number(Double) }

  @Test
  func `A value that is not equal to itself does not change`() async throws {
    let store = MemoryCheckpointStore()
    let stage = Holding.done(value: Box(inner: [.number(.nan), .number(1)] as [Mixed]))
    #expect(try await stage.run(id: "a", in: store).count == 2)
    #expect(try await Holding.done(value: Box(inner: Set([Double.nan, 1]))).run(id: "b", in: store).count == 2)
  }

  @Test(arguments: [250, 255])
  func `What JSON can hold is as deep as before`(levels: Int) throws {
    var tree = Tree.leaf
    for _ in 1..<levels { tree = .node(tree) }
    let stored = (try? JSONEncoder().encode(Growing.tree(tree))) != nil
    #expect(((try? StageCoder<Growing>().encode(.tree(tree))) != nil) == stored)
  }

  struct Values: Codable, Sendable, Equatable {
    var large = Int128.max
    var unsigned: [UInt128?] = [.max, nil]
    var by: [String: Int128] = ["a": .min]
    var numbers: [Double] = [.nan, .infinity].filter { !$0.isNaN }
    var date = Date(timeIntervalSinceReferenceDate: 1.5)
    var data = Data(repeating: 1, count: 1_000)
    var url = URL(fileURLWithPath: "/a/b")
    var decimal = Decimal(string: "1.1")
    var duration = Duration.seconds(3)
    var flag: Bool? = true
    var small: Int8? = nil
  }

  enum Keeping: Progression, Codable, Equatable {
    case begun(Values), done(Values)
    var result: Values? { if case .done(let values) = self { values } else { nil } }
    @concurrent func next() async throws -> Keeping {
      if case .begun(let values) = self { .done(values) } else { try completed() }
    }
  }

  @Test
  func `Values of all kinds can be stored`() async throws {
    let store = MemoryCheckpointStore()
    for _ in 0..<2 { #expect(try await Keeping.begun(Values()).run(id: "a", in: store) == Values()) }
    #expect(try await store.load("a")?.version == 2)
  }
}
