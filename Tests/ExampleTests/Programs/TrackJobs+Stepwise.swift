// SPDX-License-Identifier: MIT
// Copyright (c) 2026 Stepwise contributors

import Stepwise

@MainActor final class TrackLoader {
  private let job: Job<String, String, String>
  private let queue = JobQueue(maxConcurrent: 1)

  init(_ server: MusicServer, _ screen: TrackScreen) {
    job = Job("track") { (artist: String, job: JobContext<String>) in
      job.update("Looking up \(artist)")
      return try await server.track(artist)
    }
    .timeout(.seconds(30), clock: server.clock)
    .onStart { screen.shown.append("Loading") }
    .onUpdate { text in screen.shown.append(text) }
    .onTimeout { screen.shown.append("The server does not answer") }
    .onError(of: MusicServer.NotFound.self) { _ in screen.shown.append("Not found") }
    .onError { error in screen.shown.append("\(error)") }
    .onFinish { outcome in
      if case .resolved(let track) = outcome { screen.shown.append(track) }
      screen.shown.append("Done")
    }
    .bound(to: screen)
  }

  func load(_ artist: String) -> Run<String> { job.launch(artist, on: queue) }

  func cancel() { queue.cancelAll() }
}
