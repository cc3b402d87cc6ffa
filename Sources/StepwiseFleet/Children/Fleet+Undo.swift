// SPDX-License-Identifier: MIT
// Copyright (c) 2026 Stepwise contributors

#if Postgres
  import StepwiseCheckpoints

  extension Fleet {
    /// Cancels jobs that have not ended, and undoes chains that are done; returns whether nothing of them runs any more.
    ///
    /// - Throws: ``FleetError/failed(id:error:)`` when a chain is dead-lettered and has something to undo.
    func undo(_ ids: [String], reason: String) async throws -> Bool {
      let rows = try await database.run(
        """
        SELECT id, state, starts_with(name, 'chain '), stage IS NULL AND fence > 0, cancel_requested, fence, error
        FROM @.jobs WHERE id = ANY ($1) ORDER BY id
        """,
        [.texts(ids)]
      )
      var (isOver, open, failure) = (true, [String](), FleetError?.none)
      for row in rows {
        guard let id = row.text(0), let fence = row.integer(5) else { continue }
        let (state, isChain) = (FleetState(row.text(1) ?? ""), row.isTrue(2))
        switch state {
        case .done:
          if isChain, try await reopen(id, fence, reason: reason) { isOver = false }
        case .cancelled: break
        // A chain that was held, or was cancelled and whose undos have failed.
        case .failed:
          guard isChain, row.isTrue(3) else { continue }
          if row.isTrue(4) {
            failure = failure ?? .failed(id: id, error: row.text(6) ?? "no error was stored")
          } else {
            open.append(id)
            isOver = false
          }
        default:
          isOver = false
          if !row.isTrue(4) { open.append(id) }
        }
      }
      if !open.isEmpty { try await cancel(open, reason: reason) }
      if isOver, let failure { throw failure }
      return isOver
    }

    /// Queues a chain that is done so that it undoes its steps; returns false when it has nothing to undo.
    private func reopen(_ id: String, _ fence: Int64, reason: String) async throws -> Bool {
      let rows = try await database.run(
        "SELECT number, entry FROM @.entries WHERE job = $1 ORDER BY number",
        [.text(id)]
      )
      var events: [DurableEvent] = []
      for row in rows { events += try DurableEvent.events(in: payloads.decode(entry: row.bytes(1) ?? [], of: id)) }
      guard let undoing = DurableEvent.undoing(events, reason: reason) else { return false }
      let queued = try await database.run(
        """
        WITH queued AS (
          UPDATE @.jobs SET
            state = 'queued', stage = NULL, attempt = 0, deaths = 0, error = NULL, finished_at = NULL,
            cancel_requested = true, cancel_reason = $3, run_at = clock_timestamp()
          WHERE id = $1 AND fence = $2 AND state = 'done' RETURNING id, name
        ), dropped AS (
          DELETE FROM @.entries USING queued WHERE job = queued.id AND number < $4
        ), added AS (
          INSERT INTO @.entries (job, number, entry) SELECT id, $4, $5 FROM queued
        )
        SELECT name FROM queued
        """,
        [
          .text(id), .integer(fence), .text(reason), .integer(1 + (rows.last?.integer(0) ?? 1)),
          .bytes(try payloads.encode(entry: DurableEvent.bytes(of: undoing), of: id)),
        ]
      )
      if let name = queued.first?.text(0) { await announce(name, 1) }
      return true
    }
  }
#endif
