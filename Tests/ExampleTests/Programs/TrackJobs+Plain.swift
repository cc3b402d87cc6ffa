// SPDX-License-Identifier: MIT
// Copyright (c) 2026 Stepwise contributors

@MainActor final class PlainTrackLoader {
  private struct TimedOut: Error {}

  private let server: MusicServer
  private weak var screen: TrackScreen?
  private var last: Task<Void, Never>?
  private var running: [Task<Void, Never>] = []
  /// Counts cancellations, so that a callback that is already on its way stays silent.
  private var generation = 0

  init(_ server: MusicServer, _ screen: TrackScreen) {
    (self.server, self.screen) = (server, screen)
  }

  func load(_ artist: String) -> Task<Void, Never> {
    let (previous, generation, server) = (last, generation, server)
    let task = Task {
      show("Loading", generation)
      await previous?.value
      do {
        try Task.checkCancellation()
        show("Looking up \(artist)", generation)
        let track = try await withThrowingTaskGroup(of: String.self) { group in
          group.addTask { try await server.track(artist) }
          group.addTask {
            try await server.clock.sleep(for: .seconds(30))
            throw TimedOut()
          }
          defer { group.cancelAll() }
          guard let first = try await group.next() else { throw CancellationError() }
          return first
        }
        show(track, generation)
      } catch is CancellationError {
        return
      } catch is TimedOut {
        show("The server does not answer", generation)
      } catch is MusicServer.NotFound {
        show("Not found", generation)
      } catch {
        show("\(error)", generation)
      }
      show("Done", generation)
    }
    last = task
    running.append(task)
    return task
  }

  func cancel() {
    generation += 1
    for task in running { task.cancel() }
    running = []
  }

  private func show(_ text: String, _ generation: Int) {
    if generation == self.generation { screen?.shown.append(text) }
  }
}
