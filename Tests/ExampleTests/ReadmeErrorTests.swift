// SPDX-License-Identifier: MIT
// Copyright (c) 2026 Stepwise contributors

import Foundation
import Stepwise
import StepwiseHTTP
import StepwiseTesting
import Testing

@Suite(.timeLimit(.minutes(5)))
struct ReadmeErrorTests {
  @Test
  func `The failed step reaches onError and the code that awaits the run`() async throws {
    let url = try #require(URL(string: "ftp://example.org"))
    let logged = Recorder<String>()
    let shown = Recorder<String>()
    let log: @Sendable (String) -> Void = { line in logged.record(line) }
    let show: @Sendable (String, any Error) -> Void = { step, error in shown.record("\(step): \(error)") }
    let thumbnail = Chain("download") { (url: URL) in try await download(url) }
    await logFailure(of: thumbnail, for: url, log: log, show: show)
    #expect(logged.elements == ["download failed: cannot download ftp://example.org"])
    #expect(shown.elements == ["download: cannot download ftp://example.org"])
  }

  private func logFailure(
    of thumbnail: Chain<URL, Data>,
    for url: URL,
    log: @escaping @Sendable (String) -> Void,
    show: (String, any Error) -> Void
  ) async {
    let logged = thumbnail.onError { error, step in log("\(step) failed: \(error)") }

    let run = logged.start(url)
    do {
      _ = try await run.value
    } catch {
      show(run.failedStep?.name ?? "cancelled", error)
    }
  }

  @Test
  func `A status error decides the delay of a retry`() throws {
    let policy = RetryPolicy(maxAttempts: 5, backoff: .exponential(from: .seconds(1))) { error, _ in
      (error as? HTTPStatusError)?.retryAfter
    }

    let (clock, times) = (ManualClock(), Recorder<Duration>())
    let busy = HTTPResponse(status: 503, headers: ["Retry-After": "7"], url: URL(filePath: "/"))
    let chain = Chain {
      times.record(clock.now.offset)
      if times.elements.count < 3 { throw HTTPStatusError(response: busy) }
    }
    .retry(policy, clock: clock)
    try SeededExecutor(seed: 1, clock: clock).run { try await chain.run() }
    #expect(times.elements == [.zero, .seconds(7), .seconds(14)])
  }

  @Test
  func `Steps share a folder that another step made`() async throws {
    let album = Chain("list") { (album: String) in try await photos(of: album) }
      .then("render") { photos in try await rendering(in: makeFolder()).run(photos) }

    #expect(try await album.run("Paris") == "Paris 1, Paris 2")
    await #expect(throws: Failure("refused")) { try await album.run("Rome") }
    let folders = disk.read { $0 }
    #expect(folders.isEmpty)
  }
}

private func rendering(in folder: Folder) -> Chain<[String], String> {
  Chain { (photos: [String]) in photos }
    .thenMap("download", maxConcurrent: 4) { photo in try await download(photo, to: folder) }
    .then("upload") { _ in try await upload(folder) }
    .finally { _ in await remove(folder) }
}

// What the sample names.

private typealias Folder = Int

private let disk = Watched<[Folder: Set<String>]>([:])

private func photos(of album: String) async throws -> [String] { ["\(album) 1", "\(album) 2"] }

private func makeFolder() async throws -> Folder {
  disk.mutate { $0[1] = [] }
  return 1
}

private func download(_ photo: String, to folder: Folder) async throws {
  disk.mutate { _ = $0[folder]?.insert(photo) }
}

private func upload(_ folder: Folder) async throws -> String {
  let photos = disk.read { $0[folder] ?? [] }
  guard !photos.contains("Rome 1") else { throw Failure("refused") }
  return photos.sorted().joined(separator: ", ")
}

private func remove(_ folder: Folder) async { disk.mutate { $0[folder] = nil } }
