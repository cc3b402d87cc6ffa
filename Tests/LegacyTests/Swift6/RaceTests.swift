// SPDX-License-Identifier: MIT
// Copyright (c) 2026 Stepwise contributors

#if os(macOS) || os(Linux)
  import Foundation
  import Testing

  /// Old code that is a race: Swift 5 mode lets it pass, as it did, and Swift 6 mode refuses the line that begins it.
  ///
  /// The samples are in `Races`, and in no target, since they are to fail.
  @Suite(.enabled(if: Compiler.isAvailable, "swiftc cannot be run"), .timeLimit(.minutes(5)))
  struct RaceTests {
    private static let samples = ["StepwiseRaces", "GrainRaces", "GrainFirstRaces", "FlowStateRaces"]

    @Test(arguments: samples + ["StepwiseShared"]) func `Swift 5 mode accepts each race`(sample: String) throws {
      let result = try Compiler.check(Self.path(of: sample), languageMode: 5)
      #expect(result.status == 0, "\(result.output)")
    }

    @Test(arguments: samples) func `Swift 6 mode rejects each race and nothing else`(sample: String) throws {
      let path = Self.path(of: sample)
      let races = try Self.lines(of: path, with: "// Race")
      let result = try Compiler.check(path, languageMode: 6)
      #expect(result.status != 0)
      #expect(result.errors.map(\.line) == races, "\(result.output)")
      #expect(result.errors.allSatisfy { $0.text.contains("risks causing data races") }, "\(result.output)")
    }

    // To accept these, `start` would have to take the chain itself as `sending`, which Swift has for parameters alone.
    @Test
    func `Swift 6 mode refuses variables that two closures of a chain share`() throws {
      let path = Self.path(of: "StepwiseShared")
      let result = try Compiler.check(path, languageMode: 6)
      #expect(result.errors.map(\.line) == (try Self.lines(of: path, with: "// Refused")), "\(result.output)")
      #expect(result.errors.allSatisfy { $0.text.contains("sending value of non-Sendable type") }, "\(result.output)")
    }

    // Which queue a closure runs in is nothing that the compiler knows: no error, then.
    @Test func `Main actor misuse is a warning only in Swift 6 mode`() throws {
      let path = Self.path(of: "StepwiseScreen")
      let old = try Compiler.check(path, languageMode: 5, withWarnings: true)
      #expect(old.status == 0 && old.warnings.isEmpty, "\(old.output)")
      let result = try Compiler.check(path, languageMode: 6, withWarnings: true)
      #expect(result.status == 0, "\(result.output)")
      #expect(result.warnings.map(\.line) == (try Self.lines(of: path, with: "// Warning")), "\(result.output)")
      #expect(result.warnings.allSatisfy { $0.text.contains("main actor-isolated") }, "\(result.output)")
    }

    /// The numbers of the lines that have a mark.
    private static func lines(of path: String, with mark: String) throws -> [Int] {
      let lines = try String(contentsOfFile: path, encoding: .utf8).components(separatedBy: "\n")
      let numbers = lines.indices.filter { lines[$0].contains(mark) }.map { $0 + 1 }
      try #require(!numbers.isEmpty)
      return numbers
    }

    private static func path(of sample: String) -> String {
      let tests = URL(fileURLWithPath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
      return tests.appendingPathComponent("Races/\(sample).swift").path
    }
  }
#endif
