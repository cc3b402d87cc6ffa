// SPDX-License-Identifier: MIT
// Copyright (c) 2026 Stepwise contributors

import Stepwise
import StepwiseTesting
import StepwiseTracing

/// What the tests of diagrams draw.
enum DiagramSamples {
  static let formats: [(suffix: String, format: DiagramFormat)] = [("txt", .text), ("mmd", .mermaid)]

  /// Names that mean something to Mermaid, to HTML, to Markdown or to a terminal.
  static let awkwardNames = [
    "end", "subgraph", "class", "digraph", "n1 --> n2", "say \"hi\"", "C:\\new\\", "two\nlines\r\nand\u{2028}more",
    "<b>bold</b> &amp; &", "#35; #quot;", "1. first", "- item", "`code` _a_ *b*", "%%{init: {}}%%", "$$x$$",
    "fa:fa-ban", "🧵 👩‍👩‍👧 é", "", "\u{1B}[31mred\u{0}", "}]; // {[(|)]}", "\\N \\G", "@{ shape: x }",
    "https://a.b/?c=d",
  ]

  static let policy = RetryPolicy(maxAttempts: 3, backoff: .none)

  static func order() -> Chain<Int, Int> {
    let stock = Chain("check stock") { (number: Int) in number }.then("reserve", undo: { _ in }) { $0 }
    let price = Chain("fetch price") { (number: Int) in number }.retry(policy).onError { _ in }
    let card = Chain("charge card", undo: { _ in }) { (number: Int) in number }
    let voucher = Chain("redeem voucher") { (number: Int) in number }.abandon(after: .seconds(2))
    return Chain("validate") { (number: Int) in number }
      .recover { _ in 0 }
      .appending(Chain.zip(stock, price))
      .then("total") { $0 + $1 }
      .executor(globalConcurrentExecutor)
      .appending(Chain.race(card, voucher))
      .timeout(.seconds(5))
      .appending(Chain("ship", undo: { _ in }) { (number: Int) in number }.finally { _ in })
      .then { $0 }
      .onError { _ in }
      .onError { _, _ in }
      .finally { _ in }
      .overlap(.serial)
  }

  static func awkward() -> Chain<Int, Int> {
    awkwardNames.reduce(Chain("start") { (number: Int) in number }) { chain, name in chain.then(name) { $0 } }
  }

  static func job() -> Job<String, Int, Int> {
    Job("track") { (name: String, job: JobContext<Int>) in name.count }
      .timeout(.seconds(5))
      .deadline(.seconds(30))
      .priority(.high)
      .onStart {}
      .onUpdate { _ in }
      .onUpdate { _ in }
      .onTimeout {}
      .onError(of: CancellationError.self) { _ in }
      .onError { _ in }
      .onFinish { _ in }
  }

  enum Upload: Progression, Equatable {
    case read(path: String), send(part: Int), confirm, done(Int)

    func next() async throws -> Upload {
      switch self {
      case .read: .send(part: 1)
      case .send(let part): part < 3 ? .send(part: part + 1) : .confirm
      case .confirm: .done(3)
      case .done: try completed()
      }
    }

    var result: Int? { if case .done(let parts) = self { parts } else { nil } }
  }

  enum Light: String, Progression, CaseIterable {
    case red, amber, green

    func next() async throws -> Light { self == .red ? .amber : .green }
    var result: Void? { self == .green ? () : nil }
  }

  /// All samples but the flow, by name and suffix.
  static func all() async throws -> [String: String] {
    var stages: [Upload] = []
    for try await stage in Upload.read(path: "a").stages { stages.append(stage) }
    var files: [String: String] = [:]
    for (suffix, format) in formats {
      files["order.\(suffix)"] = order().describe(format)
      files["names.\(suffix)"] = awkward().describe(format)
      files["job.\(suffix)"] = job().describe(format)
      files["upload.\(suffix)"] = Upload.describe(format, stages: stages)
      files["light.\(suffix)"] = Light.describe(format)
    }
    return files
  }
}
