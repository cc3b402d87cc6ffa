// SPDX-License-Identifier: MIT
// Copyright (c) 2026 Stepwise contributors

#if os(macOS) || os(Linux)
  import Foundation
  import Testing

  /// What the compiler offers for deprecated names: each fix-it leads to code that compiles.
  ///
  /// A deprecation with a message alone has no fix-it. The sample is in `FixIts`, and in no target.
  @Suite(.enabled(if: Compiler.isAvailable, "swiftc cannot be run"), .timeLimit(.minutes(5)))
  struct FixItTests {
    /// A change that a fix-it makes to a line.
    private struct Edit {
      let line: Int
      let column: Int
      let length: Int
      let text: String
    }

    private static let package = (0..<4).reduce(URL(fileURLWithPath: #filePath)) { url, _ in
      url.deletingLastPathComponent()
    }
    private static let sample = package.appendingPathComponent("Tests/LegacyTests/FixIts/Renames.swift")

    @Test
    func `The sample uses each name that is deprecated as renamed`() throws {
      let output = try Compiler.check(Self.sample.path, languageMode: 5, withWarnings: true).output
      let used = output.matches(of: /renamed to '([^']+)' \[/).map { String($0.1) }
      let sources = Self.package.appendingPathComponent("Sources/Legacy")
      let files = try #require(FileManager.default.enumerator(at: sources, includingPropertiesForKeys: nil))
      let declared = try files.compactMap { $0 as? URL }.filter { $0.pathExtension == "swift" }.flatMap { file in
        try String(contentsOf: file, encoding: .utf8).matches(of: /renamed: "([^"]+)"/).map { String($0.1) }
      }
      #expect(!declared.isEmpty)
      #expect(Set(used) == Set(declared), "\(output)")
    }

    @Test
    func `Applying all fix-its leads to code that compiles and has none left`() throws {
      let result = try Compiler.check(Self.sample.path, languageMode: 5, withWarnings: true, style: "llvm")
      let edits = Self.edits(in: result.output)
      try #require(!edits.isEmpty, "\(result.output)")
      let lines = try String(contentsOf: Self.sample, encoding: .utf8).components(separatedBy: "\n")
      let file = FileManager.default.temporaryDirectory.appendingPathComponent("fixed-\(UUID()).swift")
      defer { try? FileManager.default.removeItem(at: file) }
      try Self.applying(edits, to: lines).joined(separator: "\n").write(to: file, atomically: true, encoding: .utf8)
      let fixed = try Compiler.check(file.path, languageMode: 5, withWarnings: true)
      #expect(fixed.status == 0, "\(fixed.output)")
      #expect(!fixed.output.contains("renamed to"), "\(fixed.output)")
    }

    /// The fix-its of a report: below a note, its line of code and its marks stands what goes to the column where it begins.
    private static func edits(in report: String) -> [Edit] {
      let lines = report.components(separatedBy: "\n")
      return lines.indices.dropLast(3).compactMap { index in
        guard let note = lines[index].firstMatch(of: /\.swift:(\d+):\d+: note: use '/), let line = Int(note.1) else {
          return nil
        }
        let marks = Array(lines[index + 2])
        let text = lines[index + 3]
        let column = text.prefix { $0 == " " }.count
        let length = marks.dropFirst(column).prefix { $0 == "~" || $0 == "^" }.count
        return Edit(line: line, column: column, length: length, text: String(text.dropFirst(column)))
      }
    }

    private static func applying(_ edits: [Edit], to lines: [String]) -> [String] {
      var lines = lines.map(Array.init)
      for edit in edits.sorted(by: { ($0.line, $0.column) > ($1.line, $1.column) }) {
        lines[edit.line - 1].replaceSubrange(edit.column..<edit.column + edit.length, with: Array(edit.text))
      }
      return lines.map { String($0) }
    }
  }
#endif
