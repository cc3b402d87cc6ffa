// SPDX-License-Identifier: MIT
// Copyright (c) 2026 Stepwise contributors

import Foundation

/// What the import reads and writes.
actor Warehouse {
  struct PowerCut: Error {}

  private(set) var imported: [Int] = []
  private var remaining: Int

  init(powerCutAfter count: Int = .max) { remaining = count }

  func store(_ number: Int) throws {
    guard remaining > 0 else { throw PowerCut() }
    remaining -= 1
    imported.append(number)
  }
}

/// The shape in which version 1 stored its place.
enum RowImportV1: Codable, Equatable {
  case sum([Int], total: Int)
  case done(total: Int)
}
