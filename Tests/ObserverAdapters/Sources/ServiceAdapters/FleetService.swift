// SPDX-License-Identifier: MIT
// Copyright (c) 2026 Stepwise contributors

#if canImport(StepwiseFleet)
  public import ServiceLifecycle
  import Stepwise
  public import StepwiseFleet

  public struct FleetService: Service {
    let fleet: Fleet

    public init(_ fleet: Fleet) { self.fleet = fleet }

    public func run() async throws {
      let shutdown = CancellationToken()
      try await withGracefulShutdownHandler {
        try await fleet.work(until: shutdown)
      } onGracefulShutdown: {
        shutdown.cancel()
      }
    }
  }
#endif
