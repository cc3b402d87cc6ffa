// SPDX-License-Identifier: MIT
// Copyright (c) 2026 Stepwise contributors

import Foundation
public import Stepwise
import StepwiseCheckpoints
import StepwiseFlows

/// Fails a test when an edit of a progression makes stored stages unreadable.
///
/// Add one test for each progression that you store.
///
/// ```swift
/// @Test func `Stored stages stay readable`() throws {
///   try SchemaLock(samples: [Import.start(file), .split(lines: ["a"]), .done(count: 1)]).check()
/// }
/// ```
///
/// The first check writes a JSON file to the hidden folder `.schemas` beside the test, which SwiftPM ignores and you
/// commit. For each case it contains the labels with their types, whether they may be absent (`Int?`) or null
/// (`Int|nil`), and the samples in their stored form. Later checks decode those samples with the current code, through
/// its migrations, and store them again; they also decode them without each value that may be absent or null. A check
/// fails, and names the migration to write, when a sample cannot be decoded, when a label or one of its values is lost,
/// when a sample is decoded as other values, for example because two raw values were swapped, or when a value has a type
/// that cannot represent all of its values, such as `Double` instead of `Int`, or `URL` instead of `String`. New cases,
/// labels that may be absent, and new samples are added to the file. Renaming a property or a case that keeps its key
/// or raw value is not an error.
public struct SchemaLock<P: Progression & Codable>: Sendable {
  let samples: [P]
  let coder = StageCoder<P>()
  private let path: String

  /// Creates a lock.
  ///
  /// - Parameters:
  ///   - samples: Stages that are the same in each check: at least one for each case, and for each case of the enums in
  ///     it, in which optional values are present and lists have an element.
  ///   - file: The path of the JSON file; nil for one that is named after the type, in `.schemas` beside the test.
  ///   - test: The path of the test.
  public init(samples: [P], file: String? = nil, test: String = #filePath) {
    self.samples = samples
    let folder = test.lastIndex(of: "/").map { test[...$0] } ?? ""
    path = file ?? "\(folder).schemas/\(P.self).schema.json"
  }

  /// Checks that stored stages can be read, and adds new ones to the file.
  ///
  /// - Returns: What the check did to the file.
  /// - Throws: ``SchemaLockError`` when an edit makes stored stages unreadable, or when the samples are incomplete;
  ///   then the file is unchanged. An error that prevents writing the file.
  @discardableResult
  public func check() throws -> SchemaLockResult {
    guard !samples.isEmpty else {
      throw SchemaLockError(file: path, problems: ["There are no samples: give at least one for each case."])
    }
    let shapes = try shapes()
    let stored = try storedFile()
    var file = stored ?? SchemaFile(progression: coder.name, versions: [:])
    var cases = file.versions["\(coder.schemaVersion)"] ?? [:]
    let problems = problems(in: file, shapes) + unknownPlaces(shapes, known: cases)
    guard problems.isEmpty else { throw SchemaLockError(file: path, problems: problems) }
    for (name, shape) in shapes { add(shape, to: &cases[name, default: SchemaFile.Case()]) }
    file.versions["\(coder.schemaVersion)"] = cases
    guard file != stored else { return .unchanged }
    try write(file)
    return stored == nil ? .recorded : .extended
  }

  private func storedFile() throws -> SchemaFile? {
    guard let data = FileManager.default.contents(atPath: path) else { return nil }
    do {
      return try JSONDecoder().decode(SchemaFile.self, from: data)
    } catch {
      throw SchemaLockError(
        file: path,
        problems: ["The file is not one of a SchemaLock. Restore it, or remove it to begin with the shape as it is."]
      )
    }
  }

  /// Returns the stored form of the samples, by case.
  private func shapes() throws -> [String: CaseShape] {
    var shapes: [String: CaseShape] = [:]
    for sample in samples {
      let bytes = try coder.encode(sample)
      let text = String(decoding: bytes, as: UTF8.self)
      let stored = try JSONDecoder().decode(JSONValue.self, from: Data(bytes))
      let keys = (stored.value as? [String: JSONValue])?.keys
      // The case of an enum is the only key, unless the enum encodes itself. An enum with raw values is stored as such.
      let isEnum = Mirror(reflecting: sample).displayStyle == .enum
      let isCase = isEnum && keys?.count == 1
      let isRawValue = isEnum && keys == nil && !(stored.value is [JSONValue])
      let name = isCase ? keys?.first ?? "" : isRawValue ? text.filter { $0 != "\"" } : ""
      let shape = shapes[name] ?? CaseShape(isCase: isCase)
      shapes[name] = shape
      shape.samples.append(text)
      try sample.encode(to: ShapeEncoder(shape: shape))
    }
    return shapes
  }

