// SPDX-License-Identifier: MIT
// Copyright (c) 2026 Stepwise contributors

import Foundation
import Testing

@testable import Tour

/// What the scenes tell, word for word, and that they tell the same each time.
@Suite(.timeLimit(.minutes(5))) struct SceneTests {
  /// The lines, from the first that says it on.
  private func lines(_ scene: String, from start: String) async throws -> [String] {
    let result = try await TourProcess.run([scene])
    #expect(result.exitCode == 0)
    #expect(result.error == "")
    let lines = result.lines
    return Array(lines[(lines.firstIndex { line in line.hasPrefix(start) } ?? 0)...])
  }

  @Test func `The halved picture is saved`() async throws {
    let start = ContinuousClock.now
    let result = try await TourProcess.run([])
    #expect(ContinuousClock.now - start > .seconds(1.5))  // otherwise the bar would not be visible
    #expect(result.exitCode == 0)
    #expect(result.error == "")
    #expect(result.lines.contains("before  450 x 300"))
    #expect(result.lines.contains("after   225 x 150"))
    #expect(result.lines.filter { line in line.contains("%  download") }.count >= 2)
    let words = result.output.split(whereSeparator: \.isWhitespace)
    let path = try #require(words.first { word in word.hasPrefix("/") && word.hasSuffix(".bmp") })
    #expect(path.hasPrefix(FileManager.default.temporaryDirectory.path))
    let saved = try Bitmap(bmp: [UInt8](Data(contentsOf: URL(fileURLWithPath: String(path)))))
    #expect(try saved == Bitmap(bmp: SamplePicture.load()).halved())
  }

  @Test func `The scene cancels`() async throws {
    #expect(
      try await lines("cancel", from: "The first") == [
        "The first bytes are here. Now: token.cancel(reason: \"the user went back\")",
        "  finally: the run was cancelled: the user went back",
        "  server:  the client closed the connection",
        "Ended: cancelled, because the user went back; the step \"decode\" never ran.",
      ]
    )
  }

  @Test func `The scene retries`() async throws {
    #expect(
      try await lines("retry", from: "Today") == [
        "Today:",
        "  server: request 1, out of order (503)",
        "  server: request 2, hangs up in the middle of the answer",
        "  server: request 3, answers",
        "  answer: sunny, after 3 attempts",
        "Yesterday:",
        "  server: request 1, knows of no such thing (404)",
        "  error:  not found, after 1 attempt, since another would end in the same way",
      ]
    )
  }

  @Test func `The scene undoes`() async throws {
    #expect(
      try await lines("undo", from: "  booked") == [
        "  booked   flight to Lisbon", "  booked   hotel by the sea", "  paying",
        "  undone   hotel by the sea", "  undone   flight to Lisbon",
        "  onError  the card was refused", "  finally  the desk is closed",
        "Ended: the card was refused; nothing is left booked.",
      ]
    )
  }

  @Test func `The scene survives misbehaving callbacks`() async throws {
    #expect(
      try await lines("callbacks", from: "Twice") == [
        "Twice: the first call counts, the second is reported.",
        "  resolver.resolve(20) counts: true",
        "  ResolverMisuse: called 2 times",
        "  resolver.resolve(99) counts: false",
        "  value: 20",
        "Never: releasing the resolver is an error instead of an endless wait.",
        "  error: ResolverError.abandoned",
        "Never, and the resolver is retained: .timeout(.milliseconds(200)) ends the wait.",
        "  error: measure did not end within 0.2 seconds",
        "After cancel: the run has completed, and `onLateValue` receives the value.",
        "  onCancel: the screen was closed",
        "  finally",
        "  onLateValue: 20",
        "  resolver.resolve(20) counts: false",
      ]
    )
  }

  @Test func `The scene logs in`() async throws {
    #expect(
      try await lines("login", from: "The right") == [
        "The right password:",
        "  onStart:   Logging in...",
        "  onUpdate:  Logged in, with the token 4711!",
        "  onFinish:  Logged in successfully!",
        "A wrong password:",
        "  onStart:   Logging in...",
        "  onFinish:  Invalid username/password!",
        "A server that thinks for a minute, and .timeout(.milliseconds(300)):",
        "  onStart:   Logging in...",
        "  onTimeout: the server does not answer",
        "  onFinish:  not logged in",
        "The same, and the user leaves the screen:",
        "  onStart:   Logging in...",
        "  run.cancel(reason: \"the user left\")",
        "Ended: cancelled, because the user left; no further handler ran.",
      ]
    )
  }

  @Test func `The scene shows, edits, downloads and updates a profile`() async throws {
    let lines = try await lines("profile", from: "Profile")
    let trouble = try #require(lines.firstIndex { line in line.hasPrefix("Trouble") })
    #expect(
      Array(lines[..<trouble]) == [
        "Profile: Grace, changed 0 times", "> edit",
        "Edit name: Grace", "> b 1",
        "Profile: Grace, changed 0 times", "> edit",
        "Edit name: Grace", "> Ada Lovelace",
        "Profile: Ada Lovelace, changed 1 times", "> download",
        "Profile: Ada Lovelace, changed 1 times", "> kill",
      ]
    )
    #expect(lines[trouble].hasPrefix("Trouble: the download failed: the connection was lost"))
    #expect(
      Array(lines[(trouble + 1)...]).prefix(5) == [
        "> back", "Profile: Ada Lovelace, changed 1 times", "> quit",
        "Ended with Ada Lovelace. The answers that led there:", "  profile: quit",
      ]
    )
  }

  @Test func `The tour lists itself`() async throws {
    let result = try await TourProcess.run(["--help"])
    #expect(result.exitCode == 0)
    #expect(result.error == "")
    #expect(result.output == Command.help())
    for name in ["thumbnail <file or http URL> <out.bmp>", "cancel", "retry", "undo", "callbacks", "login"] {
      #expect(result.output.contains("  swift run Tour \(name) "))
    }
  }

  @Test(arguments: [
    ["nothing"], ["thumbnail"], ["thumbnail", "a"], ["thumbnail", "a", "b", "c"], ["undo", "a"], [""],
  ])
  func `Nonsensical arguments are refused`(arguments: [String]) async throws {
    let result = try await TourProcess.run(arguments)
    #expect(result.exitCode == 2)
    #expect(result.output == "")
    #expect(result.errorLines.count == 1)
  }
}
