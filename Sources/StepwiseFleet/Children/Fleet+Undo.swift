// SPDX-License-Identifier: MIT
// Copyright (c) 2026 Stepwise contributors

#if Postgres
  import StepwiseCheckpoints

  extension Fleet {
    /// Cancels jobs that have not ended, and undoes chains that are done; returns whether nothing of them runs any more.
    ///
    /// - Throws: ``FleetError/failed(id:error:)`` when a chain is dead-lettered and has something to undo.
    func undo(_ ids: [String], reason: String) async throws -> Bool {
      var (isOver, open, failure) = (true, [String](), FleetError?.none)
      for run in try await store.runs(of: ids) {
        let id = run.id
        switch run.state {
        case .done:
          if run.isChain, try await reopen(run, reason: reason) { isOver = false }
        case .cancelled: break
        // A chain that was held, or was cancelled and whose undos have failed.
        case .failed:
          guard run.isChain, !run.hasStage, run.fence > 0 else { continue }
          if run.isCancellationRequested {
            failure = failure ?? .failed(id: id, error: run.error ?? "no error was stored")
          } else {
            open.append(id)
            isOver = false
          }
        default:
          isOver = false
          if !run.isCancellationRequested { open.append(id) }
        }
      }
      if !open.isEmpty { try await cancel(open, reason: reason) }
      if isOver, let failure { throw failure }
      return isOver
    }

    /// Queues a chain that is done so that it undoes its steps; returns false when it has nothing to undo.
    private func reopen(_ run: StoredRun, reason: String) async throws -> Bool {
      let rows = try await store.entries(of: run.id)
      var events: [DurableEvent] = []
      for row in rows { events += try DurableEvent.events(in: payloads.decode(entry: row.entry, of: run.id)) }
      guard let undoing = DurableEvent.undoing(events, reason: reason) else { return false }
      let entry = try payloads.encode(entry: DurableEvent.bytes(of: undoing), of: run.id)
      let number = 1 + (rows.last?.number ?? 1)
      if let name = try await store.reopen(run.id, run.fence, number, entry, reason: reason) {
        await announce(name, 1)
      }
      return true
    }
  }
#endif
