// SPDX-License-Identifier: MIT
// Copyright (c) 2026 Stepwise contributors

import CrashTesting
import Foundation
import Stepwise
import StepwiseCheckpoints

/// Adds up numbers, a stage for each, under a checkpoint: the child that is killed.
enum Sum: Progression, Codable, Equatable {
  case adding(next: Int, last: Int, sum: Int, padding: [Int])
  case done(sum: Int, last: Int)

  @TaskLocal static var journal: CrashJournal?

  var number: Int {
    switch self {
    case .adding(let next, _, _, _): next
    case .done(_, let last): last + 1
    }
  }

  var result: Int? {
    if case .done(let sum, _) = self { sum } else { nil }
  }

  @concurrent func next() async throws -> Sum {
    guard case .adding(let next, let last, let sum, let padding) = self else { return try completed() }
    Self.journal?.begun(next)
    guard next < last else { return .done(sum: sum + next, last: last) }
    return .adding(next: next + 1, last: last, sum: sum + next, padding: padding + [next])
  }
}

@main
struct CheckpointCrashChild {
  static func main() async throws {
    let arguments = CommandLine.arguments
    guard arguments.count >= 3, let last = Int(arguments[1]) else {
      print("use: CheckpointCrashChild <number of stages> [careless | hold | fork | read | deep | full-…] <workspace>")
      exit(2)
    }
    let workspace = arguments[arguments.count - 1]
    let mode = arguments.count == 4 ? arguments[2] : ""
    hangIfAsked(workspace)
    try await Sum.$journal.withValue(CrashJournal(workspace: workspace)) {
      if let direction = DurableOrder.Direction(rawValue: mode) {
        try await DurableOrder(workspace, direction).run()
      } else if mode.hasPrefix("full-") {
        try await FullDisk(workspace).use(mode)
      } else if mode == "read" {
        // The workspace may only be read.
        let store = try FileCheckpointStore(directory: URL(fileURLWithPath: workspace + "/store"))
        let start = Sum.adding(next: 0, last: last, sum: 0, padding: [])
        for id in ["sum/0", "sum/1"] {
          do { print(try await start.run(id: id, in: store)) } catch { print(error) }
        }
        for name in ["new", "new/deep"] {
          do {
            _ = try FileCheckpointStore(directory: URL(fileURLWithPath: workspace + "/" + name))
          } catch { print(error) }
        }
      } else if mode == "careless" {
        // Forgets everything when it is killed, which a harness has to find.
        try await add(last, in: MemoryCheckpointStore(), workspace)
      } else {
        let path = workspace + (mode == "deep" ? "/store/a/b" : "/store")
        let store = try FileCheckpointStore(directory: URL(fileURLWithPath: path))
        try await add(last, in: store, workspace, mode)
      }
    }
  }

  /// Hangs for ever, each time or where another child was before.
  private static func hangIfAsked(_ workspace: String) {
    let runs = (try? String(contentsOfFile: workspace + "/journal", encoding: .utf8)) ?? ""
    let isFirst = runs.split(separator: "\n").filter { $0 == "run" }.count == 1
    switch ProcessInfo.processInfo.environment["CHILD_HANGS"] {
    case "always": while true { pause() }
    case "resumed" where !isFirst: while true { pause() }
    default: return
    }
  }

  /// Leaves a process behind that has everything this one has, and ends this one as a crash does.
  private static func forkAndDie() {
    typealias Fork = @convention(c) () -> pid_t
    // Swift hides `fork`, after which only the calling thread is left: the child does nothing.
    guard let symbol = dlsym(nil, "fork") else { exit(6) }
    let child = unsafeBitCast(symbol, to: Fork.self)()
    if child == 0 { while true { pause() } }
    FileHandle.standardOutput.write(Data("\(child)\n".utf8))
    kill(getpid(), SIGKILL)
  }

  private static func add(_ last: Int, in store: some CheckpointStore, _ workspace: String, _ mode: String = "")
    async throws
  {
    for try await stage in Sum.adding(next: 0, last: last, sum: 0, padding: []).stages(id: "sum/1", in: store) {
      Sum.journal?.saved(stage.number)
      if mode == "fork" { forkAndDie() }
      if mode == "hold" {
        // A process that waits for the line finds the id held, until this process is killed.
        FileHandle.standardOutput.write(Data("held\n".utf8))
        _ = readLine()
      }
      if let result = stage.result { print(result) }
    }
  }
}
