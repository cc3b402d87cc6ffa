// SPDX-License-Identifier: MIT
// Copyright (c) 2026 Stepwise contributors

import Foundation
import Stepwise
import StepwiseCheckpoints
import StepwiseTesting
import Testing

/// A file that is not what was written is damaged, is kept, and is never read as something else.
@Suite(.timeLimit(.minutes(10))) struct DamageTests {
  private let directory: TemporaryDirectory
  private let store: FileCheckpointStore
  private let file: URL

  init() async throws {
    directory = try TemporaryDirectory(inMemory: true)
    store = try FileCheckpointStore(directory: directory.url)
    file = URL(fileURLWithPath: store.location(of: "a"))
    for try await stage in Count.at(0).stages(id: "a", in: store) where stage == .at(2) { break }
  }

  private func expectDamage(_ bytes: Data, _ what: @autoclosure () -> String) async throws {
    try bytes.write(to: file)
    do {
      let record = try await store.load("a")
      Issue.record("\(what()) is read as \(String(describing: record))")
    } catch CheckpointError.damaged("a", file.path, _) {
    } catch {
      Issue.record("\(what()) is reported as \(error)")
    }
  }

  // G113
  @Test func `Every truncation is damage and kept`() async throws {
    let whole = try Data(contentsOf: file)
    for length in 0..<whole.count {
      try await expectDamage(whole.prefix(length), "a file of \(length) bytes")
      await #expect(throws: CheckpointError.self) { try await Count.at(0).run(id: "a", in: store) }
      #expect(try Data(contentsOf: file) == whole.prefix(length))
    }
  }

  // G113
  @Test func `Every flipped bit is damage and is kept`() async throws {
    let whole = try Data(contentsOf: file)
    for bit in 0..<whole.count * 8 {
      var flipped = whole
      flipped[bit / 8] ^= 1 << (bit % 8)
      try await expectDamage(flipped, "a file with bit \(bit) flipped")
      #expect(try Data(contentsOf: file) == flipped)
    }
    let work = try await logged {
      await #expect(throws: CheckpointError.self) { try await Count.at(0).run(id: "a", in: store) }
    }
    #expect(work == [])
    #expect(try await store.list(after: nil, limit: 10).ids == ["a"])
    // A damaged file may be removed.
    try await store.remove("a")
    #expect(try await Count.at(0).run(id: "a", in: store) == "three")
  }

  @Test func `Bytes after the end are damage`() async throws {
    let whole = try Data(contentsOf: file)
    for more in [Data([0]), whole] {
      try await expectDamage(whole + more, "a file of \(whole.count + more.count) bytes")
    }
  }

  @Test func `The file of another id is damage`() async throws {
    let other = URL(fileURLWithPath: store.location(of: "b"))
    try FileManager.default.copyItem(at: file, to: other)
    let error = await #expect(throws: CheckpointError.self) { try await Count.at(0).run(id: "b", in: store) }
    if case .damaged("b", other.path, _) = error {} else { Issue.record("it is \(String(describing: error))") }
  }

  @Test func `A directory or a link in place of the file is not followed`() async throws {
    try FileManager.default.moveItem(at: file, to: directory.url.appendingPathComponent("elsewhere"))
    try FileManager.default.createSymbolicLink(at: file, withDestinationURL: URL(fileURLWithPath: "elsewhere"))
    await expectDamage("it is a symbolic link, which is not followed") { _ = try await store.load("a") }
    try FileManager.default.removeItem(at: file)
    try FileManager.default.createDirectory(at: file, withIntermediateDirectories: false)
    await expectDamage("it is a directory") { _ = try await store.load("a") }
    await expectDamage("it is a directory, which you have to remove yourself") { try await store.remove("a") }
    try FileManager.default.removeItem(at: file)
    try await store.remove("a")
  }

  private func expectDamage(_ words: String, _ body: () async throws -> Void) async {
    let error = await #expect(throws: CheckpointError.self) { try await body() }
    if case .damaged("a", file.path, let reason) = error, reason.contains(words) { return }
    Issue.record("it is \(String(describing: error))")
  }

  @Test func `A file that names no id hides no other`() async throws {
    let ids = ["Q", "W", "E"].map { String(repeating: $0, count: 150) }
    for id in ids { _ = try await Count.at(0).run(id: id, in: store) }
    let files = ids.map { URL(fileURLWithPath: store.location(of: $0)) }
    // Damaged, the file of another id, nothing of the store's, and nothing that can be read.
    try Data("junk".utf8).write(to: files[1])
    try Data(contentsOf: files[0]).write(to: files[2])
    try Data("notes".utf8).write(to: directory.url.appendingPathComponent("notes~1.checkpoint"))
    let link = directory.url.appendingPathComponent("link~1.checkpoint")
    try FileManager.default.createSymbolicLink(at: link, withDestinationURL: link)
    #expect(try await store.list(after: nil, limit: 10).ids == [ids[0], "a"])
    await #expect(throws: CheckpointError.self) { try await store.load(ids[1]) }
  }

  @Test func `A later format is reported as such and kept`() async throws {
    var whole = try Data(contentsOf: file)
    whole[11] = 4
    var sum = CRC64()
    sum.update(Array(whole.prefix(20)))
    sum.update(Array(whole.dropFirst(28)))
    whole.replaceSubrange(20..<28, with: withUnsafeBytes(of: sum.value.bigEndian) { Array($0) })
    try whole.write(to: file)
    let error = await #expect(throws: CheckpointError.self) { try await Count.at(0).run(id: "a", in: store) }
    guard case .newerFormat("a", file.path, 4, 3) = error else {
      Issue.record("it is \(String(describing: error))")
      return
    }
    #expect(try Data(contentsOf: file) == whole)
  }

  @Test(arguments: 0..<4) func `Random files are damage`(seed: Int) async throws {
    let whole = Array(try Data(contentsOf: file))
    let place = open(file.path, O_WRONLY)
    defer { close(place) }
    var random = SeededGenerator(seed: UInt64(seed))
    let pool = (0..<20_000).flatMap { _ in withUnsafeBytes(of: random.next()) { Array($0) } }
    let before = peakOfAddresses()
    for round in 0..<rounds {
      let count = Int(random.next() % 300)
      let start = Int(random.next() % UInt64(pool.count - count))
      var bytes = Array(pool[start..<start + count])
      // Some begin as a checkpoint does, the more truthfully the further they are believed.
      let truth = min(count, [0, 8, 12, 28, 44, 52, 57, whole.count][Int(random.next() % 8)])
      bytes.replaceSubrange(0..<truth, with: whole[..<truth])
      if truth >= 20 {
        bytes.replaceSubrange(12..<20, with: withUnsafeBytes(of: UInt64(count).bigEndian) { Array($0) })
      }
      guard bytes != whole else { continue }
      try #require(pwrite(place, bytes, count, 0) == count && ftruncate(place, off_t(count)) == 0)
      do {
        _ = try await store.load("a")
        Issue.record("random file \(round) is read")
      } catch CheckpointError.damaged {}
    }
    // Lengths that are made up would have been more than all other tests take together.
    #expect(peakOfAddresses() - before < 1 << 40)
  }

  /// Runs in a separate process, whose memory is measured.
  @Test func `An invented length allocates nothing`() async {
    await #expect(processExitsWith: .success) { try await DamageTests().readMadeUpLengths() }
  }

  private func readMadeUpLengths() async throws {
    let whole = try Data(contentsOf: file)
    let before = peakOfAddresses()
    for field in [12, 52, 57] {
      for byte in 0..<8 {
        var bytes = whole
        bytes[field + byte] = 0x7f
        try await expectDamage(bytes, "a file with a length of 127 in byte \(byte)")
      }
    }
    #expect(peakOfAddresses() - before < 1 << 30)
  }

  /// Under ThreadSanitizer fewer, which tell as much of threads.
  private var rounds: Int {
    #if TSAN
      500
    #else
      max(5_000, ProcessInfo.processInfo.environment["STEPWISE_ROUNDS"].flatMap(Int.init) ?? 0)
    #endif
  }

  /// The peak address space of this process, in bytes, where the system reports it.
  private func peakOfAddresses() -> Int {
    guard let status = try? String(contentsOfFile: "/proc/self/status", encoding: .utf8),
      let line = status.split(separator: "\n").first(where: { $0.hasPrefix("VmPeak") }),
      let kilobytes = line.split(whereSeparator: { !$0.isNumber }).first.flatMap({ Int($0) })
    else { return 0 }
    return kilobytes * 1024
  }
}
