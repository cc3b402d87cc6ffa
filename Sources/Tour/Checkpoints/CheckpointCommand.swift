// SPDX-License-Identifier: MIT
// Copyright (c) 2026 Stepwise contributors

import Foundation
import StepwiseCheckpoints

/// The command line after `checkpoints`.
struct CheckpointCommand {
  private enum Action {
    case list
    case show(String)
    case remove(String, isForced: Bool)
  }

  /// Its lines in `--help`.
  static let help = [
    "<folder>                       list id, stage, age, size and lease holder; changes nothing",
    "<folder> show <id>             print one as JSON",
    "<folder> remove <id>           remove one, unless a run holds it",
    "<folder> remove <id> --force   remove it although a run holds it, which ends that run",
  ]

  private static let hint = "name the folder that a FileCheckpointStore uses"

  private let folder: String
  private let action: Action

  /// Reads the arguments.
  init(_ arguments: [String]) throws(Command.UsageError) {
    folder = arguments.first ?? ""
    let words = arguments.dropFirst().filter { $0 != "--force" }
    let isForced = words.count < arguments.count - 1
    switch (words.first, words.count, isForced) {
    case (nil, 0, false): action = .list
    case ("show", 2, false): action = .show(words[1])
    case ("remove", 2, _): action = .remove(words[1], isForced: isForced)
    default:
      let problem = "cannot understand '\(arguments.dropFirst().joined(separator: " "))' after the folder"
      throw Command.UsageError(description: "\(problem); 'swift run Tour --help' says what may follow")
    }
  }

  /// Does what the arguments say.
  ///
  /// - Parameters:
  ///   - width: The number of columns to fit into.
  ///   - now: The time from which ages are counted.
  /// - Returns: The lines of output.
  /// - Throws: An error that says what to do.
  func run(width: Int, now: Date) async throws -> [String] {
    let store = try store()
    let summaries = try await store.summaries()
    guard !summaries.isEmpty else {
      throw CheckpointFailure("there are no checkpoints in '\(folder)'; \(Self.hint)")
    }
    switch action {
    case .list: return CheckpointTable(summaries, now: now).lines(width: width)
    case .show(let id): return try await show(summary(id, summaries), id, in: store)
    case .remove(let id, let isForced): return try await remove(summary(id, summaries), id, isForced, in: store)
    }
  }

  /// Opens the store of a folder that exists: creating the store would create the folder.
  private func store() throws -> FileCheckpointStore {
    var isDirectory: ObjCBool = false
    guard FileManager.default.fileExists(atPath: folder, isDirectory: &isDirectory) else {
      throw CheckpointFailure("there is no folder '\(folder)'; \(Self.hint)")
    }
    guard isDirectory.boolValue else {
      throw CheckpointFailure("'\(folder)' is a file; \(Self.hint)")
    }
    return try FileCheckpointStore(directory: URL(fileURLWithPath: folder))
  }

  private func summary(_ id: String, _ summaries: [CheckpointSummary]) throws -> CheckpointSummary {
    guard let summary = summaries.first(where: { $0.id.map { $0.utf8.elementsEqual(id.utf8) } ?? false }) else {
      let nameless = summaries.filter { $0.id == nil }.map(\.location).sorted().first
      let hint = nameless.map { "; '\($0)' is damaged and names no id: remove the file itself" } ?? ""
      throw CheckpointFailure(
        "there is no checkpoint '\(id)' in '\(folder)'; 'swift run Tour checkpoints \(folder)' lists them\(hint)"
      )
    }
    return summary
  }

  private func show(
    _ summary: CheckpointSummary,
    _ id: String,
    in store: FileCheckpointStore
  ) async throws -> [String] {
    if let error = summary.error { throw error }
    guard let record = try await store.load(id) else {
      throw CheckpointFailure("checkpoint '\(id)' was removed meanwhile")
    }
    return try CheckpointJSON.lines(of: record, summary)
  }

  private func remove(
    _ summary: CheckpointSummary,
    _ id: String,
    _ isForced: Bool,
    in store: FileCheckpointStore
  ) async throws -> [String] {
    do {
      if isForced { try await store.removeEvenIfHeld(id) } else { try await store.remove(id) }
    } catch CheckpointError.held(_, _, let process) {
      let holder = process.map { "process \($0)" } ?? "another process"
      throw CheckpointFailure(
        "\(holder) is running '\(id)', which was not removed; wait until it ends, or add --force, which ends its run"
      )
    }
    guard let holder = summary.holder, isForced else { return ["removed  \(Console.oneLine(id))"] }
    let process = CheckpointTable.text(of: holder)
    return ["removed  \(Console.oneLine(id)), which \(process) held; its run fails at the next stage"]
  }
}

/// An error that says what to do instead.
struct CheckpointFailure: Error, CustomStringConvertible {
  let description: String

  init(_ description: String) {
    self.description = description
  }
}
