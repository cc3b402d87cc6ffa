// SPDX-License-Identifier: MIT
// Copyright (c) 2026 Stepwise contributors

#if os(Linux) || os(macOS)
  import Foundation
  import StepwiseTesting
  import Testing

  @Suite(.timeLimit(.minutes(10)), .serialized) struct CrashTests {
    #if os(Linux)
      @Test(arguments: [false, true])
      func noCallToTheFileSystemIsABadMomentToDie(torn: Bool) async throws {
        let directory = try TemporaryDirectory(inMemory: true)
        let report = try await harness(stages: 12, directory).killAtEveryCall(torn: torn)
        #expect(report.problems == [])
        #expect(report.kills == report.calls)
        #expect(report.kills >= 100, "a child was killed at \(report.kills) calls")
      }
    #endif

    @Test func noInstantIsABadMomentToDie() async throws {
      let directory = try TemporaryDirectory(inMemory: true)
      let report = try await harness(stages: 40, directory).killAtRandom(kills: 300, seed: 1)
      #expect(report.problems == [])
      #expect(report.kills >= 300)
    }

    private func harness(stages: Int, _ directory: TemporaryDirectory) throws -> CrashHarness {
      CrashHarness(program: try program(), arguments: ["\(stages)"], workspaces: directory.url.path)
    }

    /// The program beside the test bundle.
    private func program() throws -> String {
      final class Anchor {}
      let bundle = Bundle(for: Anchor.self).bundleURL
      let folders = [bundle, bundle.deletingLastPathComponent(), Bundle.main.bundleURL]
      let program = folders.map { $0.appendingPathComponent("CheckpointCrashChild").path }
        .first { FileManager.default.isExecutableFile(atPath: $0) }
      return try #require(program)
    }
  }
#endif
