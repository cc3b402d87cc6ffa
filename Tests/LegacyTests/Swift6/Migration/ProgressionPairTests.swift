// SPDX-License-Identifier: MIT
// Copyright (c) 2026 Stepwise contributors

import Dispatch
import Foundation
import Stepwise
import StepwiseTesting
import Testing

/// Each piece of new code of Migration.md about progressions, beside the old code: both do the same.
@Suite(.timeLimit(.minutes(5)))
struct ProgressionPairTests {
  typealias FileOpen = NewStages.FileOpen
  typealias Reading = NewStages.Reading

  let seen = Recorder<String>()
  /// What the old code has done.
  let old = Recorder<String>()
  let file = URL(filePath: "/abc")

  func show(_ document: Document) { seen.record(document.text) }
  func report(_ error: any Error) { seen.record("\(error)") }

  /// Tells what comes of something.
  func tell<Value>(_ value: () async throws -> Value) async {
    do { seen.record("\(try await value())") } catch { report(error) }
  }

  @available(*, deprecated)
  @Test(arguments: ["file:///abc", "https://localhost/abc", "file:///a"]) func `execute becomes run`(text: String)
    async throws
  {
    let url = try #require(URL(string: text))
    do { show(try await FileOpen.read(url).run()) } catch { report(error) }

    OldProgressions.open(url, telling: old)
    #expect(await old.elements(atLeast: 1) == seen.elements)
  }

  @available(*, deprecated)
  @Test func `Updating in place becomes next`() async {
    await tell { try await NewStages.Countdown(number: 3).run() }
    OldProgressions.result(of: OldStages.Countdown(number: 3), telling: old)
    #expect(seen.elements == ["true"])
    #expect(await old.elements(atLeast: 1) == seen.elements)
  }

  @available(*, deprecated)
  @Test func `All spellings of compose become one`() async {
    await tell { try await NewStages.Import.open(.read(file)).run() }
    OldProgressions.imports(from: file, telling: old)
    #expect(seen.elements == ["2"])
    #expect(await old.elements(atLeast: 3) == ["2", "2", "2"])
  }

  @available(*, deprecated)
  @Test(arguments: [true, false]) func `A future becomes a resolver`(succeeds: Bool) async throws {
    let session = FakeSession()
    let url = file
    OldProgressions.request(url, in: session, telling: old)
    let run = Chain {
      let data = try await withResolver { (resolver: Resolver<Data>) in
        session.dataTask(with: url) { data, _, error in resolver.resolve(data ?? Data(), error) }.resume()
      }
      return data.count
    }.start()
    for task in await session.tasks.elements(atLeast: 2) {
      task.finish(succeeds ? Data(count: 8) : nil, succeeds ? nil : Failure("offline"))
    }
    await tell { try await run.value }
    #expect(seen.elements == [succeeds ? "8" : "offline"])
    #expect(await old.elements(atLeast: 1) == seen.elements)
  }

  @available(*, deprecated)
  @Test(arguments: ["/abc", "/abcdef"]) func `map and flatMap become calls`(path: String) async {
    let url = URL(filePath: path)
    func text(at url: URL) async throws -> String { try Document(load(url)).text }
    func checked(_ count: Int) async throws -> Int {
      if count > 3 { throw Failure("too long") }
      return count
    }
    func count() async throws -> Int {
      let count = try await checked(text(at: url).count)
      return count
    }

    await tell(count)
    OldProgressions.transformed(url, telling: old)
    #expect(seen.elements == [path == "/abc" ? "2" : "too long"])
    #expect(await old.elements(atLeast: 1) == seen.elements)
  }

  @available(*, deprecated)
  @Test func `A pair becomes a tuple`() async throws {
    let (first, second) = (URL(filePath: "/abc"), URL(filePath: "/xyz"))
    func text(at url: URL) async throws -> String { try Document(load(url)).text }

    let both = (try await text(at: first), try await text(at: second))

    seen.record("\(both)")
    OldProgressions.both(first, second, telling: old)
    #expect(await old.elements(atLeast: 1) == seen.elements)
  }

