// SPDX-License-Identifier: MIT
// Copyright (c) 2026 Stepwise contributors

import Foundation
import Stepwise
import StepwiseCheckpoints
import StepwiseTesting
import Testing

/// The recipes of the cookbook for delegates, imports and command lines.
@Suite(.timeLimit(.minutes(5)))
struct WorkRecipeTests {
  protocol CodeScannerDelegate: AnyObject {
    func didRead(_ code: String)
    func didFail(_ error: any Error)
  }

  /// Calls its delegate, which it does not retain, when the test says so; like those of the system, neither is Sendable.
  final class CodeScanner {
    @MainActor static var latest: CodeScanner?
    static let log = Recorder<String>()

    weak var delegate: (any CodeScannerDelegate)?

    @MainActor init() { Self.latest = self }
    func start() { Self.log.record("start") }
    func stop() { Self.log.record("stop") }
  }

  @MainActor
  final class Scan: @MainActor CodeScannerDelegate {
    private let scanner = CodeScanner()
    private let resolver: Resolver<String>

    init(_ resolver: Resolver<String>) {
      self.resolver = resolver
      scanner.delegate = self
    }

    func start() { scanner.start() }
    func stop() { scanner.stop() }

    func didRead(_ code: String) { resolver.resolve(code) }
    func didFail(_ error: any Error) { resolver.fail(error) }
  }

  @MainActor
  @Test("A delegate that is not retained elsewhere lives until its step ends")
  func delegate() async throws {
    let scan = Step<Void, String>.callback("scan") { @MainActor (_: Void, resolver: Resolver<String>) in
      let scan = Scan(resolver)
      resolver.onCancel { _ in Task { @MainActor in scan.stop() } }
      scan.start()
    }
    let price = Chain(scan).then("price") { code in "\(code): 3.50" }

    let run = price.start()
    await CodeScanner.log.elements(atLeast: 1)
    CodeScanner.latest?.delegate?.didRead("4711")
    #expect(try await run.value == "4711: 3.50")
    #expect(CodeScanner.latest?.delegate == nil)

    let cancelled = price.start()
    await CodeScanner.log.elements(atLeast: 2)
    cancelled.cancel()
    await #expect(throws: CancellationError.self) { try await cancelled.value }
    #expect(await CodeScanner.log.elements(atLeast: 3) == ["start", "start", "stop"])
  }

  enum RowImport: Progression, Codable {
    case rows([Int], next: Int, sum: Int)
    case done(sum: Int)

    func next() async throws -> RowImport {
      guard case .rows(let rows, let next, let sum) = self else { return try completed() }
      guard next < rows.count else { return .done(sum: sum) }
      return .rows(rows, next: next + 1, sum: sum + rows[next])
    }

    var result: Int? { if case .done(let sum) = self { sum } else { nil } }
  }

  @Test("An import resumes from its last row")
  func resumes() async throws {
    let folder = FileManager.default.temporaryDirectory.appendingPathComponent("cookbook-\(UUID().uuidString)")
    defer { try? FileManager.default.removeItem(at: folder) }
    let rows = [1, 2, 3]
    func importRows() async throws -> Int {
      let store = try FileCheckpointStore(directory: folder)
      let sum = try await RowImport.rows(rows, next: 0, sum: 0).run(id: "import-42", in: store)
      try await store.remove("import-42")
      return sum
    }
    do {
      let store = try FileCheckpointStore(directory: folder)
      for try await stage in RowImport.rows(rows, next: 0, sum: 0).stages(id: "import-42", in: store) {
        if case .rows(_, next: 2, _) = stage { break }
      }
    }
    #expect(try await importRows() == 6)
    #expect(try await importRows() == 6)
  }

  @Test("Ctrl-C cancels what runs, and undoes it before the tool ends")
  func interrupts() async throws {
    await #expect(processExitsWith: .exitCode(3)) {
      let (endless, log) = (Endless(), Recorder<String>())
      let convert = Chain("reserve", undo: { (_: String) in log.record("undone") }) { (file: String) in file }
        .then("convert") { file in try await endless(file) }
        .finally { state in log.record("\(state)") }
      let file = "a.txt"
      func show(_ fraction: Double) {}
      Task {
        await endless.begun.elements(atLeast: 1)
        kill(getpid(), SIGINT)
      }
      do {
        try await withTerminationSignals {
          let run = convert.start(file)
          for await progress in run.progress { show(progress.fractionCompleted) }
          try await run.value
        }
      } catch is CancellationError {
        exit(log.elements == ["undone", "cancelled: SIGINT"] ? 3 : 4)
      }
    }
  }

  @Test("A recipe is cancelled at each of its suspension points")
  func everywhere() async throws {
    @Sendable func booking(_ probe: RunProbe) -> Chain<Int, Int> {
      Chain("reserve", undo: { (_: Int) in probe.undone("reserve") }) { (order: Int) in
        try probe.step("reserve")
        try await probe.clock.sleep(for: .seconds(1))
        probe.completed("reserve")
        return order
      }
      .then("charge") { order in
        try probe.step("charge")
        return order
      }
      .timeout(.seconds(30), clock: probe.clock)
      .finally { _ in probe.finalized("close") }
    }
    try await cancelEverywhere(input: 7, booking)
  }
}
