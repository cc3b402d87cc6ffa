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
    let run = Shop().order.start("a lamp")
    _ = await run.outcome
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

/// The order of the README, with a card network that is busy at first and a courier who loses the second parcel.
private actor Shop {
  struct NetworkBusy: Error, CustomStringConvertible {
    let description = "the card network is busy"
  }

  private var charges = 0

  nonisolated var order: Chain<String, Int> {
    Chain("order") { (item: String) in
      try await step("reserve") {
        try await work(60)
      } undo: {
        try await work(50)
      }
      let receipt = try await step("charge", retry: .init(maxAttempts: 3, backoff: .constant(.milliseconds(60)))) {
        try await self.charge()
      } undo: { _ in
        try await work(70)
      }
      for (parcel, milliseconds) in [(1, 80), (2, 60_000)] {
        try await step("ship \(parcel)", timeout: .milliseconds(200)) { try await work(milliseconds) }
      }
      async let mail: Void = step("mail") { try await work(40) }
      async let invoice: Void = step("invoice") { try await work(50) }
      _ = try await (mail, invoice)
      return receipt
    }
  }

  /// Returns the number of the receipt.
  private func charge() async throws -> Int {
    charges += 1
    let attempt = charges
    try await work(70)
    if attempt == 1 { throw NetworkBusy() }
    return attempt
  }
}

private func work(_ milliseconds: Int) async throws {
  try await Task.sleep(for: .milliseconds(milliseconds))
}
