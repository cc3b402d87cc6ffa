// SPDX-License-Identifier: MIT
// Copyright (c) 2026 Stepwise contributors

import Foundation
import StepwiseCheckpoints

/// A checkpoint as a JSON object, a line for each member.
enum CheckpointJSON {
  static func lines(of record: CheckpointRecord, _ summary: CheckpointSummary) throws -> [String] {
    let members = [
      ("id", try text(record.id)),
      ("progression", try text(record.progression)),
      ("schemaVersion", "\(record.schemaVersion)"),
      ("version", "\(record.version)"),
      ("lastSave", try text(summary.lastSave.formatted(.iso8601))),
      ("bytes", "\(summary.byteCount)"),
      ("file", try text(summary.location)),
      ("holder", summary.holder.map { $0.processID.map(String.init) ?? "\"unknown\"" } ?? "null"),
      ("first", try stage(record.first)),
      ("stage", try stage(record.stage)),
    ]
    let lines = members.map { name, value in "  \"\(name)\": \(printable(value))" }
    return ["{"] + lines.dropLast().map { $0 + "," } + lines.suffix(1) + ["}"]
  }

  private static func text(_ text: String) throws -> String {
    let encoder = JSONEncoder()
    encoder.outputFormatting = .withoutEscapingSlashes
    return String(decoding: try encoder.encode(text), as: UTF8.self)
  }

  /// A stage as it is stored, so that no number loses a digit; in base64 when it is not JSON.
  private static func stage(_ bytes: [UInt8]) throws -> String {
    let data = Data(bytes)
    let isJSON = (try? JSONSerialization.jsonObject(with: data, options: .fragmentsAllowed)) != nil
    return isJSON ? String(decoding: bytes, as: UTF8.self) : try text(data.base64EncodedString())
  }

  /// The value in one line, with the characters escaped that JSON allows in a text and that control a terminal.
  private static func printable(_ value: String) -> String {
    value.unicodeScalars.reduce(into: "") { line, scalar in
      switch scalar {
      // Between values, since a text has none.
      case "\n", "\r", "\t": line += " "
      case "\u{7F}"..."\u{9F}", "\u{2028}", "\u{2029}", "\u{202A}"..."\u{202E}", "\u{2066}"..."\u{2069}":
        let digits = String(scalar.value, radix: 16)
        line += "\\u" + String(repeating: "0", count: 4 - digits.count) + digits
      default: line.unicodeScalars.append(scalar)
      }
    }
  }
}
