// SPDX-License-Identifier: MIT
// Copyright (c) 2026 Stepwise contributors

import Foundation
import StepwiseCheckpoints

/// The directory that an import uses until it has completed.
///
/// It replaces and removes only what an import created.
struct ImportWork {
  static let id = "import"

  let source: ImportSource

  /// Opens the checkpoint in the directory.
  ///
  /// - Throws: `FileError` when the directory or the index contains something that does not belong to this import.
  func open() async throws -> FileCheckpointStore {
    let strangers = try names().filter { !Self.isOwn($0) }.sorted()
    if let stranger = strangers.first {
      let reason = "'\(source.workPath)/\(stranger)' does not belong to the import; move it first"
      throw FileError("import", source.path, because: reason)
    }
    let isIndexThere = (try? FileManager.default.attributesOfItem(atPath: source.indexPath)) != nil
    guard isIndexThere else { return try store() }
    if FileManager.default.fileExists(atPath: source.workPath) {
      let store = try store()
      if let record = try await store.load(Self.id), Self.mayHaveWritten(record) { return store }
    }
    throw FileError("import", source.path, because: "'\(source.indexPath)' is there already; move or remove it first")
  }

  /// Removes what the import has created, and the directory if it is then empty.
  func remove() throws {
    for name in try names() where Self.isOwn(name) {
      try FileManager.default.removeItem(atPath: source.workPath + "/" + name)
    }
    if try names().isEmpty { try FileManager.default.removeItem(atPath: source.workPath) }
  }

  private func store() throws -> FileCheckpointStore {
    try FileCheckpointStore(directory: URL(fileURLWithPath: source.workPath))
  }

  private func names() throws -> [String] {
    guard FileManager.default.fileExists(atPath: source.workPath) else { return [] }
    return try FileManager.default.contentsOfDirectory(atPath: source.workPath)
  }

  private static func isOwn(_ name: String) -> Bool {
    if [".locks", id + ".checkpoint", id + ".temporary", "index.partial"].contains(name) { return true }
    let number = name.hasSuffix(".partial") ? name.dropLast(".partial".count) : name[...]
    return number.hasPrefix("part-") && Int(number.dropFirst("part-".count)) != nil
  }

  /// Whether the import has progressed so far that the index may be its own.
  private static func mayHaveWritten(_ record: CheckpointRecord) -> Bool {
    switch try? JSONDecoder().decode(TextImport.self, from: Data(record.stage)) {
    case .write, .done: true
    case .read, .split, .index, nil: false
    }
  }
}
