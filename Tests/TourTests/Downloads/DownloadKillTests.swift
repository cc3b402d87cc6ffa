// SPDX-License-Identifier: MIT
// Copyright (c) 2026 Stepwise contributors

import Foundation
import Loopback
import Stepwise
import StepwiseTesting
import Testing

@testable import Tour

/// The downloader, killed again and again: `STEPWISE_ROUNDS` / 1,000 times, at least and by default 10.
@Suite(.timeLimit(.minutes(10))) struct DownloadKillTests {
  private static let kills = max(
    10,
    (ProcessInfo.processInfo.environment["STEPWISE_ROUNDS"].flatMap(Int.init) ?? 0) / 1_000
  )

  @Test func `A crash at any instant loses nothing`() async throws {
    let bytes = Array(0..<UInt64(20_000_000 / 8)).withUnsafeBytes { Array($0) }
    let resumed = Lock(0)
    let server = try LoopbackServer { request in
      if request.header("Range") != nil { resumed.withLock { $0 += 1 } }
      return .part(of: bytes, for: request, tag: "\"1\"").slowly(chunkSize: 1 << 18, pause: .milliseconds(1))
    }
    let workshop = try Workshop()
    let arguments = ["download", "\(server.address)/large.bin"]
    var random = SeededGenerator(seed: 1)
    var (kills, trials) = (0, 0)
    while kills < Self.kills, trials < 10 * Self.kills {
      trials += 1
      // At any moment, or when some of it was written: with much else to do the program takes long to begin.
      let delay = Double.random(in: 0.02..<0.25, using: &random)
      let gain = trials.isMultiple(of: 2) ? Int.random(in: 1..<4_000_000, using: &random) : nil
      if try await isKilled(arguments, in: workshop.directory, after: delay, or: gain) {
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
    #expect(kills == Self.kills)
    // Most of the killed downloads were resumed.
    #expect(resumed.withLock { $0 } > Self.kills / 4)
  }

  /// Runs the program, and kills it after so many seconds, or when it has written so many bytes, unless it has ended; then
  /// it has to have succeeded.
  private func isKilled(
    _ arguments: [String],
    in directory: URL,
    after seconds: Double,
    or gain: Int?
  ) async throws -> Bool {
    let program = try TourProcess.program()
    let part = directory.appendingPathComponent("large.bin.part").path
    return try await LoopbackClient.onThread {
      Swift.Result {
        let process = Process()
        process.executableURL = program
        process.arguments = arguments
        process.currentDirectoryURL = directory
        process.standardInput = FileHandle.nullDevice
        process.standardOutput = FileHandle.nullDevice
        process.standardError = FileHandle.nullDevice
        let isOver = DispatchSemaphore(value: 0)
        process.terminationHandler = { _ in isOver.signal() }
        let before = Self.blocks(of: part)
        try process.run()
        var isRunning = true
        if let gain {
          while isRunning, Self.blocks(of: part) < before + gain / 512 {
            isRunning = isOver.wait(timeout: .now() + .milliseconds(1)) == .timedOut
          }
        } else {
          isRunning = isOver.wait(timeout: .now() + seconds) == .timedOut
        }
        if isRunning {
          kill(process.processIdentifier, SIGKILL)
          isOver.wait()
        }
        if process.terminationReason == .uncaughtSignal { return true }
        try #require(process.terminationStatus == 0)
        return false
      }
    }.get()
  }

  /// How many blocks of 512 bytes of a file have been written.
  private static func blocks(of path: String) -> Int {
    var status = stat()
    return stat(path, &status) == 0 ? Int(status.st_blocks) : 0
  }
}
