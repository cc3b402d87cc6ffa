// SPDX-License-Identifier: MIT
// Copyright (c) 2026 Stepwise contributors

import Foundation
import Stepwise
import StepwiseCheckpoints
import Testing

/// What a durable run leaves in a file when the power fails, and how much it writes.
@Suite(.timeLimit(.minutes(5)))
struct DurablePowerTests {
  /// What the file held after a sync, or during the write after it, and what had happened until then.
  private struct Image {
    let before: Data
    /// The file after the write that a power failure interrupts.
    let after: Data
    let ledger: [String]
  }

  /// Images that are taken at each write of a store.
  private final class Images: Sendable {
    private let state = Lock([Image]())
    var all: [Image] { state.withLock { $0 } }

    func store(over base: FileCheckpointStore, _ ledger: Ledger) -> TappedStore {
      @Sendable func content(_ id: String) -> Data {
        (try? Data(contentsOf: URL(fileURLWithPath: base.location(of: id)))) ?? Data()
      }
      return TappedStore(base: base) { id, write in
        let (before, lines) = (content(id), ledger.lines)
        try await write()
        let image = Image(before: before, after: content(id), ledger: lines)
        self.state.withLock { $0.append(image) }
      }
    }
  }

  /// Returns what a disk may hold when the power fails during a write: the file before, the one after, and for an
  /// appended entry each part of it, with and without zeros in place of the rest.
  private func remains(of image: Image) -> [Data] {
    var remains = [image.before, image.after]
    guard !image.before.isEmpty, image.after.starts(with: image.before) else { return remains }
    for length in stride(from: image.before.count, to: image.after.count, by: 5) {
      let part = image.after.prefix(length)
      remains += [part, part + Data(count: image.after.count - length)]
    }
    return remains
  }

  private func orders(_ directory: TemporaryDirectory, fails: Bool, _ ledger: [String] = []) throws -> (
    Orders, FileCheckpointStore
  ) {
    var orders = Orders()
    let lines = orders.ledger
    for line in ledger { lines.add(line) }
    // It would succeed when it is repeated.
    orders.check = { step in if fails, step == "ship 1", lines.count("ship 1") == 1 { throw Declined(card: "2") } }
    return (orders, try FileCheckpointStore(directory: directory.url))
  }

  // G148
  @Test(arguments: [false, true])
  func `A run is resumed from what a power failure leaves of its file`(fails: Bool) async throws {
    let directory = try TemporaryDirectory(inMemory: true)
    let (first, base) = try orders(directory, fails: fails)
    let images = Images()
    _ = try? await first.chain.run(2, id: "o", in: images.store(over: base, first.ledger))
    #expect(images.all.count >= (fails ? 9 : 7))
    let file = URL(fileURLWithPath: base.location(of: "o"))
    var trials = 0
    for image in images.all {
      for remains in remains(of: image) {
        let (second, base) = try orders(directory, fails: fails, image.ledger)
        if remains.isEmpty { try? FileManager.default.removeItem(at: file) } else { try remains.write(to: file) }
        var error: (any Error)?
        do { _ = try await second.chain.run(2, id: "o", in: base) } catch let thrown { error = thrown }
        let lines = second.ledger.lines
        let undos = lines.filter { $0 == "release" || $0 == "refund receipt" }
        #expect(error is Declined? && Set(undos).count == (error == nil ? 0 : 2), "\(lines)")
        for step in ["reserve", "charge", "ship 0", "ship 1"] {
          // Only what was in progress is repeated.
          let isLast = image.ledger.last == step
          #expect(lines.count { $0 == step } <= (isLast ? 2 : 1) && lines.contains(step), "\(lines)")
        }
        #expect(try await second.chain.unfinished(in: base).isEmpty)
        trials += 1
      }
    }
    #expect(trials > 100)
  }

  /// Otherwise a step could be based on what the disk loses.
  @Test
  func `What a run loads is written again before anything happens`() async throws {
    let directory = try TemporaryDirectory(inMemory: true)
    let (orders, base) = try orders(directory, fails: false)
    var first = orders
    let dying = DyingStore(base)
    first.check = { step in if step == "charge" { dying.die() } }
    _ = try? await first.chain.run(2, id: "o", in: dying)
    let images = Images()
    _ = try await orders.chain.run(2, id: "o", in: images.store(over: base, orders.ledger))
    let image = try #require(images.all.first)
    #expect(image.ledger.filter { $0 != "finally" } == ["reserve", "charge"])
    #expect(image.after != image.before)
  }

  // G148
  @Test
  func `A run writes at most three times its values`() async throws {
    let directory = try TemporaryDirectory(inMemory: true)
    let base = try FileCheckpointStore(directory: directory.url)
    let bytes = Lock(0)
    @Sendable func facts(_ id: String) -> (size: Int, file: UInt64) {
      let facts = try? FileManager.default.attributesOfItem(atPath: base.location(of: id))
      let number = (facts?[.systemFileNumber] as? NSNumber)?.uint64Value ?? 0
      return ((facts?[.size] as? NSNumber)?.intValue ?? 0, number)
    }
    let store = TappedStore(base: base) { id, write in
      let before = facts(id)
      try await write()
      let after = facts(id)
      // A file that was replaced counts as a whole.
      bytes.withLock { $0 += after.file == before.file ? after.size - before.size : after.size }
    }
    let text = String(repeating: "x", count: 1_022)
    let chain = Chain("steps") { (count: Int) in
      for _ in 0..<count { _ = try await step("a") { text } }
      return count
    }
    _ = try await chain.run(1_000, id: "x", in: store)
    let written = bytes.withLock { $0 }
    #expect((1_024_000..<3_072_000).contains(written), "\(written)")
  }
}
