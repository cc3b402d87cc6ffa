// SPDX-License-Identifier: MIT
// Copyright (c) 2026 Stepwise contributors

import Stepwise
import StepwiseFleet

/// The time from the call of `enqueue` to the start of the job in another fleet that is idle.
enum Latency {
  static func measure(_ database: Database) async throws -> (roundTrip: Double, start: Double) {
    let (producer, worker) = (database.fleet(), database.fleet())
    worker.register(Started.self)
    let token = CancellationToken()
    defer { token.cancel() }
    async let work: Void = worker.work(until: token)
    // The first ones connect and prepare.
    var (starts, roundTrips): ([Double], [Double]) = ([], [])
    for number in 0..<550 {
      // The worker is idle: the job before has ended.
      if number > 0 { _ = try await producer.result(of: "\(number - 1)", as: Started.self) }
      let requested = ContinuousClock.now
      _ = try await producer.status(of: "\(number)")
      let begin = ContinuousClock.now
      try await producer.enqueue(Started(), id: "\(number)")
      let started = await Started.start()
      if number >= 50 {
        starts.append(begin.duration(to: started) / .seconds(1))
        roundTrips.append(requested.duration(to: begin) / .seconds(1))
      }
    }
    token.cancel()
    try await work
    return (roundTrips.sorted()[250], starts.sorted()[250])
  }
}
