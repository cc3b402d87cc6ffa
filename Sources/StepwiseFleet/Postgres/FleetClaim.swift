// SPDX-License-Identifier: MIT
// Copyright (c) 2026 Stepwise contributors

#if Postgres
  /// How workers take jobs, as a step of the migration.
  enum FleetClaim {
    private static let mark = """
      coalesce(k.rank, -9223372036854775808) AS rank, coalesce(k.turn, 0) AS turn, coalesce(k.run_at, '-infinity') AS run_at, coalesce(k.seq, 0) AS seq
      """

    /// Stores where claims begin for a while, after one that read many entries.
    private static let marking = """
      entries := pg_stat_get_xact_tuples_returned('@.jobs_queued'::regclass) - entries;
      is_slow := entries > 2000 + cardinality(p_names) * p_count;
      IF (fresh <> '{}' OR is_slow AND chosen <> '{}')
        AND pg_try_advisory_xact_lock(hashtext('stepwise:marks'), hashtext('@'))
      THEN
        IF NOT is_slow THEN
          DELETE FROM @.marks WHERE name = ANY (fresh);
        ELSE
          next_at := clock_timestamp()
            + least(greatest(20 * (clock_timestamp() - began), interval '1 second'), interval '10 seconds');
          UPDATE @.marks SET until = next_at WHERE name = ANY (fresh);
          INSERT INTO @.marks AS k (name, shape, rank, turn, run_at, seq, until)
          SELECT DISTINCT ON (b.name) b.name, u.shape, ~ b.priority, b.turn, b.run_at, b.seq, next_at
          FROM @.jobs b JOIN unnest(p_names, p_shapes) AS u(name, shape) ON u.name = b.name
          WHERE b.id = ANY (chosen)
            AND NOT EXISTS (SELECT FROM @.limits m WHERE m.name = b.name AND m.running_per_key IS NOT NULL)
          ORDER BY b.name, ~ b.priority, b.turn, b.run_at, b.seq
          ON CONFLICT (name) DO UPDATE SET
            shape = EXCLUDED.shape, rank = EXCLUDED.rank, turn = EXCLUDED.turn, run_at = EXCLUDED.run_at, seq = EXCLUDED.seq;
        END IF;
      END IF;
      """

    /// Claims jobs for a worker that has its lease.
    ///
    /// If the worker passes what it knows, the claim first returns other jobs of the worker to the queue, because an answer
    /// was lost: that makes a claim that is repeated harmless. Jobs whose names have limits are chosen while the limit's row is
    /// locked, so that counts of running jobs are exact. A statement in this function sees what was committed before
    /// the statement began, not before the function did.
    ///
    /// A long transaction elsewhere keeps vacuum from removing what the claims before have left at the head of the index. A
    /// claim that reads thousands of such entries stores where it found its first job, and for a while claims begin there.
    /// Then one of them begins at the head again, for jobs that have returned to the queue before the mark.
    ///
    /// Jobs are claimed by priority, then by the turns of their keys: see ``FleetTurns``.
    ///
    /// The settings make the planner use the indexes before it has statistics. They raise what a plan seems to cost, so
    /// that without `jit = off` each call would be compiled, which takes seconds. Planning each statement again in each
    /// call would take longer than running them.
    ///
    /// Workers that select jobs by tags have functions of the same text with a condition, so that a claim without tags costs
    /// what it did. They begin where the marks say, and set none: the jobs before it may be others' to claim.
    static let functions = ClaimedTags.allCases.map(function).joined(separator: "\n")

    private static func function(_ tags: ClaimedTags) -> String {
      """
      CREATE OR REPLACE FUNCTION @.\(tags.function)(
        p_worker bigint, p_known bigint[], p_names text[], p_shapes bigint[], p_attempts bigint[], p_count bigint\(tags.parameter)
      ) RETURNS TABLE (
        o_id text, o_name text, o_fence bigint, o_attempt bigint, o_version bigint, o_first_shape bigint, o_first text,
        o_shape bigint, o_stage text, o_cancel boolean, o_elapsed double precision,
        o_now double precision
      ) LANGUAGE plpgsql
        SET jit = off SET enable_seqscan = off SET enable_bitmapscan = off SET enable_sort = off
        SET plan_cache_mode = force_generic_plan
      AS $claim$
      DECLARE
        l record;
        room bigint;
        j record;
        seen bigint;
        counts jsonb;
        used jsonb;
        picked text[];
        chosen text[];
        limited text[] := '{}';
        fresh text[];
        began timestamptz;
        next_at timestamptz;
        entries bigint;
        is_slow boolean;
      BEGIN
        PERFORM FROM @.workers WHERE id = p_worker AND lease_until >= clock_timestamp() FOR KEY SHARE;
        IF NOT FOUND THEN RETURN; END IF;

        IF p_known IS NOT NULL THEN
          UPDATE @.jobs SET
            state = CASE WHEN cancel_requested THEN 'cancelled' ELSE 'queued' END,
            finished_at = CASE WHEN cancel_requested THEN clock_timestamp() END,
            worker = NULL, attempt = attempt - 1
          WHERE state = 'running' AND worker = p_worker AND fence NOT IN (SELECT unnest(p_known));
        END IF;

        \(FleetTurns.queueDue)

        began := clock_timestamp();
        entries := pg_stat_get_xact_tuples_returned('@.jobs_queued'::regclass);
        fresh := ARRAY (
          SELECT m.name FROM @.marks m WHERE m.name = ANY (p_names) AND m.until <= began\(tags == .all ? " FOR UPDATE SKIP LOCKED" : "")
        );
        SELECT coalesce(array_agg(c.id), '{}') INTO chosen FROM (
          SELECT q.id
          FROM (
            SELECT u.name, u.shape, \(mark)
            FROM unnest(p_names, p_shapes) AS u(name, shape)
              LEFT JOIN @.marks k ON k.name = u.name AND k.shape >= u.shape AND k.name <> ALL (fresh)
            WHERE NOT EXISTS (SELECT FROM @.limits m WHERE m.name = u.name)
              AND NOT EXISTS (SELECT FROM @.pauses p WHERE p.name = u.name)
          ) AS t
          CROSS JOIN LATERAL (
            SELECT b.id, b.priority, b.turn, b.run_at, b.seq FROM @.jobs b
            WHERE b.state = 'queued' AND b.name = t.name AND b.shape <= t.shape \(tags.condition)
              AND (~ b.priority, b.turn, b.run_at, b.seq) >= (t.rank, t.turn, t.run_at, t.seq)
            ORDER BY ~ b.priority, b.turn, b.run_at, b.seq LIMIT p_count FOR UPDATE SKIP LOCKED
          ) AS q
          ORDER BY ~ q.priority, q.turn, q.run_at, q.seq LIMIT p_count
        ) AS c;

        FOR l IN
          SELECT m.*, u.shape AS known_shape, \(mark)
          FROM @.limits m JOIN unnest(p_names, p_shapes) AS u(name, shape) ON u.name = m.name
            LEFT JOIN @.marks k ON k.name = u.name AND k.shape >= u.shape AND k.name <> ALL (fresh)
          WHERE NOT EXISTS (SELECT FROM @.pauses p WHERE p.name = m.name)
          ORDER BY m.name FOR UPDATE OF m
        LOOP
          room := p_count;
          IF l.running IS NOT NULL THEN
            room := least(room, l.running - (
              SELECT count(*) FROM @.jobs r WHERE r.state = 'running' AND r.name = l.name
            ));
          END IF;
          IF l.rate IS NOT NULL THEN
            room := least(room, floor(least(
              l.rate, l.tokens + extract(epoch FROM clock_timestamp() - l.refilled_at) * l.rate / l.period
            ))::bigint);
          END IF;
          CONTINUE WHEN room <= 0;
          counts := '{}';
          IF l.running_per_key IS NOT NULL THEN
            SELECT coalesce(jsonb_object_agg(r.key, r.n), '{}') INTO counts FROM (
              SELECT s.key, count(*) AS n FROM @.jobs s
              WHERE s.state = 'running' AND s.name = l.name AND s.key IS NOT NULL GROUP BY s.key
            ) AS r;
          END IF;
          picked := '{}';
          used := counts;
          seen := 0;
          FOR j IN
            SELECT b.id, b.key FROM @.jobs b
            WHERE b.state = 'queued' AND b.name = l.name AND b.shape <= l.known_shape \(tags.condition)
              AND (~ b.priority, b.turn, b.run_at, b.seq) >= (l.rank, l.turn, l.run_at, l.seq)
            ORDER BY ~ b.priority, b.turn, b.run_at, b.seq LIMIT room + 100
          LOOP
            seen := seen + 1;
            IF l.running_per_key IS NOT NULL AND j.key IS NOT NULL THEN
              CONTINUE WHEN coalesce((used ->> j.key)::bigint, 0) >= l.running_per_key;
              used := used || jsonb_build_object(j.key, coalesce((used ->> j.key)::bigint, 0) + 1);
            END IF;
            picked := picked || j.id;
            EXIT WHEN cardinality(picked) >= room;
          END LOOP;
          IF cardinality(picked) < room AND seen = room + 100 THEN
            -- Keys that are at their limit are in front of others: enter the index once for each key.
            SELECT coalesce(array_agg(q.id), '{}') INTO picked FROM (
              WITH RECURSIVE keys(key) AS (
                (
                  SELECT k.key FROM @.jobs k
                  WHERE k.state = 'queued' AND k.name = l.name AND k.key IS NOT NULL ORDER BY k.key LIMIT 1
                )
                UNION ALL
                SELECT (
                  SELECT k.key FROM @.jobs k
                  WHERE k.state = 'queued' AND k.name = l.name AND k.key > keys.key ORDER BY k.key LIMIT 1
                ) FROM keys WHERE keys.key IS NOT NULL
              )
              SELECT f.* FROM keys CROSS JOIN LATERAL (
                SELECT b.id, b.priority, b.turn, b.run_at, b.seq FROM @.jobs b
                WHERE b.state = 'queued' AND b.name = l.name AND b.key = keys.key AND b.shape <= l.known_shape \(tags.condition)
                ORDER BY b.priority DESC, b.turn, b.run_at, b.seq
                LIMIT greatest(0, least(room, l.running_per_key - coalesce((counts ->> keys.key)::bigint, 0)))
              ) AS f
              UNION ALL (
                SELECT b.id, b.priority, b.turn, b.run_at, b.seq FROM @.jobs b
                WHERE b.state = 'queued' AND b.name = l.name AND b.key IS NULL AND b.shape <= l.known_shape \(tags.condition)
                ORDER BY ~ b.priority, b.turn, b.run_at, b.seq LIMIT room
              )
              ORDER BY priority DESC, turn, run_at, seq LIMIT room
            ) AS q;
          END IF;
          SELECT limited || coalesce(array_agg(c.id), '{}') INTO limited FROM (
            SELECT b.id FROM @.jobs b WHERE b.id = ANY (picked) AND b.state = 'queued' FOR UPDATE SKIP LOCKED
          ) AS c;
        END LOOP;

        IF limited <> '{}' THEN
          SELECT coalesce(array_agg(c.id), '{}') INTO chosen FROM (
            SELECT b.id FROM @.jobs b WHERE b.id = ANY (chosen || limited)
            ORDER BY b.priority DESC, b.turn, b.run_at, b.seq LIMIT p_count
          ) AS c;
          UPDATE @.limits m SET
            tokens = least(
              m.rate, m.tokens + extract(epoch FROM clock_timestamp() - m.refilled_at) * m.rate / m.period
            ) - c.n,
            refilled_at = clock_timestamp()
          FROM (SELECT b.name, count(*) AS n FROM @.jobs b WHERE b.id = ANY (chosen) GROUP BY b.name) AS c
          WHERE m.name = c.name AND m.rate IS NOT NULL;
        END IF;

        \(tags == .all ? marking : "")

        RETURN QUERY
          UPDATE @.jobs b SET
            state = 'running', worker = p_worker, fence = nextval('@.fences'),
            attempt = b.attempt + 1, max_attempts = u.attempts, waits_for = NULL, is_parked = false,
            error = CASE WHEN b.unread_codec IS NULL THEN b.error END, unread_codec = NULL,
            started_at = coalesce(b.started_at, clock_timestamp()), claimed_at = clock_timestamp(),
            claimed_by = (SELECT coalesce(nullif(w.name, ''), w.id::text) FROM @.workers w WHERE w.id = p_worker)
          FROM unnest(p_names, p_attempts) AS u(name, attempts)
          WHERE b.id = ANY (chosen) AND u.name = b.name
          RETURNING b.id, b.name, b.fence, b.attempt, b.version, b.first_shape, b.first, b.shape,
            b.stage, b.cancel_requested, extract(epoch FROM clock_timestamp() - b.started_at)::double precision,
            extract(epoch FROM clock_timestamp())::double precision;
      END
      $claim$;
      """
    }
  }
#endif
