// SPDX-License-Identifier: MIT
// Copyright (c) 2026 Stepwise contributors

import Foundation
import Stepwise
import StepwiseCheckpoints
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

  @Test(arguments: [SIGINT, SIGTERM])
  func `Ctrl-C cancels what runs, and undoes it before the tool ends`(number: Int32) async throws {
    await #expect(processExitsWith: .exitCode(128 + number)) { [number] in
      let (endless, log) = (Endless(), Recorder<String>())
      let convert = Chain("reserve", undo: { (_: String) in log.record("undone") }) { (file: String) in file }
        .then("convert") { file in try await endless(file) }
        .finally { state in log.record("\(state)") }
      let file = "a.txt"
      @Sendable func show(_ fraction: Double) {}
      func exit(_ code: Int32) -> Never {
        let isUndone = log.elements == ["undone", "cancelled: \(number == SIGINT ? "SIGINT" : "SIGTERM")"]
        Foundation.exit(isUndone ? code : 1)
      }
      Task {
        await endless.begun.elements(atLeast: 1)
        kill(getpid(), number)
      }
      let code = try await withTerminationSignals {
        let run = convert.start(file)
        for await progress in run.progress { show(progress.fractionCompleted) }
        switch await run.outcome {
        case .resolved: return EXIT_SUCCESS
        case .failed(let error): throw error
        case .cancelled(let cancellation): return 128 + (cancellation.reason == "SIGTERM" ? SIGTERM : SIGINT)
        }
      }
      exit(code)
    }
  }

  @Test func `A run that a signal has stopped is cancelled for good, and undone`() async throws {
    let (store, log, begun, token) = (MemoryCheckpointStore(), Recorder<String>(), Once<Void>(), CancellationToken())
    let order = Chain("order") { (cart: Int) in
      try await step("reserve") {
        cart
      } undo: { _ in
        log.record("released")
      }
      try await step("ship") {
        begun.settle(())
        await token.waitForCancellation()
        try Task.checkCancellation()
      }
      return cart
    }
    let run = order.start(7, id: "order-7", in: store, cancelledBy: token)
    await begun.valueIgnoringCancellation()
    token.cancel(reason: "SIGINT")
    await #expect(throws: CancellationError.self) { try await run.value }
    #expect(log.elements.isEmpty)

    try await order.cancel(id: "order-7", in: store)
    _ = try? await order.resume(id: "order-7", in: store)

    #expect(log.elements == ["released"])
    #expect(try await order.unfinished(in: store).isEmpty)
  }
}
