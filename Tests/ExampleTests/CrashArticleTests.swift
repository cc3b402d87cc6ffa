// SPDX-License-Identifier: MIT
// Copyright (c) 2026 Stepwise contributors

// Nothing is shared with a child that is killed, so ThreadSanitizer has nothing to find here.
#if (os(Linux) || os(macOS)) && !TSAN
  import StepwiseTesting
  import Testing

  /// The samples of the page on crashes; the child is in Tests/CrashTemplate.
  @Suite(.timeLimit(.minutes(5)), .serialized)
  struct CrashArticleTests {
    @Test func nothingIsLostInACrash() async throws {
      let harness = CrashHarness(program: try CrashHarness.program(named: "ImportCrashChild"))
      let report = try await harness.killAtRandom(kills: 20, seed: 1)
      #expect(report.problems.isEmpty && report.kills >= 20)
    }

    #if os(Linux)
      /// The sample of the harness, not run.
      func harness(child: String) async throws {
        let report = try await CrashHarness(program: child).killAtEveryCall()
        #expect(report.problems.isEmpty && report.kills > 100)
      }

      @Test func noCallIsABadMomentToDie() async throws {
        let harness = CrashHarness(program: try CrashHarness.program(named: "ImportCrashChild"))
        let report = try await harness.killAtEveryCall(torn: true)
        #expect(report.problems.isEmpty && report.kills == report.calls)
        #expect(report.kills > 20)
      }
    #endif
  }
#endif
