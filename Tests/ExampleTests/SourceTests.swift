// SPDX-License-Identifier: MIT
// Copyright (c) 2026 Stepwise contributors

import Foundation
import Testing

/// What holds of the project's files: guarantees have tests, and unsafe code says why it is right.
@Suite(.timeLimit(.minutes(5)))
struct SourceTests {
  @Test
  func `Each guarantee's number has a test, and each test its guarantee`() throws {
    let page = try lines(of: "Sources/Stepwise/Documentation.docc/Guarantees.md").drop { $0 != "## Runs" }
    let promised = page.joined(separator: " ").matches(of: /\(G(\d+)\)/).compactMap { Int($0.1) }
    #expect(promised.count > 140)
    #expect(zip(promised, promised.dropFirst()).allSatisfy { $0 < $1 }, "\(promised)")
    var proved: Set<Int> = []
    for file in try files(in: "Tests") where file.hasSuffix("Tests.swift") {
      let lines = try lines(of: file)
      for (index, line) in lines.enumerated() where line.hasPrefix("// G") {
        guard let numbers = line.wholeMatch(of: /\/\/ (G\d+(?:, G\d+)*)/)?.1 else { continue }
        let next = lines[(index + 1)...].first { !$0.hasPrefix("//") }
        #expect(next?.hasPrefix("@Test") == true, "\(file):\(index + 1): no test follows")
        proved.formUnion(numbers.matches(of: /\d+/).compactMap { Int($0.0) })
      }
    }
    #expect(Set(promised).subtracting(proved).sorted() == [], "guarantees without a test")
    #expect(proved.subtracting(promised).sorted() == [], "tests of a guarantee that the page does not have")
  }

  // G171
  @Test func `The samples of README and Cookbook are also compiled on the main actor`() throws {
    func names(in folder: String) throws -> Set<String> {
      let folder = DocumentationDriftTests.root.appending(path: "Tests/\(folder)").path
      return Set(try FileManager.default.contentsOfDirectory(atPath: folder).filter { $0.hasSuffix(".swift") })
    }
    let samples = try names(in: "ExampleTests").filter { name in
      ["Readme", "GettingStarted", "Step", "DurableArticle"].contains { name.hasPrefix($0) }
    }
    #expect(samples.count > 10)
    #expect(samples.subtracting(try names(in: "MainActorExampleTests")) == [])
    #expect(try names(in: "ExampleTests/Cookbook") == names(in: "MainActorExampleTests/Cookbook"))
    let manifest = try lines(of: "Package.swift").joined(separator: "\n")
    #expect(manifest.contains(/name: "MainActorExampleTests",[^}]*\.defaultIsolation\(MainActor\.self\)/))
  }

  @Test func `Unsafe code says why it is right`() throws {
    let patterns = ["@unchecked", "nonisolated(unsafe)", "try!", "fatalError(", "preconditionFailure("]
    for file in try files(in: "Sources") {
      var isExplained = false
      for (index, line) in try lines(of: file).enumerated() {
        let explains = line.contains("// Safety: ")
        let code = line.prefix(upTo: line.range(of: "//")?.lowerBound ?? line.endIndex)
        #expect(
          explains || isExplained || !patterns.contains { code.contains($0) },
          "\(file):\(index + 1) needs a comment that begins with `// Safety: `"
        )
        isExplained = line.hasPrefix("//") && (explains || isExplained)
      }
    }
  }

  @Test func `The core imports neither Foundation nor Dispatch`() throws {
    #expect(try imports(of: ["Foundation", "Dispatch"], in: "Sources/Stepwise") == [])
  }

  @Test(arguments: ["Files", "Flows", "Tracing", "Checkpoints", "HTTPTesting"])
  func `A module for all systems does not import Dispatch`(name: String) throws {
    #expect(try imports(of: ["Dispatch"], in: "Sources/Stepwise\(name)") == [])
  }

  private func imports(of modules: [String], in folder: String) throws -> [String] {
    try files(in: folder).filter { file in
      try lines(of: file).contains { line in
        !line.hasPrefix("//") && modules.contains { line.contains("import \($0)") }
      }
    }
  }

  private func files(in folder: String) throws -> [String] {
    try FileManager.default.subpathsOfDirectory(atPath: DocumentationDriftTests.root.appending(path: folder).path)
      .filter { $0.hasSuffix(".swift") && !$0.contains(".build/") }.map { "\(folder)/\($0)" }
  }

  private func lines(of file: String) throws -> [String] {
    try String(contentsOf: DocumentationDriftTests.root.appending(path: file), encoding: .utf8)
      .split(separator: "\n", omittingEmptySubsequences: false).map { $0.trimmingCharacters(in: .whitespaces) }
  }
}
