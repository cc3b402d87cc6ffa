// SPDX-License-Identifier: MIT
// Copyright (c) 2026 Stepwise contributors

import Foundation
import Stepwise
import StepwiseCheckpoints
import StepwiseTesting
import Testing

/// Programs, each written with Stepwise and in plain Swift: both do the same.
@Suite(.timeLimit(.minutes(5)))
struct ProgramTests {
  // MARK: Index pipeline

  private static let indexers: [@Sendable (Library, AsyncStream<Void>) async -> Void] = [
    indexWithStepwise, indexInPlainSwift,
  ]

  @Test func `The index is written after a retry`() async throws {
    for indexer in Self.indexers {
      try await simulate(seed: 1) { clock in
        let library = Library(documents: ["a": "one two", "b": "two", "c": "three"], clock: clock)
        await indexer(library, AsyncStream { _ in })
        let shown = library.console.elements
        try require(shown.last == "indexed 3 words" && shown.contains("publish 100 %"), "\(shown)")
        try require(await library.index == ["one": 1, "two": 2, "three": 1], "the index differs")
        try require(await !library.isOpen, "the library is open")
      }
    }
  }

  @Test func `A failure removes the index`() async throws {
    for indexer in Self.indexers {
      try await simulate(seed: 1) { clock in
        let library = Library(documents: ["a": "one"], publishes: false, clock: clock)
        await indexer(library, AsyncStream { _ in })
        try require(library.console.elements.last == "failed: Refused()", "\(library.console.elements)")
        let (index, isOpen) = (await library.index, await library.isOpen)
        try require(index == nil && !isOpen, "the index was not removed")
      }
    }
  }

  @Test func `An interrupt stops the index`() async throws {
    for indexer in Self.indexers {
      try await simulate(seed: 1) { clock in
        let library = Library(documents: ["a": "one", "z": ""], clock: clock)
        let (interrupts, interrupt) = AsyncStream<Void>.makeStream()
        async let end: Void = indexer(library, interrupts)
        try await clock.sleep(for: .seconds(5))
        interrupt.yield()
        await end
        try require(library.console.elements.last == "stopped: Ctrl-C", "\(library.console.elements)")
        try require(await !library.isOpen, "the library is open")
      }
    }
  }

  // MARK: Callback bridge

  @Test(arguments: [
    (Scanner.Behaviour.scans, "4711: 3.50", ["start"]),
    (.scansTwice, "4711: 3.50", ["start"]),
    (.fails, "Jammed", ["start"]),
    (.isSilent, "timed out", ["start", "stop", "discarded late"]),
  ])
  func `The scanner is bridged`(behaviour: Scanner.Behaviour, expected: String, log: [String]) async throws {
    for program in [scanWithStepwise, scanInPlainSwift] {
      try await simulate(seed: 1) { clock in
        let scanner = Scanner(behaviour)
        let found: String
        do {
          found = try await program(scanner, clock, CancellationToken())
        } catch is TimeoutError {
          found = "timed out"
        } catch is NoAnswer {
          found = "timed out"
        } catch {
          found = String(describing: type(of: error))
        }
        try require(found == expected, found)
        try require(scanner.log.elements == log, "\(scanner.log.elements)")
      }
    }
  }

  @Test func `A token stops the scanner`() async throws {
    for program in [scanWithStepwise, scanInPlainSwift] {
      try await simulate(seed: 1) { clock in
        let (scanner, token) = (Scanner(.isSilent), CancellationToken())
        async let end = program(scanner, clock, token)
        try await clock.sleep(for: .seconds(1))
        token.cancel(reason: "left")
        let isCancelled: Bool
        do {
          _ = try await end
          isCancelled = false
        } catch { isCancelled = error is CancellationError }
        try require(isCancelled, "not cancelled")
        try require(scanner.log.elements == ["start", "stop", "discarded late"], "\(scanner.log.elements)")
      }
    }
  }

  // MARK: Durable import

  @Test func `The import resumes after a power cut`() async throws {
    for program in [importWithStepwise, importInPlainSwift] {
      let folder = FileManager.default.temporaryDirectory.appending(path: "programs-\(UUID().uuidString)")
      defer { try? FileManager.default.removeItem(at: folder) }
      let first = Warehouse(powerCutAfter: 2)
      await #expect(throws: Warehouse.PowerCut.self) { _ = try await program([1, 2, 3, 4], first, folder) }
      let second = Warehouse()
      #expect(try await program([1, 2, 3, 4], second, folder) == 10)
      #expect(await first.imported + second.imported == [1, 2, 3, 4])
      #expect(try await program([1, 2, 3, 4], Warehouse(), folder) == 10)
    }
  }

