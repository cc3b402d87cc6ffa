// SPDX-License-Identifier: MIT
// Copyright (c) 2026 Stepwise contributors

import StepwiseTesting
import Testing

@Suite(.timeLimit(.minutes(5)))
struct RecorderTests {
  private struct Failure: Error {}

  @Test func `A recorder keeps the order`() async {
    let recorder = Recorder<Int>()
    #expect(recorder.elements == [])
    for element in 1...3 { recorder.record(element) }
    #expect(recorder.elements == [1, 2, 3])
    #expect(await recorder.elements(atLeast: 2) == [1, 2, 3])
  }

  @Test func `A recorder waits for the count`() async {
    let recorder = Recorder<Int>()
    let task = Task { await recorder.elements(atLeast: 3) }
    for element in 1...3 { recorder.record(element) }
    #expect(await task.value == [1, 2, 3])
  }

  @Test func `A cancelled wait returns what there is`() async {
    let recorder = Recorder<Int>()
    recorder.record(1)
    let task = Task { await recorder.elements(atLeast: 2) }
    task.cancel()
    #expect(await task.value == [1])
  }

  @Test
  func `The first match is returned, recorded or still to come`() async {
    let recorder = Recorder<Int>()
    for element in [1, 4, 6] { recorder.record(element) }
    #expect(await recorder.first { $0.isMultiple(of: 2) } == 4)
    let (requested, seen) = (Recorder<Int>(), Recorder<Int?>())
    let task = Task {
      let match = await recorder.first { element in
        requested.record(element)
        return element > 8
      }
      seen.record(match)
    }
    // The condition is called once for each element, outside the recorder's lock.
    await requested.elements(atLeast: 3)
    recorder.record(7)
    await requested.elements(atLeast: 4)
    #expect(seen.elements == [])
    recorder.record(9)
    await task.value
    #expect(seen.elements == [9])
    #expect(requested.elements == [1, 4, 6, 7, 9])
  }

  @Test
  func `A cancelled wait for a match returns nil, or the match that is there`() async {
    let recorder = Recorder<Int>()
    recorder.record(1)
    let task = Task { await recorder.first { $0 == 2 } }
    task.cancel()
    #expect(await task.value == nil)
    let late = Task {
      withUnsafeCurrentTask { $0?.cancel() }
      return await recorder.first { $0 == 1 }
    }
    #expect(await late.value == 1)
  }

  @Test func `A recorder records from many threads`() async {
    let recorder = Recorder<Int>()
    await withTaskGroup { group in
      for element in 0..<1_000 {
        group.addTask { recorder.record(element) }
      }
      let all = await recorder.elements(atLeast: 1_000)
      #expect(all.sorted() == Array(0..<1_000))
    }
  }

  /// A sequence that cannot fail needs no `try`.
  @Test func `A recorder records a sequence`() async {
    let recorder = Recorder<Int>()
    let (stream, continuation) = AsyncStream.makeStream(of: Int.self)
    for element in 1...3 { continuation.yield(element) }
    continuation.finish()
    await recorder.record(contentsOf: stream)
    #expect(recorder.elements == [1, 2, 3])
  }

  @Test func `A recorder keeps elements before an error and throws it`() async {
    let recorder = Recorder<Int>()
    let (stream, continuation) = AsyncThrowingStream.makeStream(of: Int.self)
    continuation.yield(1)
    continuation.finish(throwing: Failure())
    await #expect(throws: Failure.self) { try await recorder.record(contentsOf: stream) }
    #expect(recorder.elements == [1])
  }

  @Test @MainActor func `A recorder on an actor records values that are not Sendable`() async {
    final class Local: AsyncSequence, AsyncIteratorProtocol {
      var left = 2
      func makeAsyncIterator() -> Local { self }
      func next() async -> Int? { await next(isolation: nil) }
      func next(isolation: isolated (any Actor)?) async -> Int? {
        left -= 1
        return left < 0 ? nil : left
      }
    }
    let recorder = Recorder<Int>()
    await recorder.record(contentsOf: Local())
    #expect(recorder.elements == [1, 0])
  }
}