  /// Returns the places of lists that are empty, or of values that are nil, in every sample.
  ///
  /// Their form is unknown, unless the type at another path, or at the same one, shows it.
  private func unknownPlaces(_ shapes: [String: CaseShape], known: [String: SchemaFile.Case]) -> [String] {
    shapes.sorted { $0.key < $1.key }.flatMap { name, shape in
      let types = [shape.types, known[name]?.types ?? [:]].joined()
      func place(_ path: String) -> String {
        (name.isEmpty ? "" : " of case \(name)") + (path.isEmpty ? "" : ": \(path)")
      }
      let empty = shape.unknownCollections.filter { path in
        !types.contains { $0.key.hasPrefix(path + "[]") || $0.key.hasPrefix(path.isEmpty ? "*" : path + ".*") }
      }
      let missing = shape.unknownOptionals.filter { path in
        !types.contains { other, type in
          other == path && !type.kinds.isEmpty || other.hasPrefix(path + ".") || other.hasPrefix(path + "[]")
        }
      }
      return empty.map { "A list has no element in any sample\(place($0)). Give a sample in which it has one." }
        + missing.map { "A value is nil in every sample\(place($0)). Give a sample in which it is not." }
    }
  }

  private func problems(in file: SchemaFile, _ shapes: [String: CaseShape]) -> [String] {
    var problems: [String] = []
    if file.progression != coder.name {
      problems.append(
        "The type was stored as \(file.progression) and is now \(coder.name). Go on with the old name: conform to "
          + "VersionedProgression and declare static let progressionName = \"\(file.progression)\"."
      )
    }
    let knownCases = samples.reduce(into: [String: Set<String>]()) { known, sample in
      known.merge(SchemaReading(of: sample).cases) { $0.union($1) }
    }
    for (version, cases) in file.versions.sorted(by: { $0.key < $1.key }) {
      for (name, stored) in cases.sorted(by: { $0.key < $1.key }) {
        let isCurrent = version == "\(coder.schemaVersion)"
        let reasons =
          isCurrent
          ? edits(of: stored, shapes[name]?.types, name: name, cases: knownCases)
          : unreadable(stored, name: name, version: Int(version) ?? 0)
        guard !reasons.isEmpty else { continue }
        problems.append(
          "Stored stages\(name.isEmpty ? "" : " of case \(name)"), schema version \(version), cannot be read any more: "
            + reasons.joined(separator: ", ") + ". " + advice(version, name, stored, isCurrent: isCurrent)
        )
      }
    }
    return problems
  }

  private func advice(_ version: String, _ name: String, _ stored: SchemaFile.Case, isCurrent: Bool) -> String {
    let raise = isCurrent ? "Declare static let schemaVersion = \(coder.schemaVersion + 1) and write" : "Write"
    let labels = stored.types.sorted { $0.key < $1.key }.map { "\($0.key): \($0.value.rawValue)" }.joined(
      separator: ", "
    )
    let shape = name.isEmpty ? "the properties as they were" : "the case as it was: \(name) with"
    return """
      \(raise) CheckpointMigration(from: \(version)) { (old: \(P.self)V\(version)) in … }, whose \(P.self)V\(version) has \
      \(shape) \(labels.isEmpty ? "nothing" : labels).
      """
  }

  private func write(_ file: SchemaFile) throws {
    let encoder = JSONEncoder()
    encoder.outputFormatting = [.prettyPrinted, .sortedKeys, .withoutEscapingSlashes]
    var data = try encoder.encode(file)
    data.append(UInt8(ascii: "\n"))
    if let slash = path.lastIndex(of: "/") {
      try FileManager.default.createDirectory(atPath: String(path[..<slash]), withIntermediateDirectories: true)
    }
    try data.write(to: URL(fileURLWithPath: path), options: .atomic)
  }
}

/// What a check of a `SchemaLock` did to its file.
///
/// You can ignore it: a change that breaks stored stages throws instead.
public enum SchemaLockResult: Sendable, Hashable {
  /// The file did not exist and was written.
  case recorded

  /// New cases, labels or samples were added.
  case extended

  /// The file is unchanged.
  case unchanged
}

/// An error thrown when an edit makes stored stages unreadable.
///
/// Its description names the edit, and the migration that you need.
public struct SchemaLockError: Error, Sendable, CustomStringConvertible {
  /// The path of the lock's file.
  public let file: String

  /// The stages that cannot be read and the migrations to write, one or two sentences for each case.
  public let problems: [String]

  /// All of the problems.
  public var description: String { (problems + ["What is stored is noted in \(file)."]).joined(separator: "\n") }
}
