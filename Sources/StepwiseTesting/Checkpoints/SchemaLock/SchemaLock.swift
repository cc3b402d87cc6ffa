// SPDX-License-Identifier: MIT
// Copyright (c) 2026 Stepwise contributors

public import Stepwise
import StepwiseCheckpoints

#if canImport(FoundationEssentials)
  import FoundationEssentials
#else
  import Foundation
#endif

/// Keeps an edit of a progression from making stored stages unreadable.
///
/// ```swift
/// @Test func storedStagesStayReadable() throws {
///   try SchemaLock(samples: [Import.start(file), .split(lines: ["a"]), .done(count: 1)]).check()
/// }
/// ```
///
/// The first check writes a JSON file beside the test, which you commit: for each case its labels and their types, and the
/// samples as they are stored. Later checks read those samples with the code as it is now, through its migrations. They
/// fail, and say which migration to write, when a sample cannot be read, a label is gone, or the type of one is another.
/// New cases, and labels that may be missing, are added to the file.
public struct SchemaLock<P: Progression & Codable>: Sendable {
  private let samples: [P]
  private let path: String

  /// Makes a lock.
  ///
  /// - Parameters:
  ///   - samples: Stages, at least one for each case, in which optional values are there.
  ///   - file: The path of the JSON file; nil for one that is named for the type, beside the test.
  ///   - test: The path of the test.
  public init(samples: [P], file: String? = nil, test: String = #filePath) {
    self.samples = samples
    if let file {
      path = file
    } else {
      let folder = test.lastIndex(of: "/").map { test[...$0] } ?? ""
      path = folder + "\(P.self).schema.json"
    }
  }

  /// Checks that what is stored can be read, and adds to the file what is new.
  ///
  /// - Returns: Whether the file was written.
  /// - Throws: ``SchemaLockError`` when an edit makes stored stages unreadable; then the file is left as it is. What keeps
  ///   the file from being read or written.
  @discardableResult
  public func check() throws -> SchemaLockResult {
    let coder = StageCoder<P>()
    let current = try currentShapes(coder)
    guard let data = FileManager.default.contents(atPath: path) else {
      try write(SchemaFile(progression: coder.name, versions: ["\(coder.schemaVersion)": current]))
      return .recorded
    }
    var file = try JSONDecoder().decode(SchemaFile.self, from: data)
    let problems = problems(in: file, current, coder)
    guard problems.isEmpty else { throw SchemaLockError(file: path, problems: problems) }
    let key = "\(coder.schemaVersion)"
    var version = file.versions[key] ?? [:]
    for (name, shape) in current { version[name, default: SchemaFile.Case()].add(shape) }
    guard version != file.versions[key] else { return .unchanged }
    file.versions[key] = version
    try write(file)
    return .extended
  }

  /// What the samples look like when they are stored, by case.
  private func currentShapes(_ coder: StageCoder<P>) throws -> [String: SchemaFile.Case] {
    var cases: [String: SchemaFile.Case] = [:]
    for sample in samples {
      let recorder = ShapeRecorder()
      try sample.encode(to: ShapeEncoder(recorder))
      let stored = String(decoding: try coder.encode(sample), as: UTF8.self)
      let shape = SchemaFile.Case(
        types: recorder.types.mapValues { $0.sorted().joined(separator: "|") },
        samples: [stored]
      )
      cases[recorder.firstKey ?? "", default: SchemaFile.Case()].add(shape)
    }
    return cases
  }

  private func problems(
    in file: SchemaFile,
    _ current: [String: SchemaFile.Case],
    _ coder: StageCoder<P>
  ) -> [String] {
    var problems: [String] = []
    if file.progression != coder.name {
      problems.append(
        "The type was stored as \(file.progression) and is now \(coder.name). Go on with the old name: conform to "
          + "VersionedProgression and declare static let progressionName = \"\(file.progression)\"."
      )
    }
    for (version, cases) in file.versions.sorted(by: { $0.key < $1.key }) {
      for (name, stored) in cases.sorted(by: { $0.key < $1.key }) {
        let isCurrent = version == "\(coder.schemaVersion)"
        let edits = isCurrent ? current[name].map(stored.edits) ?? [] : []
        let reason =
          edits.isEmpty ? stored.unreadable(coder, version: Int(version) ?? 0, isGone: current[name] == nil) : nil
        guard let reason = edits.first.map({ _ in edits.joined(separator: ", ") }) ?? reason else { continue }
        problems.append(
          "Stored stages of case \(name), schema version \(version), cannot be read any more: \(reason). "
            + advice(version, name, stored, coder, isCurrent: isCurrent)
        )
      }
    }
    return problems
  }

  private func advice(
    _ version: String,
    _ name: String,
    _ stored: SchemaFile.Case,
    _ coder: StageCoder<P>,
    isCurrent: Bool
  ) -> String {
    let raise = isCurrent ? "Declare static let schemaVersion = \(coder.schemaVersion + 1) and write" : "Write"
    let labels = stored.types.sorted { $0.key < $1.key }.map { "\($0.key): \($0.value)" }.joined(separator: ", ")
    return """
      \(raise) CheckpointMigration(from: \(version)) { (old: \(P.self)V\(version)) in … }, whose \(P.self)V\(version) has \
      the case as it was: \(name) with \(labels.isEmpty ? "nothing" : labels).
      """
  }

  private func write(_ file: SchemaFile) throws {
    let encoder = JSONEncoder()
    encoder.outputFormatting = [.prettyPrinted, .sortedKeys, .withoutEscapingSlashes]
    var data = try encoder.encode(file)
    data.append(UInt8(ascii: "\n"))
    try data.write(to: URL(fileURLWithPath: path), options: .atomic)
  }
}
