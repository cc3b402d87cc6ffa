// SPDX-License-Identifier: MIT
// Copyright (c) 2026 Stepwise contributors

import Stepwise
import StepwiseCheckpoints

/// The content of a lock's file.
struct SchemaFile: Codable, Equatable {
  /// A case as it is stored.
  struct Case: Codable, Equatable {
    /// The types of the values, by their paths below the case: `labels.inner`, `list[]`, `dictionary.*`.
    var types: [String: String] = [:]
    /// Stages as they are stored.
    var samples: [String] = []

    /// Adds what another sample shows.
    mutating func add(_ other: Case) {
      let known = types
      types.merge(other.types) { old, new in old == "nil" ? new : old }
      if types != known || samples.isEmpty { samples += other.samples.filter { !samples.contains($0) } }
    }

    /// What was changed so that stored values are lost or mistaken.
    func edits(_ now: Case) -> [String] {
      types.sorted { $0.key < $1.key }.compactMap { path, type in
        guard let new = now.types[path] else { return "\(path) (\(type)) is gone, or in no sample" }
        return new == type || new == "nil" || type == "nil" ? nil : "\(path) was \(type) and is \(new)"
      }
    }

    /// Why a stored stage cannot be read; nil when all can.
    func unreadable<P>(_ coder: StageCoder<P>, version: Int, isGone: Bool) -> String? {
      for sample in samples {
        do {
          _ = try coder.decode(Array(sample.utf8), schemaVersion: version)
        } catch {
          return isGone && version == coder.schemaVersion ? "the case is gone or has another name" : error.reason
        }
      }
      return nil
    }
  }

  var progression: String
  /// The cases, by schema version and name.
  var versions: [String: [String: Case]]
}
