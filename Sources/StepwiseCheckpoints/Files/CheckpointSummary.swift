// SPDX-License-Identifier: MIT
// Copyright (c) 2026 Stepwise contributors

import StepwiseFiles

#if canImport(FoundationEssentials)
  public import FoundationEssentials
#else
  public import Foundation
#endif

/// What a file of a ``FileCheckpointStore`` says about a checkpoint, without its stages.
///
/// Use it to list what your program has not finished, without decoding stages.
public struct CheckpointSummary: Sendable {
  /// What an intact checkpoint contains.
  public struct Content: Sendable, Hashable {
    /// The name of the progression's type.
    public let progression: String

    /// The version of the stored shape of the stages; 0 for a progression that declares none.
    public let schemaVersion: Int

    /// The number of stages saved under the id.
    public let version: UInt64

    /// The codec that has encoded what was stored last; nil when no codec has.
    ///
    /// What is encoded has no ``stage``, no ``failure`` and no ``undoFailures`` here, because this store does not have the
    /// codec.
    public let codec: String?

    /// The name of the last stage as it is stored: the case of an enum; nil for another type.
    public let stage: String?

    /// The error that a durable chain has failed with, in words; nil when it has not failed, and for a progression.
    public let failure: String?

    /// What could not be undone of a durable chain, in the order in which its steps have completed.
    ///
    /// Nothing of it is lost: `resume` tries these undos again.
    public let undoFailures: [UndoFailure]
  }

  /// An undo that has failed.
  public struct UndoFailure: Sendable, Hashable {
    /// The step, with the names of the scopes around it.
    public let step: String

    /// The error, in words.
    public let error: String
  }

  /// The holder of a lease.
  public struct Holder: Sendable, Hashable {
    /// The number of the process; nil when it is unknown, for example because the disk was full.
    public let processID: Int32?
  }

  /// The id; nil when the file is damaged and its name does not contain the id.
  public let id: String?

  /// The path of the file.
  public let location: String

  /// The time of the last save.
  public let lastSave: Date

  /// The size of the file in bytes.
  public let byteCount: Int

  /// The holder of the lease; nil when no run holds the id.
  public let holder: Holder?

  /// The content of the file; nil when it cannot be read, for the reason in ``error``.
  public let content: Content?

  /// Why the file cannot be read: it is damaged, has another format, or reading is not permitted; nil when it can.
  public let error: CheckpointError?
}

extension CheckpointFolder {
  /// Returns a summary of each checkpoint file: those with an id in its order, then the others.
  ///
  /// It only reads, and holds one file at a time in memory.
  func summaries() throws -> [CheckpointSummary] {
    let found = try directory.names().sorted().compactMap { name in
      name.hasSuffix(CheckpointName.suffix) && !name.hasPrefix(".") ? try summary(of: name) : nil
    }
    let known = found.compactMap { found in found.id.map { (id: $0, summary: found.summary) } }
    return known.sorted { $0.id < $1.id }.map(\.summary) + found.filter { $0.id == nil }.map(\.summary)
  }

  /// Returns nil for a file that has been removed.
  private func summary(of name: String) throws -> (id: CheckpointID?, summary: CheckpointSummary)? {
    let file = directory.appending(name)
    guard let facts = try? file.facts() else { return nil }
    var id = CheckpointName.id(in: name)
    var content: CheckpointSummary.Content?
    var failure: CheckpointError?
    do {
      let record = try reading(file, of: id) { file in
        let record = try file.record(of: id)
        guard try CheckpointName(CheckpointID(record.id)).checkpoint == name else {
          throw DataError(reason: "it was stored under the id \"\(record.id)\"")
        }
        guard record.isIntact else { throw DataError(reason: "its checksum does not match its content") }
        return record
      }
      guard let record else { return nil }
      id = try CheckpointID(record.id)
      content = try CheckpointSummary.Content(record, at: file.path)
    } catch let error as CheckpointError {
      failure = error
    } catch let error as FileFailure {
      failure = CheckpointError(error, of: id)
    }
    let summary = CheckpointSummary(
      id: id?.text,
      location: file.path,
      lastSave: Date(timeIntervalSince1970: facts.lastChange),
      byteCount: facts.size,
      holder: id.flatMap(holder(of:)),
      content: content,
      error: failure
    )
    return (id, summary)
  }
}

extension CheckpointSummary.Content {
  init(_ record: CheckpointRecord, at location: String) throws(CheckpointError) {
    progression = record.progression
    schemaVersion = record.schemaVersion
    version = record.version
    codec = record.codec
    let log = codec == nil ? try record.durableRun(at: location).map { DurableLog($0.events) } : nil
    stage = codec == nil && log == nil ? CheckpointSummary.name(ofStage: record.stage) : nil
    failure = if case .concluded(.failed(let failure)) = log?.phase { failure.text } else { nil }
    undoFailures = (log?.undoFailures ?? []).map { .init(step: $0.step, error: $0.failure.text) }
  }
}

extension CheckpointSummary {
  /// The case of an enum: the only key of an object, or a text.
  package static func name(ofStage bytes: [UInt8]) -> String? {
    struct AnyValue: Decodable { init(from decoder: any Decoder) {} }
    let decoder = JSONDecoder()
    switch bytes.first {
    case UInt8(ascii: "\""): return try? decoder.decode(String.self, from: Data(bytes))
    case UInt8(ascii: "{"):
      let object = try? decoder.decode([String: AnyValue].self, from: Data(bytes))
      return object?.count == 1 ? object?.keys.first : nil
    default: return nil
    }
  }
}
