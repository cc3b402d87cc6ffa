// SPDX-License-Identifier: MIT
// Copyright (c) 2026 Stepwise contributors

import CommandKit
import Foundation
import Stepwise
import StepwiseCheckpoints
import StepwiseTracing

extension Scene {
  /// A durable order whose process is killed, in the middle and during its undos.
  static let crash = Scene(
    "crash",
    "kill an order in the middle, and continue it",
    parameters: ["[<folder>]", "[<id>]", "[<step to die at>]"]
  ) { arguments in
    let folder =
      arguments.first.map { URL(fileURLWithPath: $0) }
      ?? FileManager.default.temporaryDirectory.appendingPathComponent("stepwise-order-\(UUID().uuidString)")
    if arguments.count > 1 {
      let order = DurableOrder(
        lastStep: arguments.count > 2 ? arguments[2] : nil,
        isSoldOut: arguments[1] == "sold out"
      )
      try await order.run(id: arguments[1], in: folder)
      return .success
    }
    defer { if arguments.isEmpty { try? FileManager.default.removeItem(at: folder) } }
    Console.writeLine("An order, whose process is killed while it charges, and again while it ships:\n")
    for step in ["charge", "ship 2", nil] { try await DurableOrder.start("lamp", in: folder, dyingAt: step) }
    Console.writeLine("\nAn order that fails, whose process is killed while it refunds:\n")
    for step in ["refund", nil] { try await DurableOrder.start("sold out", in: folder, dyingAt: step) }
    return .success
  }
}

struct SoldOut: Error, Codable, CustomStringConvertible {
  var description: String { "the second parcel is sold out" }
}

/// One process that runs an order.
private struct DurableOrder: Sendable {
  /// The step in which the process is killed.
  let lastStep: String?
  let isSoldOut: Bool

  /// Runs an order in a separate process.
  static func start(_ id: String, in folder: URL, dyingAt step: String?) async throws {
    let child = ChildProcess(arguments: ["crash", folder.path, id] + (step.map { [$0] } ?? []))
    let ending = try await Chain(ChildProcess.run).run(child)
    for line in ending.lines { Console.writeLine(line) }
    if ending.isKilled { Console.writeLine("  (killed)") }
  }

  private var chain: Chain<String, Int> {
    Chain("order") { (item: String) in
      try await step("reserve") {
        work("reserve")
      } undo: {
        work("release")
      }
      let receipt = try await step("charge") {
        work("charge")
        return 7
      } undo: { (receipt: Int) in
        work("refund")
      }
      for parcel in 1...2 {
        try await step("ship \(parcel)") {
          if parcel == 2, isSoldOut { throw SoldOut() }
          work("ship \(parcel)")
        }
      }
      return receipt
    }
  }

  private func work(_ name: String) {
    Console.writeLine("  \(name)")
    if name == lastStep { kill(getpid(), SIGKILL) }
  }

  func run(id: String, in folder: URL) async throws {
    let store = try FileCheckpointStore(directory: folder)
    let run = chain.start(id, id: id, in: store)
    switch await run.outcome {
    case .resolved(let receipt): Console.writeLine("  receipt \(receipt)\n")
    case .failed(let error): Console.writeLine("  \(error)\n")
    case .cancelled: Console.writeLine("  cancelled\n")
    }
    Console.writeLine(run.trace.text)
  }
}
