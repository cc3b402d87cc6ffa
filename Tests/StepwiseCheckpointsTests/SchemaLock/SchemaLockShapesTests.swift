// SPDX-License-Identifier: MIT
// Copyright (c) 2026 Stepwise contributors

import Foundation
import Stepwise
import StepwiseCheckpoints
import StepwiseTesting
import Testing

/// What a lock makes of shapes other than an enum with labels.
@Suite(.timeLimit(.minutes(10))) struct SchemaLockShapesTests: SchemaLockSuite {
  private let directory: TemporaryDirectory
  let file: String

  init() throws {
    directory = try TemporaryDirectory()
    file = directory.url.appendingPathComponent("Work.schema.json").path
  }

  enum Raw: String, Sampled { case a, b, c }
  enum RawRenamed: String, Sampled { case a, bb, c }

  @Test func `A renamed raw value needs a migration`() throws {
    try check([Raw.a, .b, .c], .recorded)
    try check([Raw.a, .b, .c], .unchanged)
    refuse([RawRenamed.a, .bb, .c], "case b,", "was removed or renamed", "CheckpointMigration(from: 0)")
  }

  struct Table: Sampled { var step: Int, name: String, tags: [String] }
  struct TableWithout: Sampled { var step: Int, tags: [String] }
  struct TableText: Sampled { var step: String, name: String, tags: [String] }
  struct TableMore: Sampled { var step: Int, name: String, tags: [String], more: Int? }

  @Test func `A struct is locked by its properties`() throws {
    try check([Table(step: 1, name: "n", tags: ["t"])], .recorded)
    let text = try String(contentsOfFile: file, encoding: .utf8)
    for line in [#""step" : "Int""#, #""name" : "String""#, #""tags[]" : "String""#] { #expect(text.contains(line)) }
    refuse([TableWithout(step: 1, tags: ["t"])], "name (String) is gone", "step: Int")
    refuse([TableText(step: "1", name: "n", tags: ["t"])], "step")
    try check([TableMore(step: 1, name: "n", tags: ["t"], more: 1)], .extended)
  }

  enum Kind: String, Codable, Sendable { case x, y }
  enum KindRenamed: String, Codable, Sendable { case x, z }
  enum Nested: Sampled { case work(kind: Kind) }
  enum NestedRenamed: Sampled { case work(kind: KindRenamed) }

  /// Both samples are of one case and of one type.
  @Test func `Every sample is stored`() throws {
    try check([Nested.work(kind: .x), .work(kind: .y)], .recorded)
    refuse([NestedRenamed.work(kind: .x), .work(kind: .z)], "case work", "y")
  }

  enum Lists: Sampled { case work(lines: [String], by: [String: Int]) }
  enum NoLists: Sampled { case work(by: [String: Int]) }

  @Test func `A list without elements needs a sample`() throws {
    refuse([Lists.work(lines: [], by: ["a": 1])], "no element", "case work: lines")
    refuse([Lists.work(lines: ["a"], by: [:])], "no element", "case work: by")
    try check([Lists.work(lines: [], by: ["a": 1]), .work(lines: ["a"], by: [:])], .recorded)
    // What the file knows need not be shown again.
    try check([Lists.work(lines: [], by: [:])], .extended)
    refuse([NoLists.work(by: ["a": 1])], "lines", "is gone")
  }

  struct Node: Codable, Sendable { var children: [Node] = [] }
  enum Tree: Sampled { case work(Node) }

  @Test func `A recursive type has ends`() throws {
    refuse([Tree.work(Node())], "no element")
    try check([Tree.work(Node(children: [Node()]))], .recorded)
  }

  enum Numbers: Sampled { case work(Int, Double) }
  enum Wider: Sampled { case work(Int64, Double) }
  enum Fractions: Sampled { case work(Double, Double) }
  enum Narrower: Sampled { case work(Int32, Double) }
  enum Whole: Sampled { case work(Int, Int) }

  @Test func `A number type may widen and not narrow`() throws {
    try check([Numbers.work(1, 1)], .recorded)
    refuse([Narrower.work(1, 1)], "_0 was Int and is Int32")
    refuse([Whole.work(1, 1)], "_1 was Double and is Int")
    try check([Wider.work(1, 1)], .extended)
    refuse([Fractions.work(1, 1)], "_0 was Int64 and is Double")
  }

  struct Forgetful: Sampled {
    var size = 1
    init() {}
    init(from decoder: any Decoder) throws {}
  }

  struct Remembering: Sampled { var size = 5 }

  @Test func `A value that decodes as another is lost`() throws {
    try check([Remembering()], .recorded)
    refuse([Forgetful()], "size (Int) was 5 and is read as 1")
  }

  enum Sets: Sampled, Equatable { case work(Set<String>) }

  @Test func `A set has one shape in any order`() throws {
    let words = (0..<40).map { "word \($0)" }
    try check([Sets.work(Set(words))], .recorded)
    for _ in 0..<10 {
      var set = Set<String>(minimumCapacity: Int.random(in: 40...400))
      for word in words.shuffled() { set.insert(word) }
      try check([Sets.work(set)], .unchanged)
    }
  }

  @Test func `Missing samples are an error`() {
    refuse([Raw](), "no samples")
  }

  @Test func `A file of another kind is an error`() throws {
    try Data("junk".utf8).write(to: URL(fileURLWithPath: file))
    refuse([Raw.a], "not one of a SchemaLock")
  }
}
