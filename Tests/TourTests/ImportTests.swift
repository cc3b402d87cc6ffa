// SPDX-License-Identifier: MIT
// Copyright (c) 2026 Stepwise contributors

import Foundation
import Testing

@testable import Tour

/// The import of a text, as a program that is killed and begun again.
///
/// One after the other, because the demonstration has one folder.
@Suite(.serialized, .timeLimit(.minutes(5))) struct ImportTests {
  private static let text = [UInt8]("One fish, two fish.\nRed FISH\n\nblue fish: one".utf8)

  @Test func `The scene is killed and continues to the same count`() async throws {
    let result = try await TourProcess.run(["import"])
    #expect(result.exitCode == 0 && result.error == "")
    #expect(result.lines.contains { line in line.contains("resumes at: count: ") })
    #expect(result.lines.contains("  done: 60000 lines, 540000 words"), "\(result.output)")
    #expect(result.lines.last == "An undisturbed child counts the same.")
  }

  @Test func `Your own file is counted and nothing else is left`() async throws {
    let workshop = try Workshop()
    try workshop.write(Self.text, to: "fish.txt")
    let result = try await TourProcess.run(["import", "fish.txt"], in: workshop.directory)
    #expect(result.exitCode == 0 && result.error == "")
    #expect(
      result.lines == [
        "read", "count: 0 lines in 0 of 44 bytes", "count: 4 lines in 44 of 44 bytes", "done: 4 lines, 9 words",
      ]
    )
    #expect(try workshop.names == ["fish.txt"])
  }

  @Test func `A missing file is reported in one line`() async throws {
    let workshop = try Workshop()
    let result = try await TourProcess.run(["import", "none.txt"], in: workshop.directory)
    #expect(result.exitCode == 1 && result.errorLines.count == 1)
    #expect(result.error.contains("none.txt: No such file"))
    #expect(try workshop.names.isEmpty)
  }

  @Test func `Ctrl-C stops and the same command continues`() async throws {
    let workshop = try Workshop()
    try workshop.write(SampleText.bytes, to: "long.txt")
    let first = try await TourProcess.run(["import", "long.txt"], in: workshop.directory) { output in
      output.contains("\ncount: 1")
    }
    #expect(first.exitCode == 130 && first.error == "Tour: cancelled: SIGINT\n")
    let second = try await TourProcess.run(["import", "long.txt"], in: workshop.directory)
    #expect(second.exitCode == 0)
    #expect(second.lines.first?.hasPrefix("resumes at: count: ") == true, "\(second.output)")
    #expect(try workshop.names == ["long.txt"])
  }

  @Test
  func `Ctrl-C during the demonstration ends its child, and is one line`() async throws {
    let result = try await TourProcess.run(["import"]) { output in output.contains("A child process imports") }
    #expect(result.exitCode == 130 && result.error == "Tour: cancelled: SIGINT\n", "\(result.error)")
  }

  @Test func `A changed file is imported again`() async throws {
    let workshop = try Workshop()
    try workshop.write(SampleText.bytes, to: "text.txt")
    _ = try await TourProcess.run(["import", "text.txt"], in: workshop.directory) { output in
      output.contains("\ncount: 1")
    }
    try workshop.write(Self.text, to: "text.txt")
    let result = try await TourProcess.run(["import", "text.txt"], in: workshop.directory)
    #expect(result.exitCode == 0)
    #expect(result.lines.first == "The file has changed since the import started: it starts over.")
    #expect(result.lines.last == "done: 4 lines, 9 words")
  }

  @Test func `A directory that the import did not create is not removed`() async throws {
    let workshop = try Workshop()
    try workshop.write(Self.text, to: "fish.txt")
    let folder = workshop.directory.appendingPathComponent("fish.txt.import")
    try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: false)
    try workshop.write([UInt8]("mine".utf8), to: "fish.txt.import/notes")
    let work = try await TourProcess.run(["import", "fish.txt"], in: workshop.directory)
    #expect(work.exitCode == 1 && work.errorLines.count == 1 && work.output == "")
    #expect(work.error.contains("fish.txt.import' is there already; move or remove it first"))
    #expect(try FileManager.default.contentsOfDirectory(atPath: folder.path) == ["notes"])
  }

  @Test func `Different spellings of a path are the same text`() async throws {
    let workshop = try Workshop()
    try workshop.write(SampleText.bytes, to: "text.txt")
    _ = try await TourProcess.run(["import", "text.txt"], in: workshop.directory) { output in
      output.contains("\ncount: 1")
    }
    let result = try await TourProcess.run(["import", "./text.txt"], in: workshop.directory)
    #expect(result.exitCode == 0)
    #expect(result.lines.first?.hasPrefix("resumes at: count: ") == true, "\(result.output)")
  }

  /// Every line is read once, wherever the batches end.
  @Test(arguments: 1...50) func `Batches divide a text at line ends`(size: Int) throws {
    let workshop = try Workshop()
    try workshop.write(Self.text, to: "text.txt")
    let source = try ImportSource(workshop.directory.appendingPathComponent("text.txt").path)
    var (bytes, end): ([UInt8], Int) = ([], 0)
    while end < source.byteCount {
      end = min(end + size, source.byteCount)
      guard bytes.count < end else { continue }
      let batch = try source.lines(from: bytes.count, upTo: end)
      bytes += batch
      #expect(batch.last == UInt8(ascii: "\n") || bytes.count == source.byteCount)
    }
    #expect(bytes == Self.text)
  }
}
