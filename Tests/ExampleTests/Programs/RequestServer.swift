// SPDX-License-Identifier: MIT
// Copyright (c) 2026 Stepwise contributors

import StepwiseTesting

struct Request: Sendable {
  let id: Int
}

struct Unauthorized: Error {}

/// What requests need: every tenth user is unknown, every hundredth request waits for ever.
actor Backend {
  nonisolated let clock = ManualClock()
  nonisolated let failures = Recorder<Int>()
  private(set) var connections = 0

  func user(_ request: Request) throws -> Request {
    if request.id % 10 == 3 { throw Unauthorized() }
    return request
  }

  func connect() { connections += 1 }

  func disconnect() { connections -= 1 }

  func answer(_ request: Request) async throws -> String {
    if request.id % 100 == 50 { try await clock.sleep(for: .seconds(1_000_000)) }
    return "200 \(request.id)"
  }
}
