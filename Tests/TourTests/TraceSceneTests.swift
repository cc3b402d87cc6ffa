// SPDX-License-Identifier: MIT
// Copyright (c) 2026 Stepwise contributors

import Foundation
import Testing

@testable import Tour

/// The trace that the tour makes, and the picture of it in the README and in the articles.
@Suite(.timeLimit(.minutes(5))) struct TraceSceneTests {
  /// The rows of a picture: the names, and the outcome of each bar.
  ///
  /// Times and the grid differ from run to run.
  private func rows(_ svg: String) -> [String] {
    svg.split(separator: "\n").compactMap { line in
      if line.hasPrefix("<rect class=\""), !line.contains("\"page\"") {
        return String(line.dropFirst("<rect class=\"".count).prefix { $0 != "\"" })
      }
      guard line.hasPrefix("<text"), !line.contains("class=\"end\""), !line.contains("class=\"dim") else { return nil }
      return String(line.split(separator: ">")[1].prefix { $0 != "<" })
    }
  }

  @Test func `The README's picture is what the tour draws`() async throws {
    let folder = FileManager.default.temporaryDirectory.appendingPathComponent("trace-\(UUID())")
    defer { try? FileManager.default.removeItem(at: folder) }
    let result = try await TourProcess.run(["trace", folder.path])
    #expect(result.exitCode == 0)
    let made = try rows(String(contentsOf: folder.appendingPathComponent("trace.svg"), encoding: .utf8))
    let file = URL(fileURLWithPath: #filePath)
      .appendingPathComponent("../../../Sources/StepwiseTracing/Documentation.docc/Resources/trace.svg").standardized
    #expect(
      try rows(String(contentsOf: file, encoding: .utf8)) == made,
      "swift run Tour trace Sources/StepwiseTracing/Documentation.docc/Resources makes it again"
    )
    #expect(made.count == 10)
    #expect(made.suffix(2) == ["ship 2", "failed"])
    #expect(made.contains("succeeded undone"))
  }

  @Test func `The tree and the Perfetto file have the steps`() async throws {
    let folder = FileManager.default.temporaryDirectory.appendingPathComponent("trace-\(UUID())")
    defer { try? FileManager.default.removeItem(at: folder) }
    let result = try await TourProcess.run(["trace", folder.path])
    let data = try Data(contentsOf: folder.appendingPathComponent("trace.json"))
    let trace = try #require(try JSONSerialization.jsonObject(with: data) as? [String: Any])
    let events = try #require(trace["traceEvents"] as? [[String: Any]])
    let steps = Set(events.filter { $0["cat"] as? String == "step" }.compactMap { $0["name"] as? String })
    #expect(steps == ["order", "reserve", "charge", "ship 1", "ship 2"])
    for step in steps { #expect(result.output.contains(step)) }
    #expect(result.output.contains("attempt 1 failed: NetworkBusy"))
    #expect(result.output.contains("undid reserve"))
    #expect(result.output.contains(folder.appendingPathComponent("trace.svg").path))
  }

  @Test func `The order of the README is printed as a program, with what it prints`() async throws {
    let result = try await TourProcess.run(["order"])
    #expect(result.exitCode == 0)
    #expect(result.output.hasPrefix("import Stepwise\nimport StepwiseTracing\n\nstruct Cart"))
    #expect(result.output.contains("print(run.trace.text)\n\n// order · failed: ship 2 did not end within 0.2 seconds"))
    #expect(result.output.contains("\n// ╰─ undid reserve"))
  }
}
