// SPDX-License-Identifier: MIT
// Copyright (c) 2026 Stepwise contributors

import StepwiseTesting

func indexInPlainSwift(_ library: Library, interrupts: AsyncStream<Void>) async {
  let work = Task {
    var hasWritten = false
    var result: Result<Int, any Error>
    do {
      func report(_ step: String, _ done: Int) { library.console.record("\(step) \(done * 20) %") }
      report("list", 0)
      let names = await library.names()
      report("list", 1)
      let texts = try await boundedMap(names, maxConcurrent: 4) { name in
        try await retry(attempts: 3, library) { try await library.read(name) }
      }
      try Task.checkCancellation()
      report("read", 2)
      let index = countedWords(texts)
      report("count", 3)
      let count = await library.write(index)
      hasWritten = true
      try Task.checkCancellation()
      report("write", 4)
      result = .success(try await library.publish(count))
      report("publish", 5)
    } catch {
      result = .failure(error)
    }
    let (needsUndo, isFailure) = (hasWritten, (try? result.get()) == nil)
    // A Task of its own, which a cancellation does not reach.
    await Task {
      if needsUndo, isFailure { await library.removeIndex() }
      await library.close()
    }.value
    return try result.get()
  }
  let interrupt = Task { for await _ in interrupts { work.cancel() } }
  switch await work.result {
  case .success(let count): library.console.record("indexed \(count) words")
  case .failure(is CancellationError): library.console.record("stopped: Ctrl-C")
  case .failure(let error): library.console.record("failed: \(error)")
  }
  interrupt.cancel()
}

private func boundedMap<Element: Sendable, Output: Sendable>(
  _ elements: [Element],
  maxConcurrent: Int,
  _ transform: @escaping @Sendable (Element) async throws -> Output
) async throws -> [Output] {
  try await withThrowingTaskGroup(of: (Int, Output).self) { group in
    var outputs = [Output?](repeating: nil, count: elements.count)
    for (index, element) in elements.enumerated() {
      if index >= maxConcurrent, let (finished, output) = try await group.next() { outputs[finished] = output }
      group.addTask { (index, try await transform(element)) }
    }
    for try await (finished, output) in group { outputs[finished] = output }
    return outputs.compactMap { $0 }
  }
}

private func retry<Output: Sendable>(
  attempts: Int,
  _ library: Library,
  _ operation: @Sendable () async throws -> Output
) async throws -> Output {
  var delay = Duration.milliseconds(100)
  for _ in 1..<attempts {
    do {
      return try await operation()
    } catch is CancellationError {
      throw CancellationError()
    } catch {
      try await library.clock.sleep(for: delay * Double.random(in: 0...1))
      delay *= 2
    }
  }
  return try await operation()
}
