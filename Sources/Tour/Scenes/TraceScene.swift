// SPDX-License-Identifier: MIT
// Copyright (c) 2026 Stepwise contributors

import Foundation
import Stepwise
import StepwiseTracing

extension Scene {
  /// An order that is traced: eight steps, a retry, branches, a time limit and an undo.
  static let trace = Scene(
    "trace",
    "show what a run did: as a tree, a picture, a Perfetto file",
    parameters: ["[<folder>]"]
  ) { arguments in
    let folder =
      arguments.first.map { URL(fileURLWithPath: $0) }
      ?? FileManager.default.temporaryDirectory.appendingPathComponent("stepwise-trace-\(getuid())")
    try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)

    Console.writeLine("A chain of eight steps places an order; the courier does not answer in time.\n")
    let run = Shop().order.start("a lamp")
    _ = await run.outcome
    Console.writeLine(run.trace.text)

    let picture = folder.appendingPathComponent("trace.svg").path
    let perfetto = folder.appendingPathComponent("trace.json").path
    try WholeFile.write(Array(run.trace.svg.utf8), to: picture)
    try WholeFile.write(Array(run.trace.chromeTrace.utf8), to: perfetto)
    Console.writeLine("picture, for a browser:              \(picture)")
    Console.writeLine("for ui.perfetto.dev, chrome://tracing: \(perfetto)")
    return .success
  }
}

/// A shop whose card network is busy at first, and whose courier is slow.
private actor Shop {
  struct NetworkBusy: Error, CustomStringConvertible {
    let description = "the card network is busy"
  }

  private var charges = 0

  nonisolated var order: Chain<String, String> {
    let quote = Chain<String, (Int, Int)>.zip(
      Chain("look up the price") { _ in try await work(90, returning: 40) },
      Chain("look up the postage") { _ in try await work(140, returning: 5) }
    )
    let payment = Chain("open a session") { (amount: Int) in try await work(40, returning: amount) }
      .then("charge the card", self.charge)
      .retry(RetryPolicy(maxAttempts: 3, backoff: .constant(.milliseconds(60))))
      .named("payment")
    return Chain("read the cart") { (item: String) in try await work(30, returning: item) }
      .then("reserve the item", undo: { _ in _ = try await work(50, returning: 0) }) { item in
        try await work(60, returning: item)
      }
      .appending(quote)
      .then("add up") { price, postage in price + postage }
      .appending(payment)
      .appending(
        Step("call the courier") { (amount: Int) in try await work(60_000, returning: "order of \(amount)") }
          .timeout(.milliseconds(200))
      )
      .named("place an order")
  }

  private func charge(_ amount: Int) async throws -> Int {
    charges += 1
    let isFirst = charges == 1
    let paid = try await work(70, returning: amount)
    if isFirst { throw NetworkBusy() }
    return paid
  }
}

/// Returns a value after a time.
private func work<Value: Sendable>(_ milliseconds: Int, returning value: Value) async throws -> Value {
  try await Task.sleep(for: .milliseconds(milliseconds))
  return value
}
