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
  private static let index = "blue 4\nfish 1 2 4\none 1 4\nred 2\ntwo 1\n"

  @Test func `The scene is killed and continues to the same bytes`() async throws {
    let result = try await TourProcess.run(["import"])
    #expect(result.exitCode == 0 && result.error == "")
    #expect(result.lines.contains { line in line.contains("resumes at: index batch") })
    #expect(result.lines.contains("  done: 60000 lines, 110 words"), "\(result.output)")
    #expect(result.lines.contains { line in line.contains("each the same as in that of an undisturbed run") })
  }

  @Test func `Your own file is indexed and nothing else is left`() async throws {
    let workshop = try Workshop()
    try workshop.write(Self.text, to: "fish.txt")
    let result = try await TourProcess.run(["import", "fish.txt"], in: workshop.directory)
    #expect(result.exitCode == 0 && result.error == "")
    #expect(
      result.lines == [
        "read", "split", "index batch 1 of 1", "write", "done: 4 lines, 5 words", "saved   fish.txt.index",
      ]
    )
    #expect(try workshop.names == ["fish.txt", "fish.txt.index"])
    #expect(try String(decoding: workshop.bytes(of: "fish.txt.index"), as: UTF8.self) == Self.index)
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
      output.contains("index batch 2 ")
    }
    #expect(first.exitCode == 130 && first.error == "Tour: cancelled: SIGINT\n")
    let second = try await TourProcess.run(["import", "long.txt"], in: workshop.directory)
    #expect(second.exitCode == 0)
    #expect(second.lines.first?.hasPrefix("resumes at: index batch") == true, "\(second.output)")
    #expect(try workshop.names == ["long.txt", "long.txt.index"])
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
      output.contains("index batch 2 ")
    }
    try workshop.write(Self.text, to: "text.txt")
    let result = try await TourProcess.run(["import", "text.txt"], in: workshop.directory)
    #expect(result.exitCode == 0)
    #expect(result.lines.first == "The file has changed since the import started: it starts over.")
    #expect(try String(decoding: workshop.bytes(of: "text.txt.index"), as: UTF8.self) == Self.index)
  }

  @Test func `Files that the import did not create are not replaced`() async throws {
    let workshop = try Workshop()
    try workshop.write(Self.text, to: "fish.txt")
    try workshop.write([UInt8]("mine".utf8), to: "fish.txt.index.partial")
    try workshop.write([UInt8]("mine".utf8), to: "fish.txt.index")
    let index = try await TourProcess.run(["import", "fish.txt"], in: workshop.directory)
    #expect(index.exitCode == 1 && index.errorLines.count == 1 && index.output == "")
    #expect(index.error.contains("fish.txt.index' is there already; move or remove it first"))
    #expect(try workshop.bytes(of: "fish.txt.index") == [UInt8]("mine".utf8))
    #expect(try workshop.names == ["fish.txt", "fish.txt.index", "fish.txt.index.partial"])
    try FileManager.default.removeItem(at: workshop.directory.appendingPathComponent("fish.txt.index"))

    let folder = workshop.directory.appendingPathComponent("fish.txt.index.work")
    try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: false)
    try workshop.write([UInt8]("mine".utf8), to: "fish.txt.index.work/notes")
    let work = try await TourProcess.run(["import", "fish.txt"], in: workshop.directory)
    #expect(work.exitCode == 1 && work.errorLines.count == 1 && work.output == "")
    #expect(work.error.contains("fish.txt.index.work' is there already; move or remove it first"))
    #expect(try FileManager.default.contentsOfDirectory(atPath: folder.path) == ["notes"])
    try FileManager.default.removeItem(at: folder)

    let done = try await TourProcess.run(["import", "fish.txt"], in: workshop.directory)
    #expect(done.exitCode == 0 && done.error == "")
    #expect(try workshop.names == ["fish.txt", "fish.txt.index", "fish.txt.index.partial"])
    #expect(try workshop.bytes(of: "fish.txt.index.partial") == [UInt8]("mine".utf8))
  }

  @Test func `Different spellings of a path are the same text`() async throws {
    let workshop = try Workshop()
    try workshop.write(SampleText.bytes, to: "text.txt")
    _ = try await TourProcess.run(["import", "text.txt"], in: workshop.directory) { output in
      output.contains("index batch 2 ")
    }
    let result = try await TourProcess.run(["import", "./text.txt"], in: workshop.directory)
    #expect(result.exitCode == 0)
    #expect(result.lines.first?.hasPrefix("resumes at: index batch") == true, "\(result.output)")
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
