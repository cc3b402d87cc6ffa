// SPDX-License-Identifier: MIT
// Copyright (c) 2026 Stepwise contributors

#if os(macOS) || os(Linux)
  import Foundation
  import Testing

  /// The compiler, on files that import what the tests were built with.
  enum Compiler {
    struct Result {
      let status: Int32
      let output: String

      /// In the order of their lines.
      var errors: [(line: Int, text: String)] { all("error") }
      var warnings: [(line: Int, text: String)] { all("warning") }

      private func all(_ kind: String) -> [(line: Int, text: String)] {
        output.split(separator: "\n").compactMap { text in
          guard let match = text.firstMatch(of: /^\/.*?\.swift:(\d+):\d+: (\w+): (.*)/), match.2 == kind else {
            return nil
          }
          return Int(match.1).map { (line: $0, text: String(match.3)) }
        }
        .sorted { $0.line < $1.line }
      }
    }

    /// A Boolean value that indicates whether there is a compiler beside the tests.
    static let isAvailable: Bool = {
      let process = Process()
      process.executableURL = URL(fileURLWithPath: "/usr/bin/env")
      process.arguments = ["swiftc", "--version"]
      process.standardOutput = FileHandle.nullDevice
      process.standardError = FileHandle.nullDevice
      guard (try? process.run()) != nil else { return false }
      process.waitUntilExit()
      return process.terminationStatus == 0
    }()

    /// Compiles a file as far as it takes to look for races, and throws the outcome away.
    static func check(
      _ path: String,
      languageMode: Int,
      withWarnings: Bool = false,
      style: String = "swift"
    ) throws -> Result {
      let process = Process()
      let output = Pipe()
      process.executableURL = URL(fileURLWithPath: "/usr/bin/env")
      let modules = try modules()
      let options = [
        "-swift-version", "\(languageMode)", "-emit-sil", "-o", "/dev/null", "-I", modules, "-diagnostic-style",
        style,
      ]
      process.arguments = ["swiftc"] + options + (withWarnings ? [] : ["-suppress-warnings"]) + [path]
      process.standardOutput = output
      process.standardError = output
      try process.run()
      let text = String(decoding: output.fileHandleForReading.readDataToEndOfFile(), as: UTF8.self)
      process.waitUntilExit()
      return Result(status: process.terminationStatus, output: text)
    }

    /// Where the modules are that the tests were built with.
    private static func modules() throws -> String {
      final class Anchor {}
      var folder = Bundle(for: Anchor.self).bundleURL
      while folder.path != "/" {
        let modules = folder.appendingPathComponent("Modules").path
        if FileManager.default.fileExists(atPath: modules + "/LegacyStepwise.swiftmodule") { return modules }
        folder = folder.deletingLastPathComponent()
      }
      return try #require(nil, "no Modules beside the tests")
    }
  }
#endif
