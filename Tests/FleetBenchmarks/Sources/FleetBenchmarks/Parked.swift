// SPDX-License-Identifier: MIT
// Copyright (c) 2026 Stepwise contributors

import Foundation
import Stepwise
import StepwiseFleet

/// Jobs of one stage a second on one worker, which keeps a number of runs that wait for a signal.
enum Parked {
  private static let chain = Chain("parked") { (number: Int) in
    try await step("signal", waitFor: Int.self) + number
  }

  static func measure(_ database: Database, parked: Int, jobs: Int = 30_000) async throws -> Double {
    try database.run("DROP SCHEMA IF EXISTS \(Database.schema) CASCADE")
    let fleet = database.fleet()
    fleet.register(Count.self)
    fleet.register(chain)
    let token = CancellationToken()
    async let work: Void = fleet.work(until: token)
    try await fleet.enqueue(chain, (0..<parked).map { (id: "parked-\($0)", input: $0) })
    try await fleet.wait(for: parked, in: .running)
    try await fleet.enqueue(Count(last: 1), id: "first")
    _ = try await fleet.result(of: "first", as: Count.self)
    let name = try await fleet.status(of: "first")?.progression ?? ""
    try await fleet.pause(name)
    try await fleet.enqueue((0..<jobs).map { (id: "job-\($0)", progression: Count(last: 1)) })
    try database.run("ANALYZE")
    try await fleet.resume(name)
    try await fleet.wait(for: jobs + 1, in: .done)
    let elapsed = try database.run(
      "SELECT extract(epoch FROM max(finished_at) - min(started_at)) FROM \(Database.schema).jobs WHERE id LIKE 'job-%'"
    )
    token.cancel()
    try await work
    return Double(jobs) / (Double(elapsed) ?? .infinity)
  }
}
