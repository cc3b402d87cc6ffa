// SPDX-License-Identifier: MIT
// Copyright (c) 2026 Stepwise contributors

import Foundation
import Stepwise
import StepwiseTesting
import Testing

private struct File: Sendable, Equatable { let image: Image }

private struct Image: Sendable, Equatable {
  let size: Double
  init(_ data: Data) throws {
    guard !data.isEmpty else { throw Fault(404) }
    size = Double(data.count)
  }
  private init(size: Double) { self.size = size }
  func scaled(by factor: Double) -> Image { Image(size: size * factor) }
}

private func download(_ url: URL) async throws -> Data {
  if url.path == "/slow" { try await Turnstile().pass() }
  return Data(repeating: 0, count: Int(url.lastPathComponent) ?? 0)
}

private func save(_ image: Image) throws -> File { File(image: image) }

@MainActor private final class Spinner {
  private(set) var stops = 0
  func stop() { stops += 1 }
}

/// The sample with which the description of chains begins.
@Suite(.timeLimit(.minutes(5)))
struct SampleTests {
  @MainActor private func makeThumbnail(
    _ spinner: Spinner,
    log: @escaping @Sendable (any Error) -> Void
  ) -> Chain<URL, File> {
    Chain("download") { (url: URL) in try await download(url) }
      .then("decode") { data in try Image(data) }
      .appending(Step("shrink") { image in image.scaled(by: 0.5) }.timeout(.seconds(5)))
      .then(save)
      .onError { error in log(error) }
      .finally { @MainActor state in spinner.stop() }
  }

  @Test @MainActor func `The sample runs`() async throws {
    let spinner = Spinner()
    let logged = Recorder<String>()
    let thumbnail = makeThumbnail(spinner) { error in logged.record("\(error)") }
    let url = try #require(URL(string: "https://example.org/8"))

    let file = try await thumbnail.run(url)
    #expect(file.image.size == 4)
    #expect(spinner.stops == 1)

    let run = thumbnail.start(url)
    let value = try await run.value
    #expect(value == file)
    #expect(await run.outcome.brief == "resolved \(file)")
    #expect(run.isFinished)
    #expect(await briefEvents(of: run).last == "resolved \(file)")
    var fractions: [Double] = []
    for await progress in run.progress { fractions.append(progress.fractionCompleted) }
    #expect(fractions.last == 1)
    #expect(logged.elements.isEmpty)
  }

  @Test @MainActor func `The sample fails and is cancelled`() async throws {
    let spinner = Spinner()
    let logged = Recorder<String>()
    let thumbnail = makeThumbnail(spinner) { error in logged.record("\(error)") }
    let missing = try #require(URL(string: "https://example.org/0"))
    await #expect(throws: Fault(404)) { try await thumbnail.run(missing) }
    #expect(logged.elements == ["\(Fault(404))"])

    let slow = try #require(URL(string: "https://example.org/slow"))
    let run = thumbnail.start(slow)
    #expect(run.cancel(reason: "left the screen"))
    await #expect(throws: CancellationError.self) { try await run.value }
    #expect(await run.outcome.brief == "cancelled left the screen")
    #expect(logged.elements.count == 1)
    #expect(spinner.stops == 2)
  }

  @Test @MainActor func `The completion handler is called once after finally`() async throws {
    let spinner = Spinner()
    let thumbnail = makeThumbnail(spinner) { _ in }
    let results = Recorder<String>()
    let url = try #require(URL(string: "https://example.org/8"))
    thumbnail.start(url) { @MainActor (result: Result<File, any Error>) in
      results.record("\((try? result.get())?.image.size ?? 0) after \(spinner.stops)")
    }
    #expect(await results.elements(atLeast: 1) == ["4.0 after 1"])
    let slow = try #require(URL(string: "https://example.org/slow"))
    let run = thumbnail.start(slow) { @MainActor (result: Result<File, any Error>) in
      if case .failure(let error) = result { results.record("\(error) after \(spinner.stops)") }
    }
    run.cancel(reason: "left the screen")
    #expect(await results.elements(atLeast: 2).last == "CancellationError() after 2")
    _ = await run.outcome
    await thumbnail.waitUntilIdle()
    #expect(results.elements.count == 2)
  }
}
