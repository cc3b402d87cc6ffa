// SPDX-License-Identifier: MIT
// Copyright (c) 2026 Stepwise contributors

import Foundation
import Stepwise
import StepwiseHTTP
import StepwiseTracing

// The samples of the core's doc comments, compiled and not run. Around them stands what they use without declaring it.

private func log(_ error: any Error) {}
private func fetch(_ url: URL) async throws -> Data { Data() }
private func show(_ values: Any...) {}

private struct API: Sendable {
  func track(_ artist: String) async throws -> Int { artist.count }
}

@MainActor
private final class HUD {
  var text = ""
  func show() {}
  func hide() {}
}

private struct Document: Sendable {
  let body: Data
  init(_ body: Data) throws { self.body = body }
}

private func chains(url: URL, load: Chain<URL, Image>) async throws {
  let thumbnail = Chain("download") { (url: URL) in try await download(url) }
    .then("decode") { data in try Image(data) }
    .onError { error in log(error) }
  let image = try await thumbnail.run(url)
  show(image)

  let shrink = Step("shrink") { (image: Image) in image.scaled(by: 0.5) }.timeout(.seconds(5))
  let chain = load.appending(shrink)
  show(chain)

  let policy = RetryPolicy(maxAttempts: 5, backoff: .exponential(from: .seconds(1))) { error, attempt in
    (error as? HTTPStatusError)?.retryAfter
  }
  show(policy)
}

private struct Trip: Sendable {
  init(_ hotel: String, _ flight: String) {}
}

private func scopes(
  city: String,
  reserve: @Sendable (String) async throws -> String,
  release: @escaping @Sendable (String) async throws -> Void,
  buy: @Sendable (String) async throws -> String,
  refund: @escaping @Sendable (String) async throws -> Void
) async throws {
  let trip = try await steps("book") {
    let hotel = try await step("hotel") {
      try await reserve(city)
    } undo: { hotel in
      try await release(hotel)
    }
    let flight = try await step("flight") {
      try await buy(city)
    } undo: { flight in
      try await refund(flight)
    }
    return Trip(hotel, flight)
  }
  show(trip)
}

private enum Segments {
  struct Decoded<Value: Decodable & Sendable>: ChainSegment {
    let maxAttempts: Int

    func appended<Start: Sendable>(to chain: Chain<Start, URL>) -> Chain<Start, Value> {
      chain
        .then("fetch") { url in try await fetch(url) }
        .then("decode") { data in try JSONDecoder().decode(Value.self, from: data) }
        .retry(RetryPolicy(maxAttempts: maxAttempts, backoff: .none))
    }
  }
}

private enum Observers {
  struct Printer: RunObserver {
    func stepFinished(_ step: ObservedStep, duration: Duration, error: (any Error)?) {
      print("\(step.run.name): \(step) took \(duration)")
    }
  }
}

@MainActor
private func jobs(api: API, hud: HUD) {
  let track = Job("track") { (artist: String, job: JobContext<String>) in
    job.update("Looking up…")
    return try await api.track(artist)
  }
  .timeout(.seconds(30))
  .onStart { hud.show() }
  .onUpdate { text in hud.text = text }
  .onFinish { outcome in hud.hide() }
  let run = track.launch("Prince")
  show(run)
}

private enum Progressions {
  enum FileOpen: Progression {
    case read(URL), parse(Data), success(Document)

    func next() async throws -> FileOpen {
      switch self {
      case .read(let url): .parse(try Data(contentsOf: url))
      case .parse(let data): .success(try Document(data))
      case .success: try completed()
      }
    }

    var result: Document? {
      if case .success(let document) = self { document } else { nil }
    }
  }

  enum Upload: Progression {
    case post(URL, Data), posted

    func next() async throws -> Upload { .posted }
    var result: Bool? { if case .posted = self { true } else { nil } }
  }

  enum OpenAndUpload: Progression {
    case open(FileOpen, URL), upload(Upload)

    func next() async throws -> OpenAndUpload {
      switch self {
      case .open(let stage, let destination):
        try await stage.compose(
          transformNext: { .open($0, destination) },
          transformResult: { document in .upload(.post(destination, document.body)) }
        )
      case .upload(let stage): .upload(try await stage.next())
      }
    }

    var result: Bool? { if case .upload(let stage) = self { stage.result } else { nil } }
  }

  static func run(url: URL, urls: [URL], directory: URL) async throws {
    for try await stage in FileOpen.read(url).stages { show(stage) }

    let line = ProductionLine<FileOpen>(maxConcurrent: 4)
    for url in urls { line.add(.read(url)) }
    line.finish()
    for await (progression, result) in line.results { show(progression, result) }

    let open = Chain("pick") { (name: String) in directory.appending(path: name) }.appending(running: FileOpen.read)
    show(open)
  }
}

private func traces(checkout: Chain<[String], String>, cart: [String]) async throws {
  let run = checkout.start(cart)
  _ = await run.outcome
  print(run.trace.text)

  let traced = await trace { try await checkout.run(cart) }
  print(traced.trace.text)
  let order = try traced.value
  show(order)
}

@MainActor
private func signals(convert: Chain<[URL], Void>, files: [URL], bar: (show: (Double) -> Void, Void)) async throws {
  try await withTerminationSignals {
    let run = convert.start(files)
    for await progress in run.progress { bar.show(progress.fractionCompleted) }
    try await run.value
  }
}

private func progress(files: [String], load: (String) async throws -> Void) async throws {
  StepProgress.expect(steps: files.count)
  for file in files { try await step(file) { try await load(file) } }
}

private struct ImageRequest: Sendable { let url: URL }

private func coalescing(load: @escaping @Sendable (ImageRequest) async throws -> Data) {
  let images = Chain("image") { (request: ImageRequest) in try await load(request) }.coalesced(by: \.url)
  show(images)
}
