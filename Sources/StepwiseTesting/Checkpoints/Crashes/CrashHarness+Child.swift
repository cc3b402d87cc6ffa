// SPDX-License-Identifier: MIT
// Copyright (c) 2026 Stepwise contributors

#if os(Linux) || os(macOS)
  import Foundation
  public import Stepwise
  import StepwiseCheckpoints

  extension CrashHarness {
    /// Runs a progression as the child of a harness: the whole of the child's `main`.
    ///
    /// The progression runs under a checkpoint in the workspace, each stage is noted in the ``CrashJournal``, and the
    /// result is printed. The result's description must be the same in each run.
    ///
    /// - Parameter start: The first stage, the same in each run.
    /// - Throws: What a stage throws; ``CrashHarnessError`` when no harness started the program; what the store throws.
    public static func runChild<P: Progression & Codable>(_ start: P) async throws {
      guard CommandLine.arguments.count > 1, let workspace = CommandLine.arguments.last else {
        throw CrashHarnessError(reason: "the program has no argument: a CrashHarness passes the workspace")
      }
      let store = try FileCheckpointStore(directory: URL(filePath: workspace + "/store"))
      let journal = CrashJournal(workspace: workspace)
      try await ChildLocals.$journal.withValue(journal) {
        for try await stage in JournaledStage(stage: start, number: 0).stages(id: "child", in: store) {
          journal.saved(stage.number)
          // The harness compares what children write here.
          if let result = stage.result { FileHandle.standardOutput.write(Data("\(result)\n".utf8)) }
        }
      }
    }

    /// The path of a program that is built beside the tests: a target that the test target depends on.
    ///
    /// - Parameter name: The name of the executable target.
    /// - Returns: The path.
    /// - Throws: ``CrashHarnessError`` when there is no such program.
    public static func program(named name: String) throws -> String {
      final class Anchor {}
      let bundle = Bundle(for: Anchor.self).bundleURL
      let folders = [bundle, bundle.deletingLastPathComponent(), Bundle.main.bundleURL]
      let programs = folders.map { $0.appendingPathComponent(name).path }
      guard let program = programs.first(where: { FileManager.default.isExecutableFile(atPath: $0) }) else {
        let cause = "there is no program '\(name)' beside the tests"
        throw CrashHarnessError(reason: "\(cause); make the test target depend on that executable target")
      }
      return program
    }
  }

  /// A stage and its number, which is noted before the stage runs.
  private struct JournaledStage<P: Progression & Codable>: Progression, Codable {
    let stage: P
    let number: Int

    var result: P.Result? { stage.result }

    func next() async throws -> Self {
      ChildLocals.journal?.begun(number)
      return Self(stage: try await stage.next(), number: number + 1)
    }
  }

  private enum ChildLocals {
    @TaskLocal static var journal: CrashJournal?
  }
#endif
