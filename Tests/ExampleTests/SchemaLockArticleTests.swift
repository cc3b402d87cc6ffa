// SPDX-License-Identifier: MIT
// Copyright (c) 2026 Stepwise contributors

import Foundation
import Stepwise
import StepwiseTesting
import Testing

/// The samples of the page on stored schemas.
@Suite(.timeLimit(.minutes(5)))
struct SchemaLockArticleTests {
  private enum Order: Progression, Codable {
    case placed(items: [String]), paid(receipt: Int, note: String?), sent

    func next() async throws -> Order { try completed() }
    var result: Bool? { if case .sent = self { true } else { nil } }
  }

  enum Renamed: Progression, Codable {
    case placed(products: [String]), paid(receipt: Int, note: String?), sent

    func next() async throws -> Renamed { try completed() }
    var result: Bool? { if case .sent = self { true } else { nil } }
  }

  @Test func `An edit of a label is found`() throws {
    let folder = FileManager.default.temporaryDirectory.appendingPathComponent("lock-\(UUID().uuidString)")
    try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
    defer { try? FileManager.default.removeItem(at: folder) }
    let path = folder.appendingPathComponent("Order.schema.json").path

    let lock = SchemaLock(samples: [Order.placed(items: ["tea"]), .paid(receipt: 7, note: "gift"), .sent], file: path)
    #expect(try lock.check() == .recorded)
    #expect(try lock.check() == .unchanged)
    let error = #expect(throws: SchemaLockError.self) {
      try SchemaLock(
        samples: [Renamed.placed(products: ["tea"]), .paid(receipt: 7, note: "gift"), .sent],
        file: path
      ).check()
    }
    #expect(error?.description.contains("items") == true)
  }
}
