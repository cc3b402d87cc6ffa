// SPDX-License-Identifier: MIT
// Copyright (c) 2026 Stepwise contributors

import Stepwise
import StepwiseTesting
import Testing

@MainActor private final class Screen {
  let notes = LineLog()
  private(set) var texts: [String] = []
  private(set) var titles: [String] = []

  func load() async throws -> String {
    let chain = Chain { (number: Int) in "\(number)" }
      .then { @MainActor [self] text in showing(text) }
      .onError { @MainActor [self] error in show("\(error)") }
      .finally { @MainActor [self] state in titles.append(state.brief) }
    notes.write("before")
    let text = try await chain.run(1)
    notes.write("after")
    await chain.start(2) { @MainActor [self] result in titles.append(result.brief) }.finish()
    return text
  }

  func loadUnderAToken() async throws -> String {
    let chain = Chain { (number: Int) in "\(number)" }
    return try await withCancellation(by: CancellationToken()) {
      self.notes.write("before")
      let text = try await chain.run(1)
      self.notes.write("after")
      MainActor.preconditionIsolated()
      return text
    }
  }

  func loadFromACallback() async throws -> String {
    let text = try await withResolver { (resolver: Resolver<String>) in
      self.notes.write("requested")
      resolver.resolve("called back")
    }
    notes.write(text)
    return text
  }

  private func showing(_ text: String) -> String {
    texts.append(text)
    return text
  }

  private func show(_ text: String) {
    texts.append(text)
  }
}

private actor Archive {
  let notes = LineLog()
  private(set) var texts: [String] = []

  func load() async throws -> String {
    let chain = Chain { (number: Int) in "\(number)" }
      .then { text in await self.keep(text) }
      .finally { state in await self.keep(state.brief) }
    notes.write("before")
    let text = try await chain.run(1)
    notes.write("after")
    await chain.start(2) { result in await self.keep(result.brief) }.finish()
    return text
  }

  func loadUnderAToken() async throws -> String {
    let chain = Chain { (number: Int) in "\(number)" }
    return try await withCancellation(by: CancellationToken()) {
      self.notes.write("before")
      let text = try await chain.run(1)
      self.notes.write("after")
      self.preconditionIsolated()
      return text
    }
  }

  func loadFromACallback() async throws -> String {
    let text = try await withResolver { (resolver: Resolver<String>) in
      self.notes.write("requested")
      resolver.resolve("called back")
    }
    notes.write(text)
    return text
  }

  @discardableResult
  private func keep(_ text: String) -> String {
    texts.append(text)
    return text
  }
}

extension Run {
  fileprivate func finish() async { _ = await outcome }
}

/// Chains are made and awaited from any isolation, beside state that must not leave it.
@Suite(.timeLimit(.minutes(5)))
struct ChainIsolationTests {
  @Test @MainActor func `A chain is built in a main actor class`() async throws {
    let screen = Screen()
    #expect(try await screen.load() == "1")
    #expect(screen.texts == ["1", "2"])
    #expect(screen.titles.first == "resolved 1")
    #expect(try await screen.loadUnderAToken() == "1")
    #expect(try await screen.loadFromACallback() == "called back")
    #expect(screen.notes.lines == ["before", "after", "before", "after", "requested", "called back"])
  }

  @Test func `A chain is built in an actor`() async throws {
    let archive = Archive()
    #expect(try await archive.load() == "1")
    #expect(await archive.texts.prefix(2) == ["1", "resolved 1"])
    #expect(try await archive.loadUnderAToken() == "1")
    #expect(try await archive.loadFromACallback() == "called back")
  }

  @Test func `A chain is built in plain async code`() async throws {
    let notes = LineLog()
    let results = Recorder<String>()
    let chain = Chain { (number: Int) in "\(number)" }.finally { state in results.record(state.brief) }
    notes.write("before")
    #expect(try await chain.run(1) == "1")
    let text = try await withCancellation(by: CancellationToken()) { try await chain.run(2) }
    #expect(text == "2")
    let called = try await withResolver { (resolver: Resolver<String>) in
      notes.write("requested")
      resolver.resolve("called back")
    }
    notes.write(called)
    chain.start(3) { result in results.record(result.brief) }
    #expect(await results.elements(atLeast: 4) == ["resolved 1", "resolved 2", "resolved 3", "success 3"])
    #expect(notes.lines == ["before", "requested", "called back"])
  }

  // G2
  /// A step bound to the main actor runs there, and the plain one after it does not.
  @Test @MainActor func `Each step runs where it belongs`() async throws {
    let chain = Chain { (number: Int) in number }
      .then { @MainActor number in
        MainActor.preconditionIsolated()
        return number + 1
      }
      .then { number in number + 1 }
      .recover { @MainActor error in
        MainActor.preconditionIsolated()
        return 0
      }
    #expect(try await chain.run(1) == 3)
  }
}
