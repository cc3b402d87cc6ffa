// SPDX-License-Identifier: MIT
// Copyright (c) 2026 Stepwise contributors

#if os(macOS) || os(Linux)
  import Foundation
  import Testing

  /// What the compiler says of wrong code; `Tests/TypeChecking` measures how long it takes to.
  @Suite(.timeLimit(.minutes(5)))
  struct DiagnosticTests {
    @Test
    func `Wrong code does not compile, and the error names the mistake`() throws {
      let folder = URL(filePath: #filePath).deletingLastPathComponent()
      let file = folder.appending(path: "../../../TypeChecking/Mistakes.swift").standardizedFileURL
      let lines = try String(contentsOf: file, encoding: .utf8).components(separatedBy: "\n")
      let expected = lines.enumerated().compactMap { index, line in
        line.firstRange(of: "// error: ").map { (line: index + 1, text: String(line[$0.upperBound...])) }
      }
      try #require(expected.count > 5)
      let errors = try Compiler.errors(in: file)
      #expect(Set(errors.map(\.line)) == Set(expected.map(\.line)), "\(errors)")
      for expected in expected {
        let texts = errors.filter { $0.line == expected.line }.map(\.text)
        #expect(texts.contains { $0.contains(expected.text) }, "line \(expected.line): \(texts)")
      }
    }
  }

  /// The compiler, on a file that imports the module that the tests were built with.
  private enum Compiler {
    /// In the order of their lines.
    static func errors(in file: URL) throws -> [(line: Int, text: String)] {
      let process = Process()
      let output = Pipe()
      process.executableURL = URL(filePath: "/usr/bin/env")
      process.arguments = [
        "swiftc", "-swift-version", "6", "-typecheck", "-suppress-warnings", "-I", try modules(), file.path(),
      ]
      process.standardOutput = output
      process.standardError = output
      try process.run()
      let text = String(decoding: output.fileHandleForReading.readDataToEndOfFile(), as: UTF8.self)
      process.waitUntilExit()
      let errors = text.split(separator: "\n").compactMap { line -> (line: Int, text: String)? in
        guard let match = line.firstMatch(of: /^\/.*?\.swift:(\d+):\d+: error: (.*)/) else { return nil }
        return Int(match.1).map { (line: $0, text: String(match.2)) }
      }
      return errors.sorted { $0.line < $1.line }
    }

    /// Where the modules are that the tests were built with.
    private static func modules() throws -> String {
      final class Anchor {}
      var folder = Bundle(for: Anchor.self).bundleURL
      while folder.path() != "/" {
        let modules = folder.appending(path: "Modules")
        if FileManager.default.fileExists(atPath: modules.appending(path: "Stepwise.swiftmodule").path()) {
          return modules.path()
        }
        folder = folder.deletingLastPathComponent()
      }
      return try #require(nil, "no Modules beside the tests")
    }
  }
#endif
