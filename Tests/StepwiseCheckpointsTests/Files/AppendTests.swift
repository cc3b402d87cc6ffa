// SPDX-License-Identifier: MIT
// Copyright (c) 2026 Stepwise contributors

import Foundation
import StepwiseCheckpoints
import Testing

/// A file to which entries are appended, after a power failure and with damage.
@Suite(.timeLimit(.minutes(2)))
struct AppendTests {
  private let directory: TemporaryDirectory
  private let store: FileCheckpointStore
  private let entries: [[UInt8]] = [Array(1...40), [UInt8](repeating: 3, count: 300), Array(5...90)]

  init() throws {
    directory = try TemporaryDirectory(inMemory: true)
    store = try FileCheckpointStore(directory: directory.url)
  }

  private var file: URL { URL(fileURLWithPath: store.location(of: "a")) }

  /// Stores all entries; returns the sizes of the file with each.
  private func append() async throws -> [Int] {
    let lease = try await store.acquire("a")
    let record = CheckpointRecord(id: "a", progression: "p", schemaVersion: 0, version: 1, first: [1], stage: [])
    try await store.save(record, ifVersionIs: nil, under: lease)
    var sizes: [Int] = []
    for (index, entry) in entries.enumerated() {
      try await store.append(entry, ifVersionIs: UInt64(index) + 1, under: lease)
      sizes.append(try Data(contentsOf: file).count)
    }
    try await store.release(lease)
    return sizes
  }

  // G148
  @Test func `An incomplete entry does not count`() async throws {
    let sizes = try await append()
    let whole = try Data(contentsOf: file)
    for length in sizes[1]...sizes[2] {
      let complete = length == sizes[2] ? 3 : 2
      var zeros = whole.prefix(length)
      try zeros.write(to: file)
      #expect(try await store.entries(of: "a") == Array(entries.prefix(complete)), "\(length)")
      #expect(try await store.load("a")?.version == UInt64(complete) + 1)
      // The file has its new length, and part of the content was not written.
      zeros += Data(count: sizes[2] - length)
      try zeros.write(to: file)
      #expect(try await store.entries(of: "a") == Array(entries.prefix(complete)), "\(length)")
    }
  }

  // G148
  @Test func `The next entry replaces an incomplete one`() async throws {
    let sizes = try await append()
    try Data(contentsOf: file).prefix(sizes[2] - 7).write(to: file)
    let lease = try await store.acquire("a")
    try await store.append([9], ifVersionIs: 3, under: lease)
    try await store.append([10], ifVersionIs: 4, under: lease)
    #expect(try await store.entries(of: "a") == Array(entries.prefix(2)) + [[9], [10]])
    try await store.release(lease)
  }

  // G148
  @Test func `Damage is reported and kept`() async throws {
    let sizes = try await append()
    let whole = try Data(contentsOf: file)
    for position in 0..<sizes[2] {
      var damaged = whole
      damaged[position] ^= 0x41
      try damaged.write(to: file)
      do {
        let read = try await store.entries(of: "a")
        // Only a length of the last entry can be taken for a write that was not completed.
        #expect(position >= sizes[1] && read == Array(entries.prefix(2)), "\(position)")
      } catch is CheckpointError {
        continue
      }
    }
  }

  @Test(arguments: 0...3)
  func `A damaged entry that ends in zeros is not an incomplete write`(zeros: Int) async throws {
    let lease = try await store.acquire("a")
    let record = CheckpointRecord(id: "a", progression: "p", schemaVersion: 0, version: 1, first: [1], stage: [])
    try await store.save(record, ifVersionIs: nil, under: lease)
    try await store.append([7, 8], ifVersionIs: 1, under: lease)
    let start = try Data(contentsOf: file).count
    try await store.append(Array(1...20) + [UInt8](repeating: 0, count: zeros), ifVersionIs: 2, under: lease)
    try await store.release(lease)
    let whole = try Data(contentsOf: file)
    // The content, after the header.
    for position in start + 16..<whole.count - 1 {
      var damaged = whole
      damaged[position] ^= 0x41
      try damaged.write(to: file)
      await #expect(throws: CheckpointError.self, "\(position)") { try await store.entries(of: "a") }
    }
  }
}
