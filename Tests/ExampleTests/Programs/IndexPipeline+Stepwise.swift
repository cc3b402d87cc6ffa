// SPDX-License-Identifier: MIT
// Copyright (c) 2026 Stepwise contributors

import Stepwise
import StepwiseTesting

func indexWithStepwise(_ library: Library, interrupts: AsyncStream<Void>) async {
  let read = Chain("read") { (name: String) in try await library.read(name) }
    .retry(RetryPolicy(maxAttempts: 3, backoff: .exponential(from: .milliseconds(100))), clock: library.clock)
  let pipeline = Chain("list") { await library.names() }
    .thenMap("read", maxConcurrent: 4) { name in try await read.run(name) }
    .then("count") { texts in countedWords(texts) }
    .then("write", undo: { _ in await library.removeIndex() }) { index in await library.write(index) }
    .then("publish") { count in try await library.publish(count) }
    .finally { _ in await library.close() }
  let run = pipeline.start()
  async let progress: Void = {
    for await progress in run.progress {
      library.console.record("\(progress.step) \(Int(progress.fractionCompleted * 100)) %")
    }
  }()
  let interrupt = Task { for await _ in interrupts { run.cancel(reason: "Ctrl-C") } }
  let outcome = await run.outcome
  await progress
  switch outcome {
  case .resolved(let count): library.console.record("indexed \(count) words")
  case .failed(let error): library.console.record("failed: \(error)")
  case .cancelled(let cancellation): library.console.record("stopped: \(cancellation.reason ?? "")")
  }
  interrupt.cancel()
}
