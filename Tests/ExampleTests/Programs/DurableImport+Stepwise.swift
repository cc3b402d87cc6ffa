// SPDX-License-Identifier: MIT
// Copyright (c) 2026 Stepwise contributors

import Foundation
import Stepwise
import StepwiseCheckpoints

enum RowImport: VersionedProgression, Codable, Equatable {
  case rows([Int], next: Int, total: Int)
  case done(total: Int)

  @TaskLocal static var warehouse = Warehouse()
  static let schemaVersion = 2
  static let migrations: [CheckpointMigration<RowImport>] = [
    CheckpointMigration(from: 1) { (old: RowImportV1) in
      switch old {
      case .sum(let rows, let total): .rows(rows, next: 0, total: total)
      case .done(let total): .done(total: total)
      }
    }
  ]

  func next() async throws -> RowImport {
    guard case .rows(let rows, let next, let total) = self else { return try completed() }
    guard next < rows.count else { return .done(total: total) }
    try await Self.warehouse.store(rows[next])
    return .rows(rows, next: next + 1, total: total + rows[next])
  }

  var result: Int? { if case .done(let total) = self { total } else { nil } }
}

func importWithStepwise(_ rows: [Int], into warehouse: Warehouse, folder: URL) async throws -> Int {
  let store = try FileCheckpointStore(directory: folder)
  return try await RowImport.$warehouse.withValue(warehouse) {
    try await RowImport.rows(rows, next: 0, total: 0).run(id: "rows", in: store)
  }
}
