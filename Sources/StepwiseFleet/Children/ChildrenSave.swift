// SPDX-License-Identifier: MIT
// Copyright (c) 2026 Stepwise contributors

#if Postgres
  import Stepwise
  import StepwiseCheckpoints

  #if canImport(FoundationEssentials)
    import FoundationEssentials
  #else
    import Foundation
  #endif

  /// An entry to append, and the children that are enqueued with it.
  struct ChildrenSave: FencedWrite {
    let entry: EntrySave
    let children: [ChildBatch]

    var claim: JobClaim { entry.claim }
    var size: Int { entry.size }

    static let function = "append_with_children"
    static let types =
      EntrySave.types + [
        "text[]", "text[]", "bigint[]", "text[]", "bigint[]", "bigint[]", "text[]", "text[]", "boolean[]", "boolean[]",
        "text[]",
      ]
    static let statement = ""

    /// Of one write: its children with the numbers of their batches, and then the batches, as `enqueue` has them.
    static func parameters(_ saves: [ChildrenSave]) -> [PostgresValue] {
      let batches = saves.flatMap(\.children)
      let numbers = batches.enumerated().flatMap { number, batch in batch.jobs.ids.map { _ in Int64(number + 1) } }
      let starts = batches.map(\.options.start.seconds)
      return EntrySave.parameters(saves.map(\.entry)) + [
        .texts(batches.flatMap(\.jobs.ids)), .texts(batches.flatMap(\.jobs.stages)), .integers(numbers),
        .texts(batches.map(\.jobs.name)), .integers(batches.map { Int64($0.jobs.shape) }),
        .integers(batches.map { Int64($0.options.priority) }), .texts(batches.map(\.options.key)),
        .texts(starts.map { "\($0.value)" }), .flags(starts.map(\.isAbsolute)),
        .flags(batches.map(\.options.keepsStages)), .texts(batches.map { PostgresValue.tags($0.options.tags).literal }),
      ]
    }

    /// A write that was cut off and is sent again finds its entry, and enqueues nothing: children may have ended since.
    ///
    /// A child of the same id that has ended is one of an earlier run of the parent, which was undone.
    static let definition = """
      CREATE OR REPLACE FUNCTION @.add_children(
        text[], text[], text, bigint, bigint, text, float8, boolean, boolean, text, text, text[]
      ) RETURNS bigint LANGUAGE plpgsql AS $add$
      DECLARE
        added bigint;
      BEGIN
        \(PostgresStore.insertion(.finished, selecting: "SELECT n INTO added FROM counted"));
        RETURN added;
      END
      $add$;

      CREATE OR REPLACE FUNCTION @.\(function)(\((["text[]", "bigint[]", "bigint[]"] + types).joined(separator: ", ")))
        RETURNS TABLE (o_fence bigint, o_watched text, o_queued text) LANGUAGE plpgsql
        SET jit = off SET enable_seqscan = off
      AS $children$
      DECLARE
        is_known boolean;
        ids text[];
        taken text;
      BEGIN
        PERFORM FROM @.jobs j WHERE j.id = $1[1] FOR NO KEY UPDATE;
        is_known := EXISTS (SELECT FROM @.entries e WHERE e.job = $1[1] AND e.number = $4[1] AND e.entry = $5[1]);
        RETURN QUERY SELECT * FROM @.append_entries($1, $2, $3, $4, $5, $6);
        IF NOT FOUND OR is_known THEN RETURN; END IF;
        FOR i IN 1..cardinality($10) LOOP
          ids := ARRAY (SELECT c.id FROM unnest($7, $9) WITH ORDINALITY AS c(id, batch, n) WHERE c.batch = i ORDER BY c.n);
          IF @.add_children(
            ids, ARRAY (SELECT c.stage FROM unnest($8, $9) WITH ORDINALITY AS c(stage, batch, n) WHERE c.batch = i ORDER BY c.n),
            $10[i], $11[i], $12[i], $13[i], $14[i]::float8, $15[i], $16[i], $1[1], NULL, $17[i]::text[]
          ) < cardinality(ids) THEN
            SELECT j.id || ', which is ' || j.state INTO taken FROM @.jobs j
            WHERE j.id = ANY (ids) AND j.created_at < now() ORDER BY j.id LIMIT 1;
            RAISE EXCEPTION 'the fleet has a job with the id of a child, %; requeue it or remove it first', taken
              USING ERRCODE = 'unique_violation';
          END IF;
        END LOOP;
      END
      $children$;
      """
  }

  extension FleetOptions.Start {
    /// A delay, or a time, in seconds.
    var seconds: (isAbsolute: Bool, value: Double) {
      switch self {
      case .now: (false, 0)
      case .after(let delay): (false, max(0, delay / .seconds(1)))
      case .at(let date): (true, date.timeIntervalSince1970)
      }
    }
  }

  extension ClaimedJob {
    /// Returns the children to enqueue with an entry that stores the steps which start them; nil for another entry.
    func children(enqueuedBy entry: [UInt8]) -> [ChildBatch]? {
      let steps = state.withLock { Array($0.children.keys) }
      guard !steps.isEmpty else { return nil }
      let values = DurableEvent.values(in: entry)
      let stored = steps.filter { values[$0] != nil }
      return stored.isEmpty ? nil : state.withLock { state in stored.flatMap { state.children[$0] ?? [] } }
    }

    func appendWithChildren(_ save: ChildrenSave) async throws {
      do {
        try await surroundings.appendWithChildren(save)
      } catch let error as PostgresError where error.sqlState == "23505" {
        throw FleetError.unstorable(id: row.id, reason: error.message)
      }
    }
  }
#endif