  @available(*, deprecated)
  @Test func `Concurrent functions become a map`() async throws {
    let counts = try await Chain { ["a", "bb"] }
      .thenMap(maxConcurrent: 2) { text in text.count }
      .run()

    seen.record("\(counts)")
    OldProgressions.beside(.global(), telling: old)
    #expect(await old.elements(atLeast: 1) == seen.elements)
  }

  @available(*, deprecated)
  @Test func `A function in a queue becomes a step with an executor`() async throws {
    let key = DispatchSpecificKey<String>()
    let queue = DispatchQueue(label: "queue")
    queue.setSpecific(key: key, value: "queue")
    let here: @Sendable () -> String = { DispatchQueue.getSpecific(key: key) ?? "none" }

    let place = try await Chain { here() }.executor(QueueExecutor(queue)).run()

    seen.record(place)
    OldProgressions.inQueue(queue, here: here, telling: old)
    #expect(await old.elements(atLeast: 1) == seen.elements)
  }

  @available(*, deprecated)
  @Test(arguments: ["/abc", "/x"]) func `A handler in the main queue becomes one on the main actor`(path: String) async
  {
    let key = DispatchSpecificKey<String>()
    DispatchQueue.main.setSpecific(key: key, value: "main")
    let here: @Sendable () -> String = { DispatchQueue.getSpecific(key: key) ?? "none" }
    let (url, seen) = (URL(filePath: path), seen)
    @Sendable func text(at url: URL) async throws -> String { try Document(load(url)).text }
    @MainActor func show(_ text: String) { seen.record("\(text) \(here())") }
    @MainActor func report(_ error: any Error) { seen.record("\(error) \(here())") }

    Task { @MainActor in
      do { show(try await text(at: url)) } catch { report(error) }
    }

    #expect(await seen.elements(atLeast: 1).first?.hasSuffix(" main") == true)
    OldProgressions.onTheMainQueue(url, here: here, telling: old)
    #expect(await old.elements(atLeast: 1) == seen.elements)
  }

  @available(*, deprecated)
  @Test(arguments: [true, false]) func `Progress becomes a loop`(isWanted: Bool) async throws {
    let url = file
    var document: Document?
    func show(_ stage: FileOpen) { seen.record(brief(stage)) }

    for try await stage in FileOpen.read(url).stages {
      show(stage)
      document = stage.result
      if !isWanted { break }
    }

    seen.record(document == nil ? "stopped" : "opened")
    OldProgressions.stages(url, isWanted: { isWanted }, telling: old)
    #expect(await old.elements(atLeast: seen.elements.count) == seen.elements)
  }

  @available(*, deprecated)
  @Test(arguments: ["/xyz", "/x"]) func `Several in a row become a serial`(path: String) async {
    let (first, second) = (file, URL(filePath: path))
    func texts() async throws -> [String] {
      let documents = try await Serial([FileOpen.read(first), .read(second)]).run()
      return documents.map(\.text)
    }

    await tell(texts)
    OldProgressions.inARow(first, second, telling: old)
    #expect(await old.elements(atLeast: 1) == seen.elements)
  }

  @available(*, deprecated)
  @Test func `A production line delivers its results`() async throws {
    let urls = ["/abc", "/def", "/ghi"].map { URL(filePath: $0) }

    let line = ProductionLine<FileOpen>(maxConcurrent: 2)
    for url in urls { line.add(.read(url)) }
    line.finish()
    for await (_, result) in line.results { show(try result.get()) }

    OldProgressions.line(urls, telling: old)
    #expect(await old.elements(atLeast: 3).sorted() == seen.elements.sorted())
  }

  @available(*, deprecated)
  @Test(arguments: ["file:///abc", "https://localhost/abc"]) func `A task becomes next`(text: String) async throws {
    let url = try #require(URL(string: text))
    func show(_ text: String) { seen.record(text) }
    do { show(try await Reading.read(url).run()) } catch { report(error) }

    OldReading.read(url, telling: old)
    #expect(await old.elements(atLeast: 1) == seen.elements)
  }

  private func brief(_ stage: FileOpen) -> String {
    switch stage {
    case .read: "read"
    case .parse: "parse"
    case .success: "success"
    }
  }
}
