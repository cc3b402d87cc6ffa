// SPDX-License-Identifier: MIT
// Copyright (c) 2026 Stepwise contributors

import CommandKit
import Foundation
import Stepwise
import StepwiseTracing

extension Scene {
  /// The order of the README, as a program that can be pasted.
  static let order = Scene("order", "print the README's order as a whole program") { _ in
    let file = URL(filePath: #filePath).deletingLastPathComponent().appending(path: "Order.swift")
    guard let source = try? String(contentsOf: file, encoding: .utf8), let start = source.range(of: "import ") else {
      throw CommandError("\(file.path) is missing; use 'swift run Tour' in the folder of the package")
    }
    Console.writeLine(source[start.lowerBound...] + "\n" + ending + "\n")
    for line in await endedOrder().trace.text.split(separator: "\n") { Console.writeLine("// \(line)") }
    return .success
  }

  private static let ending = """
    let run = order.start(Cart(total: 30))
    _ = await run.outcome
    print(run.trace.text)
    """
}

/// Runs the order of the README to its end.
func endedOrder() async -> Run<Receipt> {
  let run = order.start(Cart(total: 30))
  _ = await run.outcome
  return run
}
