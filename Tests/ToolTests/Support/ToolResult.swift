// SPDX-License-Identifier: MIT
// Copyright (c) 2026 Stepwise contributors

import CommandKit
import Foundation
import Stepwise

@testable import stepctl

/// What a command wrote, and its exit code.
struct ToolResult: CustomStringConvertible {
  let code: ExitCode
  let output: String
  let error: String

  var lines: [String] { output.split(separator: "\n").map(String.init) }
  var description: String { "\(code): \(output)\(error)" }

  /// The output of a command with `--json`.
  var json: Any? { try? JSONSerialization.jsonObject(with: Data(output.utf8), options: .fragmentsAllowed) }
  var object: [String: Any]? { json as? [String: Any] }
  var list: [[String: Any]]? { json as? [[String: Any]] }
}

/// Runs a command as the program does.
func tool(_ arguments: [String]) async -> ToolResult {
  let written = Lock((output: "", error: ""))
  let code = await Tool.execute(arguments) { text, stream in
    written.withLock { written in
      switch stream {
      case .output: written.output += text
      case .error: written.error += text
      }
    }
  }
  return written.withLock { ToolResult(code: code, output: $0.output, error: $0.error) }
}

/// A directory for one test, which is removed with its last reference.
final class TemporaryDirectory: Sendable {
  let url: URL

  init() throws {
    url = FileManager.default.temporaryDirectory.appendingPathComponent("stepctl-\(UUID().uuidString)")
    try FileManager.default.createDirectory(at: url, withIntermediateDirectories: false)
  }

  deinit { try? FileManager.default.removeItem(at: url) }
}
