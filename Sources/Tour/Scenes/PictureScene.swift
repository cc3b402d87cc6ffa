// SPDX-License-Identifier: MIT
// Copyright (c) 2026 Stepwise contributors

import CommandKit
import Foundation
import Loopback
import Stepwise
import StepwiseTracing

extension Scene {
  /// The default scene: everything in it is on this machine.
  static let picture = Scene(nil, "fetch, decode, halve and save a picture, all on this machine") { _ in
    let picture = try SamplePicture.load()
    let server = try LoopbackServer(routes: [
      "/cat.bmp": { _ in .ok(picture).slowly(chunkSize: 8192, pause: .milliseconds(40)) }
    ])
    defer { server.stop() }
    Console.writeLine("A server on this machine has a picture of a cat, and sends it slowly.")
    Console.writeLine(
      "One chain downloads, decodes, halves and saves it; Ctrl-C cancels it and leaves nothing behind.\n"
    )

    // A folder of this user, apart from the files of other users of the machine.
    let folder = FileManager.default.temporaryDirectory
    let path = folder.appendingPathComponent("stepwise-cat-\(getuid()).bmp").path
    return try await halve(server.address + "/cat.bmp", into: path)
  }

  /// The chain of the first scene, applied to the user's picture.
  static let thumbnail = Scene(
    "thumbnail",
    "do the same with your own picture",
    parameters: ["<file or http URL>", "<out.bmp>"]
  ) { arguments in
    try await halve(arguments[0], into: arguments[1])
  }

  /// Halves a picture, shows the progress, and prints the outcome.
  private static func halve(_ source: String, into path: String) async throws -> ExitCode {
    let halve = Chain(source.contains("://") ? Step.download : Step.readFile)
      .then("decode") { bytes in try Bitmap(bmp: bytes) }
      .then("halve") { picture in (before: picture, after: picture.halved()) }
      .then("save") { pictures in
        try Files.write(pictures.after.bmpBytes(), to: path)
        return pictures
      }

    let run = halve.start(source)
    var bar = ProgressBar()
    await bar.follow(run.progress)
    let pictures = try await run.outcome.get()
    Console.writeLine("before  \(pictures.before.width) x \(pictures.before.height)")
    Console.writeLine("after   \(pictures.after.width) x \(pictures.after.height)")
    Console.writeLine("saved   \(path)")
    return .success
  }
}

/// The picture that is part of the tour, a BMP file.
///
/// Chelsea the cat, photographed by Stéfan van der Walt, CC0, from scikit-image's sample data, cropped.
enum SamplePicture {
  /// The bytes of the file.
  ///
  /// - Throws: `CommandError` when it is not among the resources.
  static func load() throws -> [UInt8] {
    guard let file = Bundle.module.url(forResource: "cat", withExtension: "bmp") else {
      throw CommandError("the sample picture (stepwise_Tour.resources/cat.bmp) is missing; use 'swift run Tour'")
    }
    return [UInt8](try Data(contentsOf: file))
  }
}

/// Shows the progress of some work: one line that is redrawn on a terminal, otherwise a plain line at each tenth.
struct ProgressBar {
  private static let width = 24

  var isTerminal = Console.isTerminal
  var write: (String) -> Void = { text in Console.print(text, to: .output) }
  private var percent = -1
  /// The content of the terminal's line.
  private var line = ""

  /// Shows the progress of a run until it completes.
  mutating func follow(_ progress: some AsyncSequence<ChainProgress, Never>) async {
    for await update in progress { show(fraction: update.fractionCompleted, label: update.step) }
    if !line.isEmpty { write("\n") }
  }

  /// Shows a fraction between 0 and 1 and a label; a smaller fraction than before does not move the bar.
  mutating func show(fraction: Double, label: String) {
    let before = percent
    percent = max(before, fraction > 0 ? Int(min(fraction, 1) * 100) : 0)
    let digits = String(repeating: " ", count: 3 - String(percent).count) + "\(percent)%"
    // Cut, because a line that is longer than the terminal's width cannot be redrawn.
    let text = "\(digits)  \(label.onOneLine.prefix(40))"
    guard isTerminal else {
      if before < 0 || percent / 10 > before / 10 { write(text + "\n") }
      return
    }
    let filled = percent * Self.width / 100
    let bar = String(repeating: "#", count: filled) + String(repeating: ".", count: Self.width - filled)
    let leftover = String(repeating: " ", count: max(0, line.count - text.count))
    guard text != line else { return }
    write("\r[\(bar)] \(text)\(leftover)")
    line = text
  }
}
