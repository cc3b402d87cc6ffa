// SPDX-License-Identifier: MIT
// Copyright (c) 2026 Stepwise contributors

import Dispatch
import Foundation
import Stepwise
import StepwiseTesting
import Testing

@Suite(.timeLimit(.minutes(5)))
struct MigrationStepTests {
  let printed = Recorder<String>()

  func print(_ items: Any...) { printed.record(items.map { "\($0)" }.joined(separator: " ")) }

  @Test func toStepBecomesAChain() async throws {
    let url = URL(filePath: "/cat.png")
    @Sendable func fetch(_ url: URL) async throws -> Data { Data(count: 8) }

    let fetchAndResize = Chain { (url: URL) in try Image(await fetch(url)) }
      .then { image in image.scaled(by: 0.5) }
    let run = fetchAndResize.start(url)

    #expect(try await run.value.width == 4)
  }

  @Test func aStepObjectBecomesInputAndOutput() async throws {
    let parse = Chain { (text: String) in
      guard let number = Int(text) else { throw Failure("not a number: \(text)") }
      return number
    }

    #expect(try await parse.run("42") == 42)
    await #expect(throws: Failure("not a number: x")) { try await parse.run("x") }
  }

  @Test func aHandlerBecomesAResolver() async throws {
    let session = FakeSession()
    let url = URL(filePath: "/cat.png")

    let request = Step.callback { (url: URL, resolver: Resolver<Data>) in
      session.dataTask(with: url) { data, _, error in resolver.resolve(data, error) }.resume()
    }
    let chain = Chain(request).then { data in data.count }

    let run = chain.start(url)
    try #require(await session.tasks.elements(atLeast: 1).first).finish(Data(count: 8), nil)
    #expect(try await run.value == 8)
  }

  @Test func aRunningStepChoosesHowToGoOn() async throws {
    let small = Chain { (data: Data) in "small, \(data.count)" }
    let large = Chain { (data: Data) in "large, \(data.count)" }

    let chain = Chain { (data: Data) in data }
      .then { data in try await (data.count > 100 ? large : small).run(data) }

    #expect(try await chain.run(Data(count: 3)) == "small, 3")
    #expect(try await chain.run(Data(count: 300)) == "large, 300")
  }

  @Test func aNameAndAQueueBecomeANameAndAnExecutor() async throws {
    let key = DispatchSpecificKey<Bool>()
    let queue = DispatchQueue(label: "parsing")
    queue.setSpecific(key: key, value: true)
    @Sendable func parse(_ data: Data) -> Bool { DispatchQueue.getSpecific(key: key) ?? false }
    let load = Chain { (count: Int) in Data(count: count) }

    let chain = load.then(Step("parse") { data in parse(data) }.executor(QueueExecutor(queue)))

    #expect(try await chain.run(1))
    #expect(try await chain.start(1).value)
    let covered = load.then { data in parse(data) }.executor(QueueExecutor(queue))
    #expect(try await covered.run(1))
    let next = chain.then { isOnQueue in isOnQueue && !parse(Data()) }
    #expect(try await next.run(1), "the step after it is back where steps run")
  }

  @MainActor
  @Test func theMainQueueBecomesTheMainActor() async throws {
    let spinner = Spinner()
    let chain = Chain { (number: Int) in number }
      .then { @MainActor number in
        spinner.stop()
        return number
      }

    #expect(try await chain.run(1) == 1)
    #expect(!spinner.isSpinning)
  }

  @Test func anAppendedChainKeepsItsHandlers() async throws {
    let load = Chain { (_: Int) -> Int in throw Failure("no") }
    let printed = printed

    let show = Chain { (number: Int) in number }.onError { error in printed.record("inner: \(error)") }
    let chain = load.then(show).onError { error in printed.record("outer: \(error)") }

    await #expect(throws: Failure("no")) { try await chain.run(1) }
    #expect(printed.elements == ["outer: no"])
    let failing = Chain { (number: Int) in number }.then(load.onError { error in printed.record("inner: \(error)") })
      .onError { error in printed.record("outer: \(error)") }
    await #expect(throws: Failure("no")) { try await failing.run(1) }
    #expect(printed.elements.suffix(2) == ["inner: no", "outer: no"])
  }

  @Test func debugLoggingBecomesEvents() async {
    let chain = Chain("load") { (number: Int) in number }

    let run = chain.start(1)
    for await event in run.events { print(event) }

    #expect(printed.elements.count == 4)
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
