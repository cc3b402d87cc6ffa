// SPDX-License-Identifier: MIT
// Copyright (c) 2026 Stepwise contributors

import CommandKit
import Foundation
import Stepwise
import StepwiseTracing

extension Scene {
  /// An order that is traced, with a retry, a time limit and two undos.
  static let trace = Scene(
    "trace",
    "show what a run did: as a tree, a picture, a Perfetto file",
    parameters: ["[<folder>]"]
  ) { arguments in
    let folder =
      arguments.first.map { URL(fileURLWithPath: $0) }
      ?? FileManager.default.temporaryDirectory.appendingPathComponent("stepwise-trace-\(getuid())")
    try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)

    Console.writeLine("A chain places an order; the courier does not ship the second parcel in time.\n")
    let run = await endedOrder()
    Console.writeLine(run.trace.text)

    let picture = folder.appendingPathComponent("trace.svg").path
    let perfetto = folder.appendingPathComponent("trace.json").path
    try Files.write(Array(run.trace.svg.utf8), to: picture)
    try Files.write(Array(run.trace.chromeTrace.utf8), to: perfetto)
    Console.writeLine("picture, for a browser:              \(picture)")
    Console.writeLine("for ui.perfetto.dev, chrome://tracing: \(perfetto)")
    return .success
  }
}
