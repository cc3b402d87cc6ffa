// SPDX-License-Identifier: MIT
// Copyright (c) 2026 Stepwise contributors

import Foundation
import Loopback
import Stepwise
import StepwiseTesting
import Testing

@testable import Tour

/// The downloader, killed again and again.
@Suite(.timeLimit(.minutes(10))) struct DownloadKillTests {
  @Test(arguments: [1, 4]) func noInstantIsABadMomentToDie(segments: Int) async throws {
    let bytes = Array(0..<UInt64(50_000_000 / 8)).withUnsafeBytes { Array($0) }
    let resumed = Lock(0)
    let server = try LoopbackServer { request in
      if request.header("Range") != nil { resumed.withLock { $0 += 1 } }
      return .part(of: bytes, for: request, tag: "\"1\"").slowly(chunkSize: 1 << 18, pause: .milliseconds(1))
    }
    let workshop = try Workshop()
    let arguments = ["download", "\(server.address)/large.bin", "--segments", "\(segments)"]
    var random = SeededGenerator(seed: 1)
    var (kills, trials) = (0, 0)
    while kills < 100, trials < 1_000 {
      trials += 1
      let delay = Double.random(in: 0.02..<0.25, using: &random)
      if try await isKilled(arguments, in: workshop.directory, after: delay) {
        kills += 1
      } else {
        #expect(try workshop.bytes(of: "large.bin") == bytes, "trial \(trials)")
        try FileManager.default.removeItem(at: workshop.directory.appendingPathComponent("large.bin"))
      }
    }
    let last = try await TourProcess.run(arguments, in: workshop.directory)
    #expect(last.exitCode == 0, "\(last.output)\(last.error)")
    #expect(try workshop.bytes(of: "large.bin") == bytes)
    #expect(try workshop.names == ["large.bin"])
    #expect(kills == 100)
    // Most of what was killed was gone on with.
    #expect(resumed.withLock { $0 } > 25)
  }

  /// Runs the program, and kills it after so many seconds unless it has ended; then it has to have succeeded.
  private func isKilled(_ arguments: [String], in directory: URL, after seconds: Double) async throws -> Bool {
    let program = try TourProcess.program()
    return try await LoopbackClient.onThread {
      Swift.Result {
        let process = Process()
        process.executableURL = program
        process.arguments = arguments
        process.currentDirectoryURL = directory
        process.standardInput = FileHandle.nullDevice
        process.standardOutput = FileHandle.nullDevice
        let isOver = DispatchSemaphore(value: 0)
        process.terminationHandler = { _ in isOver.signal() }
        try process.run()
        if isOver.wait(timeout: .now() + seconds) == .timedOut {
          kill(process.processIdentifier, SIGKILL)
          isOver.wait()
        }
        if process.terminationReason == .uncaughtSignal { return true }
        try #require(process.terminationStatus == 0)
        return false
      }
    }.get()
  }
}
