// SPDX-License-Identifier: MIT
// Copyright (c) 2026 Stepwise contributors

import Foundation
import Stepwise
import StepwiseCheckpoints
import StepwiseTesting
import Testing

/// Values that may be absent or null, and numbers that another type does not have.
@Suite(.timeLimit(.minutes(10))) struct SchemaLockValuesTests: SchemaLockSuite {
  private let directory: TemporaryDirectory
  let file: String

  init() throws {
    directory = try TemporaryDirectory()
    file = directory.url.appendingPathComponent("Work.schema.json").path
  }

  enum Maybe: Sampled { case a(x: Int?) }
  enum Always: Sampled { case a(x: Int) }

  @Test
  func `A label that may be absent stays so, although every sample has it`() throws {
    try check([Maybe.a(x: 1)], .recorded)
    refuse([Always.a(x: 1)], "case a", "x (Int?) may be absent in what is stored", "CheckpointMigration(from: 0)")
    try check([Maybe.a(x: 1)], .unchanged)
  }

  @Test
  func `A label that was not optional may become so, and then stays so`() throws {
    try check([Always.a(x: 1)], .recorded)
    try check([Maybe.a(x: 1)], .extended)
    refuse([Always.a(x: 1)], "may be absent")
  }

  struct WithDefault: Sampled {
    var x = 1
    enum CodingKeys: CodingKey { case x }
    init() {}
    init(from decoder: any Decoder) throws {
      x = try decoder.container(keyedBy: CodingKeys.self).decodeIfPresent(Int.self, forKey: .x) ?? 0
    }
  }
  struct WithOptional: Sampled { var x: Int? = 1 }

  @Test
  func `A type that reads absent values in its own way is no error`() throws {
    try check([WithOptional()], .recorded)
    try check([WithDefault()], .unchanged)
    try check([WithOptional()], .unchanged)
  }

  enum MaybeList: Sampled { case a(x: [Int?], by: [String: Int?]) }
  enum AlwaysList: Sampled { case a(x: [Int], by: [String: Int]) }

  @Test
  func `Elements that may be null stay so`() throws {
    try check([MaybeList.a(x: [1], by: ["k": 1])], .recorded)
    let text = try String(contentsOfFile: file, encoding: .utf8)
    for line in [#""x[]" : "Int|nil""#, #""by.*" : "Int|nil""#] { #expect(text.contains(line), "\(text)") }
    refuse([AlwaysList.a(x: [1], by: ["k": 1])], "x[] (Int|nil) may be null", "by.* (Int|nil) may be null")
  }

  struct Inner: Codable, Sendable { var deep: String? = "d" }
  struct Optionals: Sampled {
    var bool: Bool? = true
    var text: String? = "t"
    var int: Int? = 1
    var int8: Int8? = 1
    var int16: Int16? = 1
    var int32: Int32? = 1
    var int64: Int64? = 1
    var uint: UInt? = 1
    var uint8: UInt8? = 1
    var uint16: UInt16? = 1
    var uint32: UInt32? = 1
    var uint64: UInt64? = 1
    var float: Float? = 1
    var double: Double? = 1
    var date: Date? = Date(timeIntervalSince1970: 0)
    var inner: Inner? = Inner()
    var list: [Inner]? = [Inner()]
  }

  @Test
  func `Optional values of all types are recorded`() throws {
    try check([Optionals()], .recorded)
    let lines = try String(contentsOfFile: file, encoding: .utf8).split(separator: "\n")
    for name in Mirror(reflecting: Optionals()).children.compactMap(\.label) + ["inner.deep", "list[].deep"] {
      #expect(lines.contains { $0.contains("\"\(name)\" : \"") && $0.contains("?\"") }, "\(name) is not recorded")
    }
  }

  struct Linked: Codable, Sendable {
    private var link: [Linked] = []
    var next: Linked? { link.first }
    init(_ next: Linked?) { link = next.map { [$0] } ?? [] }
    enum CodingKeys: CodingKey { case next }
    init(from decoder: any Decoder) throws {
      self.init(try decoder.container(keyedBy: CodingKeys.self).decodeIfPresent(Linked.self, forKey: .next))
    }
    func encode(to encoder: any Encoder) throws {
      var container = encoder.container(keyedBy: CodingKeys.self)
      try container.encodeIfPresent(next, forKey: .next)
    }
  }
  enum Chained: Sampled { case a(Linked) }

  @Test
  func `A value that is nil in every sample is reported`() throws {
    refuse([Maybe.a(x: nil)], "nil in every sample", "case a: x")
    try check([Maybe.a(x: nil), .a(x: 1)], .recorded)
    try FileManager.default.removeItem(atPath: file)
    refuse([Chained.a(Linked(nil))], "nil in every sample")
    try check([Chained.a(Linked(Linked(nil)))], .recorded)
  }

  enum Numbers<Number: Codable & Sendable>: Sampled { case a(Number) }

  private func changes<Old: Codable & Sendable & Numeric, New: Codable & Sendable & Numeric>(
    _ old: Old.Type,
    _ new: New.Type
  ) throws -> Bool {
    try? FileManager.default.removeItem(atPath: file)
    try check([Numbers<Old>.a(1)], .recorded)
    do {
      try SchemaLock(samples: [Numbers<New>.a(1)], file: file).check()
      return true
    } catch let error as SchemaLockError {
      #expect("\(error)".contains("_0 was \(Old.self) and is \(New.self)"), "\(error)")
      return false
    }
  }

  @Test
  func `A number gets no type that does not have all of its values`() throws {
    #expect(try !changes(Int.self, Float.self))
    #expect(try !changes(Int.self, Double.self))
    #expect(try !changes(UInt64.self, Double.self))
    #expect(try !changes(Int32.self, Float.self))
    #expect(try changes(Int32.self, Double.self))
    #expect(try changes(Int16.self, Float.self))
    #expect(try changes(UInt8.self, Float.self))
    #expect(try changes(Float.self, Double.self))
    #expect(try !changes(Double.self, Float.self))
    #expect(try !changes(Double.self, Int.self))
    #expect(try changes(Int.self, Decimal.self))
    #expect(try !changes(Decimal.self, Double.self))
    #expect(try !changes(Decimal.self, Int.self))
    #expect(try !changes(Double.self, Decimal.self))
    #expect(try changes(UInt32.self, Int64.self))
    #expect(try !changes(UInt64.self, Int64.self))
    #expect(try !changes(Int8.self, UInt64.self))
    #expect(try changes(UInt64.self, Int128.self))
    #expect(try !changes(Int128.self, Int64.self))
    #expect(try changes(Int128.self, Int128.self))
    #expect(try !changes(UInt128.self, Int128.self))
  }

  @Test
  func `Large numbers are compared exactly`() throws {
    try check([Numbers<UInt64>.a(.max), .a(1 << 53 + 1)], .recorded)
    try check([Numbers<UInt64>.a(.max), .a(1 << 53 + 1)], .unchanged)
    refuse([Numbers<Double>.a(1)], "was 18446744073709551615 and is read as")
  }

  @Test
  func `A migration has to read what may be absent`() throws {
    enum Careless: Sampled {
      static let schemaVersion = 1
      static let migrations: [CheckpointMigration<Careless>] = [
        CheckpointMigration(from: 0) { (old: Always) in if case .a(let x) = old { .b(x) } else { .b(0) } }
      ]
      case b(Int)
    }
    enum Careful: Sampled {
      static let schemaVersion = 1
      static let migrations: [CheckpointMigration<Careful>] = [
        CheckpointMigration(from: 0) { (old: Maybe) in if case .a(let x) = old { .b(x ?? 0) } else { .b(0) } }
      ]
      case b(Int)
    }
    try check([Maybe.a(x: 1)], .recorded)
    refuse([Careless.b(1)], "schema version 0", "x (Int?) may be absent")
    try check([Careful.b(1)], .extended)
  }

  @Test
  func `A file gains what may be absent`() throws {
    try check([Maybe.a(x: 1)], .recorded)
    let text = try String(contentsOfFile: file, encoding: .utf8)
    try text.replacingOccurrences(of: "Int?", with: "Int").write(toFile: file, atomically: true, encoding: .utf8)
    try check([Maybe.a(x: 1)], .extended)
    #expect(try String(contentsOfFile: file, encoding: .utf8) == text)
  }

  /// SwiftPM warns of each file in a target that it does not know, except of hidden ones.
  @Test
  func `The file is in a hidden folder beside the test`() throws {
    let tests = directory.url.path + "/Tests"
    try FileManager.default.createDirectory(atPath: tests, withIntermediateDirectories: true)
    let lock = SchemaLock(samples: [Maybe.a(x: 1)], test: tests + "/WorkTests.swift")
    #expect(try lock.check() == .recorded)
    #expect(try FileManager.default.contentsOfDirectory(atPath: tests) == [".schemas"])
    #expect(try FileManager.default.contentsOfDirectory(atPath: tests + "/.schemas") == ["Maybe.schema.json"])
  }
}
