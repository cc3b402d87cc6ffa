// SPDX-License-Identifier: MIT
// Copyright (c) 2026 Stepwise contributors

import Foundation
import Stepwise
import StepwiseTesting
import StepwiseTracing
import Testing

/// Diagrams of chains, jobs and progressions.
///
/// The expected diagrams are in the hidden folder `.golden`, which SwiftPM ignores. With `STEPWISE_DIAGRAMS`, the path
/// of a folder, the tests write theirs there, for the parser that CI runs over them.
@Suite(.timeLimit(.minutes(5)))
struct DiagramTests {
  private static let golden = URL(fileURLWithPath: #filePath).deletingLastPathComponent().appending(path: ".golden")
  private static let folder = ProcessInfo.processInfo.environment["STEPWISE_DIAGRAMS"]

  private func export(_ text: String, _ name: String) throws {
    guard let folder = Self.folder else { return }
    try Data(text.utf8).write(to: URL(fileURLWithPath: folder).appending(path: name))
  }

  @Test
  func `Diagrams are the same bytes as the expected ones`() async throws {
    for (name, text) in try await DiagramSamples.all().sorted(by: { $0.key < $1.key }) {
      try export(text, name)
      let expected = try? String(contentsOf: Self.golden.appending(path: name), encoding: .utf8)
      #expect(text == expected, "\(name)")
    }
  }

  @Test
  func `Diagrams of random chains are valid and name every step`() throws {
    for seed in seeds(100) {
      let (chain, names) = RandomChain.make(seed: seed)
      let (text, mermaid) = (chain.describe(), chain.describe(.mermaid))
      #expect(throws: Never.self, "seed \(seed)") { try DiagramSyntax.checkMermaid(mermaid) }
      for name in names where !name.isEmpty && !name.contains(where: { $0.isNewline || $0 < " " }) {
        #expect(text.contains("- \(name)"), "seed \(seed)")
      }
      #expect(mermaid == RandomChain.make(seed: seed).chain.describe(.mermaid))
      if seed < 100 { try export(mermaid, "random-\(seed).mmd") }
    }
  }

  @Test(arguments: [
    ("n1[\"a\"]", "n1[\"a\"b\"]"), ("n1[\"a\"]", "n1[\"<b>\"]"), ("\nend", ""), ("end\n", "end\nend\n"),
    ("c0[", "end["), ("end\n", "end\nn1 --> n9\n"), ("end\n", "end\nn1[\"b\"]\n"), ("flowchart TD", "flowchart"),
  ]
  )
  func `The check of the syntax finds mistakes`(text: String, mistake: String) throws {
    let chart = Chain("a") { (number: Int) in number }.retry(DiagramSamples.policy).describe(.mermaid)
    try DiagramSyntax.checkMermaid(chart)
    #expect(throws: DiagramSyntax.Problem.self) {
      try DiagramSyntax.checkMermaid(chart.replacingOccurrences(of: text, with: mistake))
    }
  }

  @Test
  func `A chain of nested chains of any depth is drawn on a small stack`() async throws {
    let depth = scaled(50_000)
    var chain = Chain("a") { (number: Int) in number }
    for _ in 0..<depth { chain = Chain("b") { (number: Int) in number }.appending(chain) }
    let nested = chain
    let lines = try await onASmallStack { nested.describe(.mermaid).utf8.count { $0 == UInt8(ascii: "\n") } }
    // For each: its step, an edge, and the first two lines and the last line of its box.
    #expect(lines == 5 * depth + 2)
  }

  @Test
  func `The outline of nested chains grows linearly`() {
    let depth = scaled(20_000)
    var chain = Chain("a") { (number: Int) in number }
    for _ in 0..<depth { chain = Chain("b") { (number: Int) in number }.appending(chain) }
    let text = chain.describe()
    #expect(text.utf8.count < 500 * depth)
    let lines = text.split(separator: "\n")
    #expect(lines.count == 2 * depth + 1)
    #expect(lines[63].hasPrefix(String(repeating: "  ", count: 31) + "- chain"))
    for line in lines[64...66] { #expect(line.hasPrefix(String(repeating: "  ", count: 32) + "- ")) }
  }

  @Test(arguments: DiagramSamples.formats.map(\.format))
  func `Overrides of the writing direction in names are escaped`(format: DiagramFormat) {
    let overrides = (0x202A...0x202E).map { $0 } + (0x2066...0x2069).map { $0 }
    for value in overrides {
      guard let override = Unicode.Scalar(value) else { continue }
      let text = Chain("pay\(override)eno") { (number: Int) in number }.describe(format)
      #expect(!text.unicodeScalars.contains(override))
      let hex = String(value, radix: 16, uppercase: true)
      #expect(text.contains(format == .text ? "pay\\u{\(hex)}eno" : "pay#92;u#123;\(hex)#125;eno"), "\(text)")
    }
  }
}
