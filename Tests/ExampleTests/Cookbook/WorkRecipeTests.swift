// SPDX-License-Identifier: MIT
// Copyright (c) 2026 Stepwise contributors

import Foundation
import Stepwise
import StepwiseTesting
import Testing

/// The recipes of the cookbook for delegates and command lines.
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
  @Test
  func `A delegate that is not retained elsewhere lives until its step ends`() async throws {
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

  @Test
  func `Ctrl-C cancels what runs, and undoes it before the tool ends`() async throws {
    await #expect(processExitsWith: .exitCode(3)) {
      let (endless, log) = (Endless(), Recorder<String>())
      let convert = Chain("reserve", undo: { (_: String) in log.record("undone") }) { (file: String) in file }
        .then("convert") { file in try await endless(file) }
        .finally { state in log.record("\(state)") }
      let file = "a.txt"
      @Sendable func show(_ fraction: Double) {}
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
}
