// SPDX-License-Identifier: MIT
// Copyright (c) 2026 Stepwise contributors

#if canImport(StepwiseFleet)
  import ServiceLifecycle
  import Stepwise
  import StepwiseFleet

  struct FleetService: Service {
    let fleet: Fleet

    func run() async throws {
      let shutdown = CancellationToken()
      try await withGracefulShutdownHandler {
        try await fleet.work(until: shutdown)
      } onGracefulShutdown: {
        shutdown.cancel()
      }
    }
  }
#endif
