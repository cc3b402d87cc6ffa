// SPDX-License-Identifier: MIT
// Copyright (c) 2026 Stepwise contributors

import Foundation
import Testing

/// What holds of the project's files: guarantees have tests, and unsafe code says why it is right.
@Suite(.timeLimit(.minutes(5)))
struct SourceTests {
  static let page = "Sources/Stepwise/Documentation.docc/Guarantees.md"

  @Test func everyGuaranteeHasATestInEachSuiteThatItNames() throws {
    var promised: Set<String> = []
    for row in try lines(of: Self.page).filter({ $0.hasPrefix("| G") }) {
      let cells = row.split(separator: "|").map { $0.trimmingCharacters(in: .whitespaces) }
      let suites = cells[2].split(separator: "`").filter { $0.hasSuffix("Tests") }
      #expect(!suites.isEmpty, "\(cells[0]) names no suite")
      #expect(promised.isDisjoint(with: suites.map { "\(cells[0]) \($0)" }), "\(cells[0]) has two rows")
      promised.formUnion(suites.map { "\(cells[0]) \($0)" })
    }
    var marked: Set<String> = []
    for file in try files(in: "Tests") where file.hasSuffix("Tests.swift") {
      let suite = URL(filePath: file).deletingPathExtension().lastPathComponent
      let lines = try lines(of: file)
      for (index, line) in lines.enumerated() where line.hasPrefix("// G") && line.dropFirst(4).first?.isNumber == true
      {
        let next = lines[(index + 1)...].first { !$0.hasPrefix("//") }
        #expect(next?.hasPrefix("@Test") == true, "\(file):\(index + 1): no test follows")
        marked.formUnion(line.dropFirst(3).split(separator: ", ").map { "\($0) \(suite)" })
      }
    }
    #expect(promised.count > 150)
    #expect(promised.subtracting(marked).sorted() == [], "guarantees without a test in the suite that they name")
    #expect(marked.subtracting(promised).sorted() == [], "tests of a guarantee whose row does not name their suite")
  }

  @Test(arguments: [page, "README.md"])
  func everySuiteThatATableNamesExists(page: String) throws {
    let suites = Set(try files(in: "Tests").map { URL(filePath: $0).deletingPathExtension().lastPathComponent })
    for row in try lines(of: page).filter({ $0.hasPrefix("|") }) {
      for suite in row.split(separator: "`") where suite.hasSuffix("Tests") && suite.allSatisfy(\.isLetter) {
        #expect(suites.contains(String(suite)), "\(page) names \(suite), which is no suite")
      }
    }
  }

  @Test func unsafeCodeSaysWhyItIsRight() throws {
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

  @Test func theCoreImportsNeitherFoundationNorDispatch() throws {
    for file in try files(in: "Sources/Stepwise") {
      let imports = try lines(of: file).filter { $0.contains("import Foundation") || $0.contains("import Dispatch") }
      #expect(imports.filter { !$0.hasPrefix("//") }.isEmpty, "\(file)")
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
