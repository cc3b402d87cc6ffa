// SPDX-License-Identifier: MIT
// Copyright (c) 2026 Stepwise contributors

import Foundation
import Stepwise

/// Runs the tour as a program of its own, as its users do.
enum TourProcess {
  /// How the program ended, and what it wrote.
  struct Result: Sendable {
    let exitCode: Int32
    /// Whether the program exited, and was not killed by a signal.
    let isOrderly: Bool
    let error: String
    let outputBytes: [UInt8]

    /// The text of `outputBytes`; decoded when used, as that takes long for a file.
    var output: String { String(decoding: outputBytes, as: UTF8.self) }

    var lines: [String] { output.split(separator: "\n").map(String.init) }
    var errorLines: [String] { error.split(separator: "\n").map(String.init) }
  }

  /// The program is not where the build puts it.
  struct NotFound: Error {}

  /// Runs the program to its end.
  ///
  /// - Parameters:
  ///   - arguments: The words after `swift run Tour`.
  ///   - directory: Where the program runs.
  ///   - largestFile: How large a file the program may write, in KiB, as if the disk were full then.
  ///   - interrupted: Is given all the output so far, whenever there is more; once it says yes, the program is
  ///     interrupted as by Ctrl-C.
  /// - Returns: How the program ended.
  /// - Throws: `NotFound`, and what keeps a process from being started.
  static func run(
    _ arguments: [String],
    in directory: URL? = nil,
    largestFile: Int? = nil,
    interruptedWhen interrupted: (@Sendable (String) -> Bool)? = nil
  ) async throws -> Result {
    var (program, arguments) = (try program(), arguments)
    if let largestFile {
      // Bash counts in KiB. Writes beyond are refused instead of being deadly.
      let limited = "trap '' XFSZ; ulimit -f \(largestFile); exec \"$0\" \"$@\""
      (program, arguments) = (URL(filePath: "/bin/bash"), ["-c", limited, program.path] + arguments)
    }
    return try await LoopbackClient.onThread { [program, arguments] in
      Swift.Result { try runBlocking(program, arguments, in: directory, interruptedWhen: interrupted) }
    }.get()
  }

  private static func runBlocking(
    _ program: URL,
    _ arguments: [String],
    in directory: URL?,
    interruptedWhen interrupted: (@Sendable (String) -> Bool)?
  ) throws -> Result {
    let process = Process()
    let (output, error) = (Pipe(), Pipe())
    process.executableURL = program
    process.arguments = arguments
    process.standardInput = FileHandle.nullDevice
    process.standardOutput = output
    process.standardError = error
    if let directory { process.currentDirectoryURL = directory }
    try process.run()

    // Both at once: a program blocks while a pipe of its is full.
    let (outputText, errorText, errorEnd) = (Collected(), Collected(), DispatchSemaphore(value: 0))
    let isInterrupted = Lock(false)
    // The expected text may be in either stream, so both are checked after each piece.
    let look: @Sendable () -> Void = {
      guard let interrupted, interrupted(outputText.text + errorText.text),
        !isInterrupted.withLock({ exchange(&$0, with: true) })
      else {
        return
      }
      process.interrupt()
    }
    Thread.detachNewThread {
      errorText.append(from: error.fileHandleForReading, then: look)
      errorEnd.signal()
    }
    outputText.append(from: output.fileHandleForReading, then: look)
    errorEnd.wait()
    process.waitUntilExit()
    return Result(
      exitCode: process.terminationStatus,
      isOrderly: process.terminationReason == .exit,
      error: errorText.text,
      outputBytes: outputText.bytes
    )
  }

  private final class Collected: Sendable {
    private let data = Lock(Data())
    var text: String { data.withLock { data in String(decoding: data, as: UTF8.self) } }
    var bytes: [UInt8] { data.withLock { data in [UInt8](data) } }

    func append(from file: FileHandle, then look: () -> Void) {
      while case let more = file.availableData, !more.isEmpty {
        data.withLock { data in data.append(more) }
        look()
      }
    }
  }

  /// The program beside the test bundle.
  static func program() throws -> URL {
    final class Anchor {}
    let bundle = Bundle(for: Anchor.self).bundleURL
    for folder in [bundle, bundle.deletingLastPathComponent(), Bundle.main.bundleURL] {
      let program = folder.appendingPathComponent("Tour")
      if FileManager.default.isExecutableFile(atPath: program.path) { return program }
    }
    throw NotFound()
  }
}
