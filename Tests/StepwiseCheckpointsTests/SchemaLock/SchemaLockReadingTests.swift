// SPDX-License-Identifier: MIT
// Copyright (c) 2026 Stepwise contributors

import Foundation
import Stepwise
import StepwiseCheckpoints
import StepwiseTesting
import Testing

/// Edits after which stored bytes are read as another value, or only some of them can be read.
@Suite(.timeLimit(.minutes(10))) struct SchemaLockReadingTests {
  private let directory: TemporaryDirectory
  private let file: String

  init() throws {
    directory = try TemporaryDirectory()
    file = directory.url.appendingPathComponent("Work.schema.json").path
  }

  enum Old<Value: Codable & Sendable>: Sampled { case go(value: Value) }
  enum New<Value: Codable & Sendable>: Sampled { case go(value: Value) }

  /// Returns the problem of an edit; nil when it is none.
  private func edit<Before: Codable & Sendable, After: Codable & Sendable>(
    _ before: [Before],
    _ after: [After]
  ) throws -> String? {
    try? FileManager.default.removeItem(atPath: file)
    try SchemaLock(samples: before.map { Old.go(value: $0) }, file: file).check()
    #expect(try SchemaLock(samples: before.map { Old.go(value: $0) }, file: file).check() == .unchanged)
    do {
      try SchemaLock(samples: after.map { New.go(value: $0) }, file: file).check()
      return nil
    } catch let error as SchemaLockError {
      return error.description
    }
  }

  enum Colour: String, Codable, Sendable { case red, green }
  enum Swapped: String, Codable, Sendable {
    case red = "green"
    case green = "red"
  }
  enum Crimson: String, Codable, Sendable {
    case crimson = "red"
    case green
  }
  enum Level: Int, Codable, Sendable { case low, mid, high }
  enum Reordered: Int, Codable, Sendable { case mid, low, high }
  enum Inserted: Int, Codable, Sendable { case zero, low, mid, high }
  enum Appended: Int, Codable, Sendable { case low, mid, high, top }
  enum Tiny: Int, Codable, Sendable { case tiny, mid, high }

  @Test
  func `Moving a raw value to another case is an error, renaming is not`() throws {
    #expect(try edit([Colour.red, .green], [Swapped.red, .green])?.contains("was .green and is read as .red") == true)
    #expect(try edit([Colour.red, .green], [Crimson.crimson, .green]) == nil)
    let levels = [Level.low, .mid, .high]
    #expect(try edit(levels, [Reordered.low, .mid, .high])?.contains("go.value was .low") == true)
    #expect(try edit(levels, [Inserted.low, .mid, .high])?.contains("is read as .zero") == true)
    #expect(try edit(levels, [Inserted.low, .mid, .high, .zero]) != nil)
    #expect(try edit(levels, [Appended.low, .mid, .high, .top]) == nil)
    #expect(try edit(levels, [Tiny.tiny, .mid, .high]) == nil)
  }

  enum Grade: Int, Codable, Sendable, CaseIterable { case low, mid, high }
  enum Graded: Int, Codable, Sendable, CaseIterable { case low, high, mid }

  @Test
  func `The declared raw values are locked, also those without a sample`() throws {
    #expect(try edit([Grade.low], [Graded.low])?.contains("go.value.high was 2 and is read as 1") == true)
    #expect(try edit([Grade.low], [Grade.mid]) == nil)
  }

  struct Instant: Codable, Sendable { var date: Date }
  struct Since1970: Codable, Sendable {
    var date: Date
    init(date: Date) { self.date = date }
    enum CodingKeys: CodingKey { case date }
    init(from decoder: any Decoder) throws {
      let container = try decoder.container(keyedBy: CodingKeys.self)
      date = Date(timeIntervalSince1970: try container.decode(Double.self, forKey: .date))
    }
    func encode(to encoder: any Encoder) throws {
      var container = encoder.container(keyedBy: CodingKeys.self)
      try container.encode(date.timeIntervalSince1970, forKey: .date)
    }
  }

  @Test
  func `A date that is read as another one is an error`() throws {
    let date = Date(timeIntervalSinceReferenceDate: 700_000_000.25)
    #expect(try edit([Instant(date: date)], [Since1970(date: date)])?.contains("go.value.date was") == true)
    #expect(try edit([1.5], [date])?.contains("value was Double and is Date") == true)
    #expect(try edit([1], [date]) != nil)
    #expect(try edit([date], [date.timeIntervalSinceReferenceDate]) == nil)
  }

  @Test
  func `A type that does not read back each text is an error`() throws {
    let url = try #require(URL(string: "http://host/a"))
    let id = UUID()
    #expect(try edit([url.absoluteString], [url])?.contains("value was String and is URL") == true)
    #expect(try edit([id.uuidString], [id])?.contains("value was String and is UUID") == true)
    #expect(try edit(["AQID"], [Data([1, 2, 3])])?.contains("value was String and is Data") == true)
    #expect(try edit(["red"], [Colour.red])?.contains("value was String and is enum of String") == true)
    #expect(try edit([1], [Level.mid])?.contains("value was Int and is enum of Int") == true)
    #expect(try edit([Data([1, 2, 3])], ["AQID"])?.contains("value was Data and is String") == true)
    #expect(try edit([url], [url.absoluteString]) == nil)
    #expect(try edit([id], [id.uuidString]) == nil)
    #expect(try edit([Colour.red], ["red"]) == nil)
    #expect(try edit([Level.mid], [1]) == nil)
  }

  @Test
  func `A collection that cannot have all elements or keys is an error`() throws {
    #expect(try edit([[1]], [Set([1])])?.contains("value was Array and is Set") == true)
    #expect(try edit([Set([1])], [[1]]) == nil)
    #expect(try edit([["1": 1]], [[1: 1]])?.contains("value.{key} was String and is Int") == true)
    #expect(try edit([[1: 1]], [["1": 1]]) == nil)
  }

  struct Point: Codable, Sendable { var x: Int, y: Int }
  struct SwappedKeys: Codable, Sendable {
    var x: Int, y: Int
    enum CodingKeys: String, CodingKey {
      case x = "y"
      case y = "x"
    }
  }
  struct RenamedProperty: Codable, Sendable {
    var width: Int, y: Int
    enum CodingKeys: String, CodingKey {
      case width = "x"
      case y
    }
  }
  struct Pair: Codable, Sendable {
    var x: Int, y: Int
    init(x: Int, y: Int) { (self.x, self.y) = (x, y) }
    init(from decoder: any Decoder) throws {
      var container = try decoder.unkeyedContainer()
      (x, y) = (try container.decode(Int.self), try container.decode(Int.self))
    }
    func encode(to encoder: any Encoder) throws {
      var container = encoder.unkeyedContainer()
      try container.encode(x)
      try container.encode(y)
    }
  }
  struct TurnedPair: Codable, Sendable {
    var x: Int, y: Int
    init(x: Int, y: Int) { (self.x, self.y) = (x, y) }
    init(from decoder: any Decoder) throws {
      var container = try decoder.unkeyedContainer()
      (y, x) = (try container.decode(Int.self), try container.decode(Int.self))
    }
    func encode(to encoder: any Encoder) throws {
      var container = encoder.unkeyedContainer()
      try container.encode(y)
      try container.encode(x)
    }
  }

  @Test
  func `Swapping keys of one type is an error, renaming a property is not`() throws {
    let points = [Point(x: 1, y: 2)]
    #expect(try edit(points, [SwappedKeys(x: 1, y: 2)])?.contains("go.value.x was 1 and is read as 2") == true)
    #expect(try edit(points, [RenamedProperty(width: 1, y: 2)]) == nil)
    #expect(try edit([Pair(x: 1, y: 2)], [TurnedPair(x: 1, y: 2)])?.contains("go.value.x was 1") == true)
  }

  enum Ends: Sampled { case a, b }
  enum SwappedEnds: Sampled {
    case b, a
    enum CodingKeys: String, CodingKey {
      case b = "a"
      case a = "b"
    }
  }
  enum RenamedEnds: Sampled {
    case first, b
    enum CodingKeys: String, CodingKey {
      case first = "a"
      case b
    }
  }

  @Test
  func `Swapping the stored names of cases is an error`() throws {
    try SchemaLock(samples: [Ends.a, .b], file: file).check()
    let error = #expect(throws: SchemaLockError.self) {
      try SchemaLock(samples: [SwappedEnds.a, .b], file: file).check()
    }
    #expect(error?.description.contains("was .a and is read as .b") == true)
    try SchemaLock(samples: [RenamedEnds.first, .b], file: file).check()
  }

  struct Cached: Codable, Sendable {
    var size = 1
    var id = UUID()
    var loads = 0
    enum CodingKeys: CodingKey { case size }
  }

  @Test
  func `A property that is not stored is not locked`() throws {
    #expect(try edit([Cached(loads: 3)], [Cached(loads: 5)]) == nil)
  }
}
