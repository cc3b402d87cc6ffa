// SPDX-License-Identifier: MIT
// Copyright (c) 2026 Stepwise contributors

import Foundation
import Stepwise
import StepwiseTesting
import StepwiseTracing
import Testing

@Suite(.timeLimit(.minutes(5)))
struct ReadmeObservationTests {
  let printed = Recorder<String>()

  @Test func `Events report what happens`() async {
    let print = Printer(printed: printed)
    let chain = Chain("load") { (number: Int) in number }.then("double") { $0 * 2 }

    let run = chain.start(21)
    for await event in run.events {
      switch event {
      case .stepStarted(let step): print("\(step) began")
      case .stepFinished(let step, _, let error): print("\(step) \(error == nil ? "is done" : "failed")")
      case .ended(let state): print("ended: \(state)")
      default: break
      }
    }

    #expect(
      printed.elements == ["load began", "load is done", "double began", "double is done", "ended: succeeded with Int"]
    )
  }

  @Test func `Progress is reported from inside a step`() async throws {
    @Sendable func process(_ row: Int) async {}
    let rows = [1, 2, 3, 4]

    let work = Chain("import") { (rows: [Int]) in
      for (done, row) in rows.enumerated() {
        await process(row)
        StepProgress.report(Double(done + 1) / Double(rows.count))
      }
    }

    let run = work.start(rows)
    for await progress in run.progress {
      printed.record("\(progress.step): \(Int(progress.fractionCompleted * 100)) %")
    }

    #expect(printed.elements.last == "import: 100 %")
    try await run.value
  }

  private struct CardRefused: Error {}

  @Test func `A trace shows what a run did`() async {
    let print = Printer(printed: printed)
    let checkout = Chain("reserve", undo: { _ in }) { (item: String) in item }
      .then("pay") { (_: String) -> String in throw CardRefused() }

    let run = checkout.start("a lamp")
    _ = await run.outcome
    print(run.trace.text)

    let traced = await trace { try await checkout.run("a lamp") }
    print(traced.trace.text)
    let order = try? traced.value

    #expect(order == nil)
    #expect(printed.elements.count == 2)
    for text in printed.elements {
      let words = text.split(separator: "\n").map { $0.split(separator: " · ").dropLast().joined(separator: " · ") }
      #expect(
        words == ["reserve → pay · failed: CardRefused()", "├─ reserve · undone", "├─ pay · failed: CardRefused()", ""]
      )
    }
  }

  @Test
  func `A chain describes its steps, and what covers them`() {
    let print = Printer(printed: printed)

    let picture = Chain("download") { (url: URL) in try await download(url) }
      .retry(RetryPolicy(maxAttempts: 3, backoff: .none))
      .then("reserve", undo: { _ in }) { data in data }
      .appending(Chain("decode") { data in try Image(data) }.timeout(.seconds(5)))
      .finally { _ in }
    print(picture.describe(.text))

    #expect(
      printed.elements == [
        """
        - retry up to 3 attempts
          - download
        - reserve, with undo
        - chain
          - timeout 5.0 seconds
            - decode
        - finally: 1 handler

        """
      ]
    )
    #expect(picture.describe(.mermaid).hasPrefix("flowchart TD\n"))
  }

  @MainActor
  private final class Bar {
    var value = 0.0
    var text = "" { didSet { texts.append(text) } }
    private(set) var texts: [String] = []
  }

  @MainActor
  @Test
  func `A progress bar has the name of a file and a percentage`() async throws {
    let (bar, files) = (Bar(), ["a.txt", "b.txt"])
    @Sendable func load(_ file: String) async throws {}

    let importing = Chain("import") { (files: [String]) in
      StepProgress.expect(steps: files.count)
      for file in files { try await step(file) { try await load(file) } }
    }

    let run = importing.start(files)
    for await progress in run.progress {
      bar.value = progress.fractionCompleted
      bar.text = "\(progress.step): \(Int(progress.fractionCompleted * 100)) %"
    }

    #expect(bar.value == 1)
    #expect(bar.texts.last == "b.txt: 100 %")
  }
}
