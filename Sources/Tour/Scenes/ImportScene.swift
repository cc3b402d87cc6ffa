// SPDX-License-Identifier: MIT
// Copyright (c) 2026 Stepwise contributors

import CommandKit
import Foundation
import Stepwise
import StepwiseCheckpoints

extension Scene {
  /// An import that is killed and resumes; or, with a file, the user's own import.
  static let importText = Scene(
    "import",
    "count a text, be killed, resume; or count your own",
    parameters: ["[<file>]"]
  ) { arguments in
    if let path = arguments.first { return try await importText(path) }
    return try await killAndGoOn()
  }

  private static let id = "import"

  /// Imports a file, and resumes from where an earlier process ended.
  ///
  /// - Throws: `CommandError` when the directory of the checkpoint is there, and no import has begun.
  private static func importText(_ path: String) async throws -> ExitCode {
    let source = try ImportSource(path)
    let (files, work) = (FileManager.default, source.workPath)
    if files.fileExists(atPath: work), !files.fileExists(atPath: "\(work)/\(id).checkpoint") {
      throw CommandError("cannot import '\(source.path)': '\(work)' is there already; move or remove it first")
    }
    let store = try FileCheckpointStore(directory: URL(fileURLWithPath: work))
    do {
      try await follow(source, in: store)
    } catch CheckpointError.differentStart {
      Console.writeLine("The file has changed since the import started: it starts over.")
      try await store.remove(id)
      try await follow(source, in: store)
    }
    try files.removeItem(atPath: work)
    return .success
  }

  private static func follow(_ source: ImportSource, in store: FileCheckpointStore) async throws {
    let first = TextImport.read(source)
    var isFirst = true
    for try await stage in first.stages(id: id, in: store) {
      Console.writeLine(isFirst && stage != first ? "resumes at: \(stage)" : "\(stage)")
      isFirst = false
    }
  }

  private static func killAndGoOn() async throws -> ExitCode {
    let folder = FileManager.default.temporaryDirectory.appendingPathComponent("stepwise-import-\(getuid())")
    try? FileManager.default.removeItem(at: folder)
    try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
    let text = folder.appendingPathComponent("text.txt").path
    try Files.write(SampleText.bytes, to: text)
    let run = Chain(ChildProcess.run)
    let child = ChildProcess(arguments: ["import", text])

    Console.writeLine("A child process imports a text of \(SampleText.lineCount) lines, a checkpoint after each stage.")
    var doomed = child
    doomed.lastLine = "count: 2"
    let first = try await run.run(doomed)
    guard first.isKilled else { throw CommandError("the child ended early: \(first.lines.last ?? "no output")") }
    Console.writeLine("  its last word before SIGKILL:  \(first.lines.last ?? "none")")

    let second = try await run.run(child)
    guard second.exitCode == 0 else { throw CommandError("the second child failed") }
    Console.writeLine("A second child, on the same file:")
    for line in [second.lines.first, second.lines.last].compactMap(\.self) { Console.writeLine("  \(line)") }

    let undisturbed = try await run.run(child)
    guard undisturbed.lines.last == second.lines.last else { throw CommandError("the two counts differ") }
    Console.writeLine("An undisturbed child counts the same.")
    return .success
  }
}

/// This program, in a child process.
struct ChildProcess: Sendable {
  struct Ending: Sendable {
    let lines: [String]
    let isKilled: Bool
    let exitCode: Int32
  }

  let arguments: [String]
  /// The line of its output at which it is killed by SIGKILL.
  var lastLine: String?

  /// Runs a child until it ends or prints its last line.
  static let run = Step.callback("child") { (child: ChildProcess, resolver: Resolver<Ending>) in
    let process = Process()
    let output = Pipe()
    process.executableURL = Bundle.main.executableURL
    process.arguments = child.arguments
    process.standardOutput = output
    process.standardInput = FileHandle.nullDevice
    // Ctrl-C reaches both processes, and one of them says so.
    process.standardError = FileHandle.nullDevice
    try process.run()
    resolver.onCancel { _ in kill(process.processIdentifier, SIGKILL) }
    Thread.detachNewThread {
      var text = Data()
      while true {
        let data = output.fileHandleForReading.availableData
        if data.isEmpty { break }
        text.append(data)
        if let lastLine = child.lastLine, text.range(of: Data(lastLine.utf8)) != nil {
          kill(process.processIdentifier, SIGKILL)
        }
      }
      process.waitUntilExit()
      resolver.resolve(
        Ending(
          lines: String(decoding: text, as: UTF8.self).split(separator: "\n").map(String.init),
          isKilled: process.terminationReason == .uncaughtSignal,
          exitCode: process.terminationStatus
        )
      )
    }
  }
}
