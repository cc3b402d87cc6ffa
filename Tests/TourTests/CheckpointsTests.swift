// SPDX-License-Identifier: MIT
// Copyright (c) 2026 Stepwise contributors

import Foundation
import Stepwise
import StepwiseCheckpoints
import Testing

@testable import Tour

/// The scene that looks into the folder of a checkpoint store.
@Suite(.timeLimit(.minutes(5))) struct CheckpointsTests {
  enum Word: Progression, Codable {
    case spell(letters: [String], seed: UInt64), spelled(String)

    func next() async throws -> Word {
      guard case .spell(let letters, _) = self else { return try completed() }
      return .spelled(letters.joined())
    }

    var result: String? { if case .spelled(let word) = self { word } else { nil } }
  }

  private let workshop: Workshop
  private let folder: String

  init() throws {
    workshop = try Workshop()
    folder = workshop.directory.appending(path: "store").path
  }

  private func store() throws -> FileCheckpointStore {
    try FileCheckpointStore(directory: URL(fileURLWithPath: folder))
  }

  private func tour(_ arguments: String...) async throws -> [String] {
    try await CheckpointCommand(arguments).run(now: Date())
  }

  private func failure(_ arguments: String...) async -> String {
    do {
      return "\(try await CheckpointCommand(arguments).run(now: Date()))"
    } catch {
      return "\(error)"
    }
  }

  @Test("An interrupted import is listed, shown as JSON and removed")
  func showsAnImport() async throws {
    try workshop.write(SampleText.bytes, to: "long.txt")
    let interrupted = try await TourProcess.run(["import", "long.txt"], in: workshop.directory) { output in
      output.contains("index batch 2 ")
    }
    #expect(interrupted.exitCode == 130)
    let folder = try #require(try workshop.names.first { $0 != "long.txt" })
    let list = try await TourProcess.run(["checkpoints", folder], in: workshop.directory)
    #expect(list.exitCode == 0 && list.error == "")
    #expect(list.lines.count == 2)
    let words = try #require(list.lines.last).split(separator: " ").map(String.init)
    #expect(words.first == "import" && words.contains("index") && words.last == "free", "\(list.output)")

    let shown = try await TourProcess.run(["checkpoints", folder, "show", "import"], in: workshop.directory)
    let object = try #require(try JSONSerialization.jsonObject(with: Data(shown.outputBytes)) as? [String: Any])
    #expect(object["id"] as? String == "import")
    #expect(object["progression"] as? String == "Tour.TextImport")
    #expect((object["stage"] as? [String: Any])?.keys.contains("index") == true)
    #expect(object["holder"] is NSNull)

    let removed = try await TourProcess.run(["checkpoints", folder, "remove", "import"], in: workshop.directory)
    #expect(removed.lines == ["removed  import"])
    let empty = try await TourProcess.run(["checkpoints", folder], in: workshop.directory)
    #expect(empty.exitCode == 1 && empty.errorLines.count == 1)
    #expect(empty.error.contains("there are no checkpoints in '\(folder)'"))
  }

  @Test("A checkpoint that a run holds is removed with --force only, and its run then fails")
  func refusesAHeldOne() async throws {
    let store = try store()
    await #expect(throws: CheckpointError.self) {
      for try await stage in Word.spell(letters: ["a"], seed: 1).stages(id: "word", in: store) {
        guard case .spell = stage else { break }
        let process = ProcessInfo.processInfo.processIdentifier
        #expect(try await tour(folder).last?.hasSuffix("process \(process)") == true)
        let refusal = await failure(folder, "remove", "word")
        #expect(refusal.hasPrefix("process \(process) is running 'word', which was not removed; "), "\(refusal)")
        #expect(refusal.contains("--force"))
        #expect(try await store.load("word") != nil)
        let removed = try await tour(folder, "remove", "word", "--force")
        #expect(removed == ["removed  word, which process \(process) held; its run fails at the next stage"])
      }
    }
    #expect(try await store.load("word") == nil)
  }

  @Test("A damaged checkpoint is listed with the reason, and can be removed")
  func listsADamagedOne() async throws {
    let store = try store()
    _ = try await Word.spell(letters: [], seed: 1).run(id: "good", in: store)
    _ = try await Word.spell(letters: [], seed: 1).run(id: "bad", in: store)
    try Data("no such thing".utf8).write(to: URL(fileURLWithPath: store.location(of: "bad")))
    let lines = try await tour(folder)
    #expect(lines.count == 4)
    #expect(lines[1].hasPrefix("bad   damaged"), "\(lines)")
    #expect(lines[2].hasPrefix("  it is damaged: it does not start with STEPWISE"), "\(lines)")
    #expect(await failure(folder, "show", "bad").contains("it is damaged"))
    #expect(try await tour(folder, "remove", "bad") == ["removed  bad"])
    #expect(try await tour(folder).count == 2)
  }

  @Test("What cannot be done is said in a line with the way out, and nothing is created")
  func saysWhatToDo() async throws {
    #expect(await failure(folder).hasPrefix("there is no folder '\(folder)'; name the folder"))
    #expect(try workshop.names == [])
    try workshop.write([], to: "file")
    let file = workshop.directory.appending(path: "file").path
    #expect(await failure(file).hasPrefix("'\(file)' is a file; name the folder"))
    #expect(await failure(workshop.directory.path).hasPrefix("there are no checkpoints in "))
    #expect(try workshop.names == ["file"])
    _ = try await Word.spell(letters: [], seed: 1).run(id: "é", in: store())
    let missing = await failure(folder, "show", "e\u{301}")
    #expect(missing.contains("there is no checkpoint"))
    #expect(missing.contains("'swift run Tour checkpoints \(folder)' lists them"))
    #expect(await failure(folder, "remove", "other").contains("there is no checkpoint 'other'"))
    for arguments in [["show"], ["remove"], ["drop", "a"], ["show", "a", "--force"], ["remove", "--force"]] {
      #expect(throws: UsageError.self) { try CheckpointCommand([folder] + arguments) }
    }
  }

  @Test("JSON keeps every digit and escapes what controls a terminal")
  func isExact() async throws {
    let store = try store()
    let word = Word.spell(letters: ["\u{1B}[31m", "\u{9B}", "\u{202E}", "é"], seed: .max)
    for try await _ in word.stages(id: "a", in: store) { break }
    let text = try await tour(folder, "show", "a").joined(separator: "\n")
    #expect(text.contains("\"seed\":18446744073709551615"), "\(text)")
    #expect(!text.unicodeScalars.contains { $0.properties.generalCategory == .control && $0 != "\n" })
    let object = try #require(try JSONSerialization.jsonObject(with: Data(text.utf8)) as? [String: Any])
    let stage = try JSONSerialization.data(withJSONObject: try #require(object["stage"]))
    guard case .spell(let letters, _) = try JSONDecoder().decode(Word.self, from: stage) else {
      Issue.record("another stage")
      return
    }
    #expect(letters == ["\u{1B}[31m", "\u{9B}", "\u{202E}", "é"])
  }

  @Test("Overrides of the writing direction in an id are escaped wherever it is printed")
  func escapesOverrides() async throws {
    let store = try store()
    let (id, escaped) = ("pay\u{202E}eno\u{2066}", "pay\\u{202E}eno\\u{2066}")
    for try await _ in Word.spell(letters: [], seed: 1).stages(id: id, in: store) { break }
    #expect(try await tour(folder).last?.hasPrefix("\(escaped)  ") == true)
    let shown = try await tour(folder, "show", id)
    #expect(shown.joined().contains(#"pay\u202eeno\u2066"#))
    #expect(try await tour(folder, "remove", id) == ["removed  \(escaped)"])
    #expect(Console.oneLine("no \(id)") == "no \(escaped)")
  }

  @Test("Ages and sizes are short")
  func areShort() {
    #expect(
      [-5, 0, 59.9, 60, 7199, 86400 * 3].map(CheckpointTable.age) == ["0 s", "0 s", "59 s", "1 min", "1 h", "3 d"]
    )
    #expect(
      [0, 1023, 1024, 1_048_575, 1 << 30].map(CheckpointTable.size) == [
        "0 B", "1023 B", "1.0 KiB", "1023.9 KiB", "1.0 GiB",
      ]
    )
  }
}