  @Test func `The import reads what version 1 stored`() async throws {
    let folder = FileManager.default.temporaryDirectory.appending(path: "programs-\(UUID().uuidString)")
    defer { try? FileManager.default.removeItem(at: folder) }
    let store = try FileCheckpointStore(directory: folder)
    let lease = try await store.acquire("rows")
    let first = try Array(JSONEncoder().encode(RowImportV1.sum([5], total: 0)))
    let old = try Array(JSONEncoder().encode(RowImportV1.sum([5], total: 10)))
    let name = RowImport.progressionName
    let record = CheckpointRecord(id: "rows", progression: name, schemaVersion: 1, version: 1, first: first, stage: old)
    try await store.save(record, ifVersionIs: nil, under: lease)
    try await store.release(lease)
    #expect(try await importWithStepwise([5], into: Warehouse(), folder: folder) == 15)

    let plain = folder.appending(path: "plain")
    try FileManager.default.createDirectory(at: plain, withIntermediateDirectories: true)
    try Data(#"{"version":1,"rows":[5],"total":10,"isDone":false}"#.utf8).write(to: plain.appending(path: "rows.json"))
    #expect(try await importInPlainSwift([5], into: Warehouse(), folder: plain) == 15)
  }

  // MARK: Terminal wizard

  @Test @MainActor func `The wizard goes back and resumes`() async throws {
    for program in [orderWithStepwise, orderInPlainSwift] {
      let terminal = Terminal(["Ann", "<", "Bob", "L", "many", "2", "!"])
      let (unfinished, answers) = try await program(terminal, nil)
      #expect(unfinished == nil)
      #expect(
        terminal.shown == [
          "Name?", "Size, Ann?", "Name?", "Size, Bob?", "How many?", "How many?", "2 × L for Bob?",
        ]
      )
      let later = Terminal(["n", "3", "y"])
      let (order, _) = try await program(later, answers)
      #expect(order == Order(name: "Bob", size: "L", count: 3))
      #expect(later.shown == ["2 × L for Bob?", "How many?", "3 × L for Bob?"])
    }
  }

  // MARK: Jobs

  @Test(arguments: [
    ("Prince", ["Loading", "Looking up Prince", "1999 by Prince", "Done"]),
    ("Unknown", ["Loading", "Looking up Unknown", "Not found", "Done"]),
  ])
  @MainActor func `The job reports its progress`(artist: String, expected: [String]) async {
    let (first, second) = (TrackScreen(), TrackScreen())
    let server = MusicServer(clock: ManualClock())
    _ = await TrackLoader(server, first).load(artist).outcome
    await PlainTrackLoader(server, second).load(artist).value
    #expect(first.shown == expected)
    #expect(second.shown == expected)
  }

  @Test @MainActor func `The job times out and is cancelled`() async {
    let (first, second) = (TrackScreen(), TrackScreen())
    let clock = ManualClock()
    let server = MusicServer(clock: clock)
    let (loader, plain) = (TrackLoader(server, first), PlainTrackLoader(server, second))
    let expected = ["Loading", "Looking up Slow", "The server does not answer", "Done"]
    let run = loader.load("Slow")
    await clock.sleepers(atLeast: 2)
    clock.advance(by: .seconds(30))
    _ = await run.outcome
    let task = plain.load("Slow")
    await clock.sleepers(atLeast: 2)
    clock.advance(by: .seconds(30))
    await task.value
    #expect(first.shown == expected)
    #expect(second.shown == expected)
    let (cancelled, alsoCancelled) = (loader.load("Prince"), plain.load("Prince"))
    loader.cancel()
    plain.cancel()
    _ = await cancelled.outcome
    await alsoCancelled.value
    #expect(first.shown == expected)
    #expect(second.shown == expected)
  }

  // MARK: Server

  @Test func `The server answers 5,000 requests and shuts down`() async {
    let backend = Backend()
    let server = RequestServer(backend)
    let runs = (0..<5_000).map { server.serve(Request(id: $0)) }
    await backend.clock.sleepers(atLeast: 50)
    await server.shutDown()
    var answers: [String: Int] = [:]
    for run in runs { answers[run.isFinished ? Self.kind(await run.outcome) : "unfinished", default: 0] += 1 }
    #expect(answers["unfinished"] == nil)
    #expect(answers["failed"] == backend.failures.elements.count)
    #expect(answers["cancelled", default: 0] >= 50)
    #expect(await backend.connections == 0)
  }

  @Test func `The server in plain Swift does the same`() async {
    let backend = Backend()
    let server = PlainRequestServer(backend)
    let tasks = (0..<5_000).map { server.serve(Request(id: $0)) }
    await backend.clock.sleepers(atLeast: 50)
    await server.shutDown()
    var failures = 0
    for task in tasks { if case .failure(is Unauthorized) = await task.result { failures += 1 } }
    #expect(failures == backend.failures.elements.count)
    #expect(await backend.connections == 0)
  }

  private static func kind(_ outcome: Outcome<String>) -> String {
    switch outcome {
    case .resolved: "resolved"
    case .failed: "failed"
    case .cancelled: "cancelled"
    }
  }

  // MARK: Photo album

  private static let publishers: [@Sendable (String, Studio) async throws -> String] = [
    { try await publishWithStepwise($0, in: $1) }, { try await publishInPlainSwift($0, in: $1) },
  ]

  @Test func `The album is published and the folder is removed`() async throws {
    for publish in Self.publishers {
      let studio = Studio()
      #expect(try await publish("Paris", studio) == "Paris")
      #expect(await studio.gallery == ["Paris": (1...5).map { "small Paris \($0)" }])
      #expect(await studio.folders.isEmpty)
      #expect(studio.console.elements == [])
    }
  }

  @Test(arguments: ["download", "scale", "reserve", "upload"])
  func `A failure is named and leaves no files`(step: String) async throws {
    for publish in Self.publishers {
      let studio = Studio(broken: step)
      await #expect(throws: Studio.Broken.self) { try await publish("Paris", studio) }
      #expect(studio.console.elements == ["\(step) failed: Broken()"])
      let (folders, reserved) = (await studio.folders, await studio.reserved)
      #expect(folders.isEmpty && reserved.isEmpty)
    }
  }
}
