// SPDX-License-Identifier: MIT
// Copyright (c) 2026 Stepwise contributors

import Foundation
import StepwiseTesting
import Testing

@testable import Stepwise

#if !os(iOS) && !os(tvOS) && !os(watchOS) && !os(visionOS)
  /// `withTerminationSignals`, in processes that are really signalled.
  @Suite(.timeLimit(.minutes(5)))
  struct TerminationSignalsTests {
    // MARK: - A tool that is signalled from outside

    // G83
    @Test(
      arguments: [SIGINT, SIGTERM],
      ["plain", "started"]
    )
    func `The first signal cancels and waits for undos and finally`(number: Int32, form: String) async throws {
      let tool = try Tool([form])
      await tool.lines.elements(atLeast: 1)
      tool.signal(number)
      await tool.end()
      let name = number == SIGINT ? "SIGINT" : "SIGTERM"
      #expect(tool.lines.elements == ["begun", "undone", "cancelled: \(name)", "returned"])
      #expect(tool.process.terminationReason == .exit && tool.process.terminationStatus == 0)
    }

    // G83
    @Test(arguments: [SIGINT, SIGTERM], [SIGINT, SIGTERM])
    func `After the first signal either signal ends the tool`(first: Int32, second: Int32) async throws {
      let tool = try Tool(["stubborn"])
      await tool.lines.elements(atLeast: 1)
      tool.signal(first)
      await tool.lines.elements(atLeast: 3)
      tool.signal(second)
      await tool.end()
      #expect(tool.lines.elements == ["begun", "undone", "stubborn"])
      #expect(tool.process.terminationReason == .uncaughtSignal && tool.process.terminationStatus == second)
    }

    // MARK: - A process that signals itself

    // G83
    @Test
    func `A signal that the process ignored before stays ignored`() async {
      await #expect(processExitsWith: .exitCode(4)) {
        signal(SIGINT, SIG_IGN)
        let ignored = try await withTerminationSignals { unsafeBitCast(signal(SIGINT, SIG_IGN), to: Int.self) }
        exit(ignored == unsafeBitCast(SIG_IGN, to: Int.self) ? 4 : 5)
      }
    }

    // G83
    @Test
    func `Nested, concurrent and later calls share one signal handler`() async {
      await #expect(processExitsWith: .exitCode(7)) {
        let (begun, reasons) = (Recorder<Int>(), Recorder<String>())
        @Sendable func wait(_ number: Int) async {
          await withCancellationToken { token in
            begun.record(number)
            await token.waitForCancellation()
            reasons.record("\(number) \(token.reason ?? "none")")
          }
        }
        async let other: Void? = try? withTerminationSignals { await wait(1) }
        async let nested: Void? = try? withTerminationSignals {
          try? await withTerminationSignals { await wait(2) }
          // The other calls have not returned yet.
          try? await withTerminationSignals { await wait(3) }
        }
        async let late: Void? = try? withTerminationSignals {
          await wait(4)
          try? await Task { try await withTerminationSignals { await wait(5) } }.value
        }
        await begun.elements(atLeast: 3)
        kill(getpid(), SIGTERM)
        _ = await (other, nested, late)
        let expected = (1...5).map { "\($0) SIGTERM" }
        exit(reasons.elements.sorted() == expected ? 7 : 8)
      }
    }

    @Test
    func `After the last call returns, the earlier signal action is restored`() async {
      await #expect(processExitsWith: .signal(SIGTERM)) {
        try await withTerminationSignals { try await withTerminationSignals {} }
        kill(getpid(), SIGTERM)
        await Once<Void>().valueIgnoringCancellation()
      }
      await #expect(processExitsWith: .exitCode(9)) {
        signal(SIGINT) { _ in _exit(9) }
        try await withTerminationSignals {}
        kill(getpid(), SIGINT)
        await Once<Void>().valueIgnoringCancellation()
      }
    }

    @Test
    func `A call after one that was cancelled handles the signals again`() async {
      await #expect(processExitsWith: .exitCode(6)) {
        for number in [SIGINT, SIGTERM, SIGINT] {
          let chain = Chain("wait") {
            kill(getpid(), number)
            try await Task.sleep(for: .seconds(3_600))
          }
          let outcome = try await withTerminationSignals { await chain.start().outcome }
          guard outcome.cancellation?.reason == (number == SIGINT ? "SIGINT" : "SIGTERM") else { exit(5) }
        }
        exit(6)
      }
    }

    // MARK: - Without a signal

    // G83
    @Test
    func `The call returns after every run that its body began`() async throws {
      let (log, begun) = (Recorder<String>(), Recorder<String>())
      let isEnding = Once<Void>()
      @Sendable func chain(_ name: String) -> Chain<Void, Void> {
        Chain(name) {
          begun.record(name)
          await isEnding.valueIgnoringCancellation()
        }
        .finally { _ in
          for _ in 0..<1_000 { await Task.yield() }
          log.record(name)
        }
      }
      let value = try await withTerminationSignals {
        chain("started").start()
        chain("token").start(cancelledBy: CancellationToken())
        Job("job") { try await chain("in a job").run() }.launch(on: JobQueue(maxConcurrent: 1))
        let plain = chain("plain")
        Task { try await plain.run() }
        let inner = chain("in an inner call")
        Task { try await withTerminationSignals { _ = inner.start() } }
        await begun.elements(atLeast: 5)
        isEnding.settle(())
        return 5
      }
      log.record("returned")
      #expect(value == 5)
      #expect(log.elements.sorted().count == 6 && log.elements.last == "returned", "\(log.elements)")
    }

    @Test
    func `It throws the error of the body, after the runs that were begun in it`() async throws {
      let log = Recorder<String>()
      await #expect(throws: Fault(3)) {
        try await withTerminationSignals {
          Chain("a") {}.finally { _ in
            for _ in 0..<1_000 { await Task.yield() }
            log.record("finally")
          }.start()
          throw Fault(3)
        }
      }
      #expect(log.elements == ["finally"])
    }
  }

  /// The tool `SignalChild`, with the lines that it has printed so far.
  private final class Tool: Sendable {
    let process: Process
    let lines = Recorder<String>()
    private let ended = Once<Void>()

    init(_ arguments: [String]) throws {
      final class Anchor {}
      let bundle = Bundle(for: Anchor.self).bundleURL
      let programs = [bundle, bundle.deletingLastPathComponent(), Bundle.main.bundleURL]
        .map { $0.appendingPathComponent("SignalChild") }
      let program = try #require(programs.first { FileManager.default.isExecutableFile(atPath: $0.path) })
      process = Process()
      process.executableURL = program
      process.arguments = arguments
      let output = Pipe()
      process.standardOutput = output
      try process.run()
      Thread.detachNewThread { [lines, process, ended] in
        var text = ""
        while case let data = output.fileHandleForReading.availableData, !data.isEmpty {
          text += String(decoding: data, as: UTF8.self)
          while let end = text.firstIndex(of: "\n") {
            lines.record(String(text[..<end]))
            text = String(text[text.index(after: end)...])
          }
        }
        process.waitUntilExit()
        ended.settle(())
      }
    }

    func signal(_ number: Int32) { kill(process.processIdentifier, number) }

    func end() async { await ended.valueIgnoringCancellation() }
  }
#endif
