// SPDX-License-Identifier: MIT
// Copyright (c) 2026 Stepwise contributors

import Foundation
import Stepwise
import StepwiseTesting
import Testing

@Suite(.timeLimit(.minutes(5)))
struct ReadmeCallbackTests {
  let url = URL(filePath: "/cat.png")

  @Test func `A callback is a step`() async throws {
    let session = FakeSession()

    let fetch = Step.callback("fetch") { (url: URL, resolver: Resolver<Data>) in
      let task = session.dataTask(with: url) { data, _, error in resolver.resolve(data, error) }
      resolver.onCancel { _ in task.cancel() }
      task.resume()
    }
    let picture = Chain(fetch).then("decode") { data in try Image(data) }

    let run = picture.start(url)
    let task = try #require(await session.tasks.elements(atLeast: 1).first)
    task.finish(Data(count: 3), nil)
    #expect(try await run.value.width == 3)

    let failing = picture.start(url)
    try #require(await session.tasks.elements(atLeast: 2).last).finish(nil, Failure("offline"))
    await #expect(throws: Failure("offline")) { try await failing.value }

    let cancelled = picture.start(url)
    let running = try #require(await session.tasks.elements(atLeast: 3).last)
    cancelled.cancel()
    await #expect(throws: CancellationError.self) { try await cancelled.value }
    await running.isCancelled.elements(atLeast: 1)
  }

  @MainActor
  @Test func `A callback is awaited in place`() async throws {
    let session = FakeSession()
    let url = url
    async let answered: Void = {
      try #require(await session.tasks.elements(atLeast: 1).first).finish(Data(count: 5), nil)
    }()

    let data = try await withResolver { (resolver: Resolver<Data>) in
      session.dataTask(with: url) { data, _, error in resolver.resolve(data, error) }.resume()
    }

    try await answered
    #expect(data.count == 5)
  }

  @Test func `A lost callback is an error`() async {
    let lost = Step.callback { (_: Int, _: Resolver<Int>) in }
    await #expect(throws: ResolverError.abandoned) { try await Chain(lost).run(1) }
  }

  @MainActor
  @Test func `A run ends in a completion handler`() async throws {
    let shown = Recorder<String>()
    @MainActor func show(_ text: String) { shown.record(text) }
    let chain = Chain("double") { (number: Int) in number * 2 }

    chain.start(21) { @MainActor result in
      switch result {
      case .success(let number): show("\(number)")
      case .failure(let error): show("failed: \(error)")
      }
    }

    #expect(await shown.elements(atLeast: 1) == ["42"])
  }
}
