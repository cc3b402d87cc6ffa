// SPDX-License-Identifier: MIT
// Copyright (c) 2026 Stepwise contributors

#if Postgres
  import Foundation
  import Stepwise
  @testable import StepwiseFleet
  import Testing

  /// Does the same random operation to the database and to the model, and compares answers and tables.
  struct ModelComparison {
    private static let limit = Duration.seconds(30)

    private let fleet: Fleet
    private var model = FleetModel()
    private var generator: SeededGenerator
    private var workers: [Int64] = []
    /// Fencing numbers of all claims, with their jobs.
    private var claims: [JobClaim] = []
    private var nextID = 0
    /// How many operations changed something.
    private(set) var effects = 0

    init(_ fleet: Fleet, seed: UInt64) {
      self.fleet = fleet
      generator = SeededGenerator(seed: seed)
    }

    mutating func step() async throws {
      let before = model
      let operation = try await perform()
      if model != before { effects += 1 }
      try await compare(after: operation)
    }

    private mutating func perform() async throws -> String {
      let id = "\(Int.random(in: 0..<max(1, nextID), using: &generator))"
      // Mostly a present claim, sometimes one of the past.
      let recent = claims.suffix(Bool.random(using: &generator) ? 4 : 40)
      let claim = recent.randomElement(using: &generator) ?? JobClaim(id: "", fence: 0, worker: 0)
      let worker = workers.suffix(3).randomElement(using: &generator)
      switch Int.random(in: 0..<14, using: &generator) {
      case 0, 1:
        let priority = Int.random(in: 0...2, using: &generator)
        let name = Bool.random(using: &generator) ? id : "\(nextID)"
        nextID += 1
        let isNew = try await fleet.enqueue(
          Work(script: "", last: 9),
          id: name,
          options: FleetOptions(priority: priority)
        )
        #expect(isNew == model.enqueue(name, priority: priority))
        return "enqueue \(name)"
      case 2:
        let worker = try await fleet.registerWorker(within: Self.limit)
        workers.append(worker)
        model.register(worker)
        return "register \(worker)"
      case 3:
        guard let worker else { return "nothing" }
        let expiry = "UPDATE @.workers SET lease_until = clock_timestamp() - interval '1 hour' WHERE id = $1"
        try await fleet.database.run(expiry, [.integer(worker)])
        model.expire(worker)
        return "expire \(worker)"
      case 4:
        guard let worker else { return "nothing" }
        let isRenewed = try await fleet.renewLease(of: worker, within: Self.limit)
        #expect(isRenewed == model.renew(worker))
        return "renew \(worker)"
      case 5, 6, 7: return try await self.claim(worker)
      case 8, 9: return try await save(claim)
      case 10: return try await settle(claim)
      case 11:
        #expect(try await fleet.cancel(id) == model.cancel(id))
        return "cancel \(id)"
      case 12:
        if Bool.random(using: &generator) {
          #expect(try await fleet.requeue(id) == model.requeue(id))
          return "requeue \(id)"
        }
        let due = "UPDATE @.jobs SET run_at = clock_timestamp() WHERE id = $1 AND state = 'scheduled'"
        try await fleet.database.run(due, [.text(id)])
        model.makeDue(id)
        return "make \(id) due"
      default:
        let (freed, woken) = try await fleet.sweep(within: Self.limit)
        #expect(freed + woken == model.sweep())
        return "sweep"
      }
    }

    private mutating func claim(_ worker: Int64?) async throws -> String {
      guard let worker else { return "nothing" }
      let count = Int.random(in: 1...3, using: &generator)
      let mine = model.jobs.values.filter { $0.worker == worker }.map(\.fence)
      let known = mine.filter { _ in Int.random(in: 0..<8, using: &generator) > 0 }
      let types = Array(fleet.registrations.withLock { $0.values })
      let rows = try await fleet.claim(count, as: worker, knowing: known, of: types, within: Self.limit)
      let newest = claims.map(\.fence).max() ?? 0
      let expected = model.claim(count, as: worker, knowing: known, maxAttempts: 2)
      #expect(Set(rows.map(\.id)) == Set(expected.map(\.id)))
      for row in rows {
        #expect(row.fence > newest)
        model.adopt(row.fence, of: row.id)
        claims.append(row.claim)
      }
      return "claim \(count) as \(worker)"
    }

    private mutating func save(_ claim: JobClaim) async throws -> String {
      let isNext = Int.random(in: 0..<4, using: &generator) > 0
      // The first stage is stored by the enqueue and never saved.
      let current = model.jobs[claim.id]?.version ?? 0
      let version = max(2, current + (isNext ? 1 : Int64.random(in: 0...2, using: &generator)))
      let isLast = Int.random(in: 0..<3, using: &generator) == 0
      let stage = StageSave(
        claim: claim,
        version: version,
        shape: 0,
        stage: "{}",
        isLast: isLast
      )
      let expected = model.save(claim.id, fence: claim.fence, version: version, isLast: isLast)
      #expect(try await fleet.store([stage], within: Self.limit) == [expected])
      return "save \(claim.id) \(claim.fence) \(version) \(isLast)"
    }

    private mutating func settle(_ claim: JobClaim) async throws -> String {
      let ending: Ending =
        switch Int.random(in: 0..<5, using: &generator) {
        case 0: Ending(state: .queued, isUncounted: true)
        case 1: Ending(state: .scheduled, delay: .seconds(3_600), error: "an error")
        case 2: Ending(state: .failed, error: "an error")
        case 3: Ending(state: .cancelled)
        default: Ending(state: .waiting, waitsFor: model.jobs.keys.filter { $0 < claim.id }, isUncounted: true)
        }
      let expected = model.settle(claim.id, fence: claim.fence, ending)
      let attempt = EndedAttempt(claim: claim, ending: ending)
      let isSettled = try await fleet.store([attempt], within: Self.limit) == [true]
      #expect(isSettled == expected)
      return "settle \(claim.id) \(claim.fence) \(ending.state)"
    }

    private func compare(after operation: String) async throws {
      let rows = try await fleet.database.run(
        """
        SELECT id, state, attempt, version, coalesce(worker, 0), cancel_requested, fence, finished_at IS NOT NULL
        FROM @.jobs
        """
      )
      let found = rows.map { row in
        "\(row.text(0) ?? "") \(row.text(1) ?? "") \(row.integer(2) ?? -1) \(row.integer(3) ?? -1) \(row.integer(4) ?? -1) "
          + "\(row.isTrue(5)) \(row.integer(6) ?? -1) \(row.isTrue(7))"
      }
      let expected = model.jobs.map { id, job in
        "\(id) \(job.state) \(job.attempt) \(job.version) \(job.worker ?? 0) "
          + "\(job.isCancellationRequested) \(job.fence) \(job.state.isFinal)"
      }
      try #require(found.sorted() == expected.sorted(), "after \(operation)")
    }
  }
#endif
