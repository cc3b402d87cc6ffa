// SPDX-License-Identifier: MIT
// Copyright (c) 2026 Stepwise contributors

#if Postgres
  public import Stepwise
  import StepwiseCheckpoints

  /// The stages of a job of a fleet, from the first one on; each iterator is an independent subscription.
  ///
  /// The sequence ends after the stage that has the result. Leaving the loop does not affect the job.
  public struct FleetStages<P: Progression & Codable>: AsyncSequence, Sendable {
    /// A stage.
    public typealias Element = P
    /// A ``FleetError``, a ``PostgresError`` or a `CancellationError`.
    public typealias Failure = any Error

    let fleet: Fleet
    let id: String

    /// Creates an iterator.
    public func makeAsyncIterator() -> Iterator { Iterator(fleet: fleet, id: id) }

    /// Reads stages in batches and waits for further ones.
    public struct Iterator: AsyncIteratorProtocol {
      fileprivate let fleet: Fleet
      fileprivate let id: String
      private var version: Int64 = 0
      private var read: ArraySlice<P> = []
      private var isOver = false

      fileprivate init(fleet: Fleet, id: String) {
        self.fleet = fleet
        self.id = id
      }

      /// Returns the next stage, waiting until it is saved; nil after the last one.
      ///
      /// - Parameter actor: The caller's actor.
      /// - Returns: The stage; nil after the last one.
      /// - Throws: ``FleetError`` when the job failed, was cancelled or does not exist; ``PostgresError``;
      ///   `CancellationError`.
      public mutating func next(isolation actor: isolated (any Actor)?) async throws -> P? {
        if read.isEmpty, !isOver {
          do {
            let (stages, last) = try await fleet.stages(of: id, after: version, as: P.self)
            (read, version) = (stages[...], last)
          } catch {
            isOver = true
            throw error
          }
        }
        let stage = read.popFirst()
        if stage == nil || stage?.result != nil { isOver = true }
        if isOver { read = [] }
        return stage
      }
    }
  }

  /// An iterator belongs to the one who iterates.
  @available(*, unavailable)
  extension FleetStages.Iterator: Sendable {}

  extension Fleet {
    /// Returns the stages after a version, and the last one's version: none when the job is done.
    ///
    /// Waits until there is a stage.
    @concurrent
    fileprivate func stages<P: Progression & Codable>(
      of id: String,
      after version: Int64,
      as type: P.Type
    ) async throws -> ([P], Int64) {
      let coder = StageCoder<P>()
      var delay = Duration.milliseconds(250)
      while true {
        try Task.checkCancellation()
        let ticket = hub.ticket(for: id)
        defer { hub.discard(ticket, for: id) }
        guard let status = try await watch(id) else { throw FleetError.notFound(id: id) }
        guard status.progression == coder.name else {
          throw FleetError.foreignType(id: id, stored: status.progression, expected: coder.name)
        }
        let rows = try await database.run(
          """
          SELECT version, shape, stage FROM (
            SELECT version, shape, stage FROM @.stages WHERE id = $1 AND version > $2
            UNION SELECT version, shape, coalesce(stage, first) FROM @.jobs WHERE id = $1 AND version > $2
            UNION SELECT 1, first_shape, first FROM @.jobs WHERE id = $1 AND $2 < 1
          ) AS s ORDER BY version LIMIT 100
          """,
          [.text(id), .integer(version)]
        )
        if let last = rows.last?.integer(0) {
          return (try rows.map { try decode($0.text(2), $0.integer(1), coder, id) }, last)
        }
        if status.state == .done { return ([], version) }
        try check(status)
        await ticket.wait(upTo: delay)
        delay = min(delay * 2, .seconds(5))
      }
    }
  }
#endif
