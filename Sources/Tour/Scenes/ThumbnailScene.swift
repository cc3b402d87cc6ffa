// SPDX-License-Identifier: MIT
// Copyright (c) 2026 Stepwise contributors

import Foundation
import Stepwise

extension Scene {
  /// The chain of the first scene, applied to the user's picture.
  static let thumbnail = Scene(
    "thumbnail",
    "do the same with your own picture",
    parameters: ["<file or http URL>", "<out.bmp>"]
  ) { arguments in
    try await halve(PictureSource.url(arguments[0]), into: arguments[1])
  }

  /// Halves a picture, shows the progress, and prints the outcome.
  static func halve(_ url: URL, into path: String) async throws -> ExitCode {
    let file = PartialFile(for: path)
    let halve = Chain(url.isFileURL ? Step.readFile : Step.download)
      .then("decode") { bytes in try Bitmap(bmp: bytes) }
      .then("halve") { picture in (before: picture, after: picture.scaled(by: 0.5)) }
      .then("save") { pictures in
        try file.complete(with: pictures.after.bmpBytes())
        return pictures
      }
      .finally { _ in file.remove() }
    Interrupts.onInterrupt { halve.cancellationToken.cancel(reason: "Ctrl-C") }

    try file.create()
    let run = halve.start(url)
    await ProgressBar().follow(run.progress)
    switch await run.outcome {
    case .resolved(let pictures):
      Console.writeLine("before  \(pictures.before.width) x \(pictures.before.height)")
      Console.writeLine("after   \(pictures.after.width) x \(pictures.after.height)")
      Console.writeLine("saved   \(path)")
      return .success
    case .failed(let error):
      throw error
    case .cancelled(let cancellation):
      Console.writeError("Tour: cancelled: \(cancellation.reason ?? "no reason given")")
      return .interrupted
    }
  }
}
