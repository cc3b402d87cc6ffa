// SPDX-License-Identifier: MIT
// Copyright (c) 2026 Stepwise contributors

import Dispatch
import Foundation
import Stepwise
import StepwiseTesting
import Testing

/// Each piece of new code of Migration.md about steps, beside the old code: both do the same.
@Suite(.timeLimit(.minutes(5)), .serialized)
struct StepPairTests {
  let printed = Recorder<String>()
  /// What the old code has done.
  let old = Recorder<String>()

  func print(_ items: Any...) { printed.record(items.map { "\($0)" }.joined(separator: " ")) }

  @available(*, deprecated)
  @Test func `toStep becomes a chain`() async throws {
    let url = URL(filePath: "/cat.png")
    let fetch: @Sendable (URL) -> Data = { _ in Data(count: 8) }
    let shown = Recorder<Image>()
    let show: @Sendable (Image) -> Void = { image in shown.record(image) }

    let fetchAndResize = Chain { (url: URL) in try Image(fetch(url)) }
      .then { image in show(image.scaled(by: 0.5)) }
    fetchAndResize.start(url)

    OldSteps.fetchAndResize(url, fetch: fetch, show: show)
    #expect(await shown.elements(atLeast: 2).map(\.width) == [4, 4])
  }

  @available(*, deprecated)
  @Test func `A step object becomes input and output`() async throws {
    let parse = Chain { (text: String) in
      guard let number = Int(text) else { throw Failure("not a number: \(text)") }
      return number
    }

    for text in ["42", "x"] {
      OldSteps.parse(text, telling: old)
      do { print(try await parse.run(text)) } catch { print(error) }
    }
    #expect(printed.elements == ["42", "not a number: x"])
    #expect(await Set(old.elements(atLeast: 2)) == Set(printed.elements))
  }

  @available(*, deprecated)
  @Test(arguments: [true, false]) func `A handler becomes a resolver`(succeeds: Bool) async throws {
    let session = FakeSession()
    let url = URL(filePath: "/cat.png")

    let request = Step.callback { (url: URL, resolver: Resolver<Data>) in
      session.dataTask(with: url) { data, _, error in resolver.resolve(data, error) }.resume()
    }
    let chain = Chain(request).then { data in data.count }

    OldSteps.request(url, in: session, telling: old)
    let run = chain.start(url)
    for task in await session.tasks.elements(atLeast: 2) {
      task.finish(succeeds ? Data(count: 8) : nil, succeeds ? nil : Failure("offline"))
    }
    do { print(try await run.value) } catch { print(error) }
    #expect(printed.elements == [succeeds ? "8" : "offline"])
    #expect(await old.elements(atLeast: 1) == printed.elements)
  }

  @available(*, deprecated)
  @Test(arguments: [3, 300]) func `A running step chooses how to continue`(count: Int) async throws {
    let small = Chain { (data: Data) in "small, \(data.count)" }
    let large = Chain { (data: Data) in "large, \(data.count)" }

    let chain = Chain { (data: Data) in data }
      .then { data in try await (data.count > 100 ? large : small).run(data) }

    OldSteps.smallOrLarge(Data(count: count), telling: old)
    print(try await chain.run(Data(count: count)))
    #expect(printed.elements == [count > 100 ? "large, 300" : "small, 3"])
    #expect(await old.elements(atLeast: 1) == printed.elements)
  }

  @available(*, deprecated)
  @Test func `A name and a queue become a name and an executor`() async throws {
    let key = DispatchSpecificKey<Bool>()
    let queue = DispatchQueue(label: "parsing")
    queue.setSpecific(key: key, value: true)
    @Sendable func parse(_ data: Data) -> Bool { DispatchQueue.getSpecific(key: key) ?? false }
    let load = Chain { (count: Int) in Data(count: count) }

    let chain = load.appending(Chain("parse") { data in parse(data) }.executor(QueueExecutor(queue)))

    OldSteps.inQueue(queue, parse: parse, telling: old)
    #expect(await old.elements(atLeast: 1) == ["true"])
    #expect(try await chain.run(1))
    #expect(try await chain.start(1).value)
    let covered = load.then { data in parse(data) }.executor(QueueExecutor(queue))
    #expect(try await covered.run(1))
    let next = chain.then { isOnQueue in isOnQueue && !parse(Data()) }
    #expect(try await next.run(1), "the step after it is back where steps run")
  }

  @available(*, deprecated)
  @MainActor
  @Test func `The main queue becomes the main actor`() async throws {
    let spinner = Spinner()
    let chain = Chain { (number: Int) in number }
      .then { @MainActor number in
        spinner.stop()
        return number
      }

    #expect(try await chain.run(1) == 1)
    #expect(!spinner.isSpinning)
    let oldSpinner = Spinner()
    OldSteps.inMainQueue { [old] in
      // The main queue is the main actor's.
      MainActor.assumeIsolated { oldSpinner.stop() }
      old.record("stopped")
    }
    await old.elements(atLeast: 1)
    #expect(!oldSpinner.isSpinning)
  }

  @available(*, deprecated)
  @Test func `An appended chain keeps its handlers`() async throws {
    let load = Chain { (_: Int) -> Int in throw Failure("no") }
    let printed = printed

    let show = Chain { (number: Int) in number }.onError { error in printed.record("inner: \(error)") }
    let chain = load.appending(show).onError { error in printed.record("outer: \(error)") }

    OldSteps.appended(telling: old)
    await #expect(throws: Failure("no")) { try await chain.run(1) }
    #expect(printed.elements == ["outer: no"])
    #expect(await old.elements(atLeast: 2) == printed.elements + ["end"])
    let failing = Chain { (number: Int) in number }.appending(
      load.onError { error in printed.record("inner: \(error)") }
    )
    .onError { error in printed.record("outer: \(error)") }
    await #expect(throws: Failure("no")) { try await failing.run(1) }
    #expect(printed.elements.suffix(2) == ["inner: no", "outer: no"])
  }

  @available(*, deprecated)
  @Test func `Debug logging becomes events`() async {
    let chain = Chain("load") { (number: Int) in number }

    let run = chain.start(1)
    for await event in run.events { print(event) }

    #expect(printed.elements.count == 4)
    OldSteps.logging(telling: old)
    #expect(old.elements.count == 2, "the beginning and the end of the run are events, too")
  }
}

final class QueueExecutor: TaskExecutor {
  let queue: DispatchQueue

  init(_ queue: DispatchQueue) { self.queue = queue }

  func enqueue(_ job: consuming ExecutorJob) {
    let job = UnownedJob(job)
    queue.async { job.runSynchronously(on: self.asUnownedTaskExecutor()) }
  }
}
