// SPDX-License-Identifier: MIT
// Copyright (c) 2026 Stepwise contributors

import Foundation
import Testing

/// Keeps the samples of the documentation and those that are compiled and run from drifting apart.
@Suite(.timeLimit(.minutes(5)))
struct DocumentationDriftTests {
  static let root = URL(filePath: #filePath).deletingLastPathComponent().appending(path: "../..").standardized

  static let pages: [String] = {
    let modules = (try? FileManager.default.contentsOfDirectory(atPath: root.appending(path: "Sources").path)) ?? []
    let articles = modules.sorted().flatMap { module in
      let folder = "Sources/\(module)/Documentation.docc"
      let names = (try? FileManager.default.contentsOfDirectory(atPath: root.appending(path: folder).path)) ?? []
      return names.filter { $0.hasSuffix(".md") }.sorted().map { "\(folder)/\($0)" }
    }
    return ["README.md", "Migration.md"] + articles
  }()

  @Test(arguments: pages)
  func `Every new sample is compiled and run`(page: String) throws {
    let sources = try Self.exampleSources()
    let samples = try Samples(of: String(contentsOf: Self.root.appending(path: page), encoding: .utf8))
    for sample in samples.new {
      #expect(
        sources.contains { $0.contains(sample) },
        "\(page) has a sample that no example test contains:\n\(sample)"
      )
    }
  }

  static let documented: [String] = {
    let names = (try? FileManager.default.subpathsOfDirectory(atPath: root.appending(path: "Sources").path)) ?? []
    return names.filter { $0.hasSuffix(".swift") }.sorted().map { "Sources/\($0)" }.filter { file in
      (try? String(contentsOf: root.appending(path: file), encoding: .utf8).contains("/// ```swift")) == true
    }
  }()

  @Test(arguments: documented)
  func `Every sample of a doc comment is compiled`(file: String) throws {
    let page = try String(contentsOf: Self.root.appending(path: file), encoding: .utf8)
      .split(separator: "\n").map { $0.trimmingCharacters(in: .whitespaces) }
      .filter { $0.hasPrefix("///") }.map { $0.dropFirst($0.hasPrefix("/// ") ? 4 : 3) }.joined(separator: "\n")
    let sources = try Self.exampleSources()
    for sample in Samples(of: page).new {
      #expect(
        sources.contains { $0.contains(sample) },
        "\(file) has a sample that Tests/ExampleTests/DocComments does not contain:\n\(sample)"
      )
    }
  }

  @Test func `Every old sample is compiled and run beside the new one`() throws {
    let sources = try Self.sources(in: [Self.pairs])
    let samples = try Samples(of: String(contentsOf: Self.root.appending(path: "Migration.md"), encoding: .utf8))
    #expect(samples.old.count > 15)
    for sample in samples.old {
      let lines = sample.split(separator: "\n", omittingEmptySubsequences: false).dropFirst()
      let code = lines.joined(separator: "\n")
      #expect(sources.contains { $0.contains(code) }, "Migration.md has old code that no test contains:\n\(code)")
    }
  }

  @Test func `The pages have samples`() throws {
    let cookbook = "Sources/Stepwise/Documentation.docc/Cookbook.md"
    #expect(Self.documented.count > 30)
    for (page, count) in [("README.md", 3), ("Migration.md", 10), (cookbook, 15)] {
      let samples = try Samples(of: String(contentsOf: Self.root.appending(path: page), encoding: .utf8))
      #expect(samples.new.count > count, "\(page)")
    }
  }

  @Test func `A sample that differs from its test is found`() {
    let page =
      "```swift\nimport Stepwise\n\nlet one = 1\n  + 2\n```\n```swift\n// Old\nlet two = 2\n// New\nlet three = 3\n```\n```sh\nls\n```\n"
    let samples = Samples(of: page)
    #expect(samples.new == ["let one = 1\n+ 2\n", "let three = 3\n"])
    #expect(samples.old == ["// Old\nlet two = 2\n"])
    #expect(Samples.normalized("  func f() {\n    let one = 1\n\n      + 2\n  }").contains(samples.new[0]))
    #expect(!Samples.normalized("let one = 1\n+ 3").contains(samples.new[0]))
  }

  /// Where the old code of Migration.md stands, and the new code beside it.
  private static let pairs = "Tests/LegacyTests/Swift6/Migration"

  private static func exampleSources() throws -> [String] {
    try sources(in: [
      "Tests/ExampleTests", "Tests/ExampleTests/Cookbook", "Tests/ExampleTests/DocComments", "Tests/StepwiseFleetTests",
      "Tests/ObserverAdapters/Sources/ObserverAdapters", "Tests/ObserverAdapters/Sources/ServiceAdapters",
      "Tests/ObserverAdapters/Sources/CodecAdapters", "Sources/Tour/Order", pairs,
    ])
  }

  private static func sources(in folders: [String]) throws -> [String] {
    try folders.flatMap { path in
      let folder = root.appending(path: path)
      let names = try FileManager.default.contentsOfDirectory(atPath: folder.path).filter { $0.hasSuffix(".swift") }
      return try names.filter { $0 != "DocumentationDriftTests.swift" }.map { name in
        Samples.normalized(try String(contentsOf: folder.appending(path: name), encoding: .utf8))
      }
    }
  }
}

/// The Swift samples of a page: new code, and old code or manifests, which their first line tells.
///
/// In a block of old code, the new code follows a line `// New`.
struct Samples {
  private(set) var new: [String] = []
  private(set) var old: [String] = []

  init(of page: String) {
    var block: [Substring]?
    for line in page.split(separator: "\n", omittingEmptySubsequences: false) {
      if let lines = block, line.hasPrefix("```") {
        for part in lines.split(separator: "// New") { add(Self.normalized(part.joined(separator: "\n"))) }
        block = nil
      } else if block != nil {
        block?.append(line)
      } else if line == "```swift" {
        block = []
      }
    }
  }

  private mutating func add(_ sample: String) {
    if ["// Old", "// Package.swift", "// swift-tools-version"].contains(where: { sample.hasPrefix($0) }) {
      old.append(sample)
    } else {
      new.append(sample)
    }
  }

  /// The lines without indentation, empty lines and imports, each ended by a line break.
  static func normalized(_ text: String) -> String {
    text.split(separator: "\n").map { $0.trimmingCharacters(in: .whitespaces) }
      .filter { !$0.isEmpty && !$0.hasPrefix("import ") && !$0.hasPrefix("@testable import ") }
      .map { $0 + "\n" }
      .joined()
  }
}
