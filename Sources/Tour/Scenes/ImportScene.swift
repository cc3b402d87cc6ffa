// SPDX-License-Identifier: MIT
// Copyright (c) 2026 Stepwise contributors

import Foundation
import Stepwise
import StepwiseCheckpoints

extension Scene {
  /// An import that is killed and resumes; or, with a file, the user's own import.
  static let importText = Scene(
    "import",
    "index a text, be killed, resume; or index your own",
    parameters: ["[<file>]"]
  ) { arguments in
    if let path = arguments.first { return try await importText(path) }
    return try await killAndGoOn()
  }

  /// Imports a file, and resumes from where an earlier process ended.
  private static func importText(_ path: String) async throws -> ExitCode {
    let source = try ImportSource(path)
    let work = ImportWork(source: source)
    let store = try await work.open()
    do {
      try await follow(source, in: store)
    } catch CheckpointError.differentStart {
      Console.writeLine("The file has changed since the import started: it starts over.")
      try await store.remove(ImportWork.id)
      try await follow(source, in: store)
    }
    try work.remove()
    Console.writeLine("saved   \(path).index")
    return .success
  }

  private static func follow(_ source: ImportSource, in store: FileCheckpointStore) async throws {
    let first = TextImport.read(source)
    var isFirst = true
    for try await stage in first.stages(id: ImportWork.id, in: store) {
      Console.writeLine(isFirst && stage != first ? "resumes at: \(stage)" : "\(stage)")
      isFirst = false
    }
  }

  private static func killAndGoOn() async throws -> ExitCode {
    let folder = FileManager.default.temporaryDirectory.appendingPathComponent("stepwise-import-\(getuid())")
    try? FileManager.default.removeItem(at: folder)
    try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
    let texts = ["killed.txt", "undisturbed.txt"].map { folder.appendingPathComponent($0).path }
    for text in texts { try WholeFile.write(SampleText.bytes, to: text) }
    let run = Chain(ChildProcess.run)
    let child = ChildProcess(arguments: ["import", texts[0]])

    Console.writeLine("A child process imports a text of \(SampleText.lineCount) lines, a checkpoint after each stage.")
    var doomed = child
    doomed.lastLine = "index batch 10 "
    let first = try await run.run(doomed)
    guard first.isKilled else { throw ImportFailure("the child ended early: \(first.lines.last ?? "no output")") }
    Console.writeLine("  its last word before SIGKILL:  \(first.lines.last ?? "none")")

    let second = try await run.run(child)
    guard second.exitCode == 0 else { throw ImportFailure("the second child failed") }
    Console.writeLine("A second child, on the same file:")
    for line in [second.lines.first, second.lines.dropLast().last].compactMap(\.self) { Console.writeLine("  \(line)") }

    let undisturbed = try await run.run(ChildProcess(arguments: ["import", texts[1]]))
    guard undisturbed.exitCode == 0 else { throw ImportFailure("the undisturbed child failed") }
    let indexes = try texts.map { try WholeFile.read($0 + ".index") }
    guard indexes[0] == indexes[1] else { throw ImportFailure("the two indexes differ") }
    Console.writeLine("Its index has \(indexes[0].count) bytes, each the same as in that of an undisturbed run.")
    Console.writeLine("saved   \(texts[0]).index")
    return .success
  }

  /// An error thrown when the scene fails.
  private struct ImportFailure: Error, CustomStringConvertible {
    let description: String
    init(_ description: String) { self.description = description }
  }
}

/// The directory that an import uses until it has completed.
///
/// It replaces and removes only what an import created.
struct ImportWork {
  static let id = "import"

  let source: ImportSource

  /// Opens the checkpoint in the directory.
  ///
  /// - Throws: `FileError` when the directory or the index contains something that does not belong to this import.
  func open() async throws -> FileCheckpointStore {
    let strangers = try names().filter { !Self.isOwn($0) }.sorted()
    if let stranger = strangers.first {
      let reason = "'\(source.workPath)/\(stranger)' does not belong to the import; move it first"
      throw FileError("import", source.path, because: reason)
    }
    let isIndexThere = (try? FileManager.default.attributesOfItem(atPath: source.indexPath)) != nil
    guard isIndexThere else { return try store() }
    if FileManager.default.fileExists(atPath: source.workPath) {
      let store = try store()
      if let record = try await store.load(Self.id), Self.mayHaveWritten(record) { return store }
    }
    throw FileError("import", source.path, because: "'\(source.indexPath)' is there already; move or remove it first")
  }

  /// Removes what the import has created, and the directory if it is then empty.
  func remove() throws {
    for name in try names() where Self.isOwn(name) {
      try FileManager.default.removeItem(atPath: source.workPath + "/" + name)
    }
    if try names().isEmpty { try FileManager.default.removeItem(atPath: source.workPath) }
  }

  private func store() throws -> FileCheckpointStore {
    try FileCheckpointStore(directory: URL(fileURLWithPath: source.workPath))
  }

  private func names() throws -> [String] {
    guard FileManager.default.fileExists(atPath: source.workPath) else { return [] }
    return try FileManager.default.contentsOfDirectory(atPath: source.workPath)
  }

  private static func isOwn(_ name: String) -> Bool {
    if [".locks", id + ".checkpoint", id + ".temporary", "index.partial"].contains(name) { return true }
    let number = name.hasSuffix(".partial") ? name.dropLast(".partial".count) : name[...]
    return number.hasPrefix("part-") && Int(number.dropFirst("part-".count)) != nil
  }

  /// Whether the import has progressed so far that the index may be its own.
  private static func mayHaveWritten(_ record: CheckpointRecord) -> Bool {
    switch try? JSONDecoder().decode(TextImport.self, from: Data(record.stage)) {
    case .write, .done: true
    case .read, .split, .index, nil: false
    }
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
