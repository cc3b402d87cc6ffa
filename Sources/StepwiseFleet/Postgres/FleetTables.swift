// SPDX-License-Identifier: MIT
// Copyright (c) 2026 Stepwise contributors

#if Postgres
  /// The tables of a fleet and the functions that need more than one statement, as migration steps.
  ///
  /// A worker's lease is one row in `workers`, however many jobs it runs: a running job whose worker has no row has no
  /// owner. A job's fencing number comes from a sequence, so that a number is never used again, not even after an id
  /// was pruned.
  enum FleetTables {
    /// The tables, in a schema whose quoted name is passed.
    static func tables(_ schema: String) -> String {
      """
      CREATE TABLE \(schema).workers (
        id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
        name text NOT NULL,
        started_at timestamptz NOT NULL,
        lease_until timestamptz NOT NULL
      );
      CREATE TABLE \(schema).jobs (
        id text COLLATE "C" PRIMARY KEY,
        seq bigint GENERATED ALWAYS AS IDENTITY,
        name text NOT NULL,
        key text,
        priority bigint NOT NULL,
        state text NOT NULL
          CHECK (state IN ('queued', 'scheduled', 'running', 'waiting', 'done', 'failed', 'cancelled')),
        run_at timestamptz NOT NULL,
        attempt bigint NOT NULL DEFAULT 0,
        max_attempts bigint NOT NULL DEFAULT 1,
        worker bigint,
        fence bigint NOT NULL DEFAULT 0,
        cancel_requested boolean NOT NULL DEFAULT false,
        cancel_reason text,
        keeps_stages boolean NOT NULL,
        version bigint NOT NULL DEFAULT 1,
        first_shape bigint NOT NULL,
        first text NOT NULL,
        shape bigint NOT NULL,
        stage text,
        error text,
        parent text COLLATE "C",
        waits_for text[],
        watched_until timestamptz,
        created_at timestamptz NOT NULL DEFAULT clock_timestamp(),
        started_at timestamptz,
        finished_at timestamptz
      ) WITH (fillfactor = 80, autovacuum_vacuum_scale_factor = 0.02, autovacuum_analyze_scale_factor = 0.05);
      CREATE INDEX jobs_queued ON \(schema).jobs (name, priority DESC, run_at, seq) WHERE state = 'queued';
      CREATE INDEX jobs_scheduled ON \(schema).jobs (run_at) WHERE state = 'scheduled';
      CREATE INDEX jobs_running ON \(schema).jobs (worker) WHERE state = 'running';
      CREATE INDEX jobs_waiting ON \(schema).jobs (id) WHERE state = 'waiting';
      CREATE INDEX jobs_failed ON \(schema).jobs (finished_at) WHERE state = 'failed';
      CREATE INDEX jobs_finished ON \(schema).jobs (finished_at) WHERE finished_at IS NOT NULL;
      CREATE TABLE \(schema).stages (
        id text COLLATE "C",
        version bigint,
        shape bigint NOT NULL,
        stage text NOT NULL,
        saved_at timestamptz NOT NULL DEFAULT clock_timestamp(),
        PRIMARY KEY (id, version)
      );
      CREATE TABLE \(schema).limits (
        name text PRIMARY KEY,
        running bigint,
        running_per_key bigint,
        rate bigint,
        period double precision,
        tokens double precision,
        refilled_at timestamptz
      );
      CREATE TABLE \(schema).schedules (
        name text PRIMARY KEY,
        cron text NOT NULL,
        zone text NOT NULL,
        next_at timestamptz NOT NULL,
        progression text NOT NULL,
        key text,
        priority bigint NOT NULL,
        keeps_stages boolean NOT NULL,
        shape bigint NOT NULL,
        first text NOT NULL
      )
      """
    }

    /// The queued jobs of each key.
    static func keys(_ schema: String) -> String {
      """
      CREATE INDEX jobs_keys ON \(schema).jobs (name, key, priority DESC, run_at, seq)
        WHERE state = 'queued' AND key IS NOT NULL
      """
    }

    /// Claims jobs for a worker that has its lease.
    ///
    /// First it returns jobs to the queue that the worker claimed and does not know of, because an answer was lost:
    /// that makes a claim that is repeated harmless. Jobs whose names have limits are chosen while the limit's row is
    /// locked, so that counts of running jobs are exact. A statement in this function sees what was committed before
    /// the statement began, not before the function did.
    ///
    /// The settings make the planner use the indexes before it has statistics. They raise what a plan seems to cost, so
    /// that without `jit = off` each call would be compiled, which takes seconds. Planning each statement again in each
    /// call would take longer than running them.
    static func claim(_ schema: String) -> String {
      """
      CREATE OR REPLACE FUNCTION \(schema).claim(
        p_worker bigint, p_known bigint[], p_names text[], p_shapes bigint[], p_attempts bigint[], p_count bigint
      ) RETURNS TABLE (
        o_id text, o_name text, o_fence bigint, o_attempt bigint, o_max bigint, o_version bigint, o_first_shape bigint,
        o_first text, o_shape bigint, o_stage text, o_cancel boolean
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
      BEGIN
        PERFORM FROM \(schema).workers WHERE id = p_worker AND lease_until >= clock_timestamp() FOR KEY SHARE;
        IF NOT FOUND THEN RETURN; END IF;

        UPDATE \(schema).jobs SET
          state = CASE WHEN cancel_requested THEN 'cancelled' ELSE 'queued' END,
          finished_at = CASE WHEN cancel_requested THEN clock_timestamp() END,
          worker = NULL, attempt = attempt - 1
        WHERE state = 'running' AND worker = p_worker AND fence <> ALL (p_known);

        UPDATE \(schema).jobs SET state = 'queued' WHERE id IN (
          SELECT id FROM \(schema).jobs WHERE state = 'scheduled' AND run_at <= clock_timestamp()
          ORDER BY run_at LIMIT 1000 FOR UPDATE SKIP LOCKED
        );

        SELECT coalesce(array_agg(c.id), '{}') INTO chosen FROM (
          SELECT q.id
          FROM (
            SELECT u.name, u.shape FROM unnest(p_names, p_shapes) AS u(name, shape)
            WHERE NOT EXISTS (SELECT FROM \(schema).limits m WHERE m.name = u.name)
          ) AS t
          CROSS JOIN LATERAL (
            SELECT b.id, b.priority, b.run_at, b.seq FROM \(schema).jobs b
            WHERE b.state = 'queued' AND b.name = t.name AND b.shape <= t.shape
            ORDER BY b.priority DESC, b.run_at, b.seq LIMIT p_count FOR UPDATE SKIP LOCKED
          ) AS q
          ORDER BY q.priority DESC, q.run_at, q.seq LIMIT p_count
        ) AS c;

        FOR l IN
          SELECT m.*, u.shape AS known_shape
          FROM \(schema).limits m JOIN unnest(p_names, p_shapes) AS u(name, shape) ON u.name = m.name
          ORDER BY m.name FOR UPDATE OF m
        LOOP
          room := p_count;
          IF l.running IS NOT NULL THEN
            room := least(room, l.running - (
              SELECT count(*) FROM \(schema).jobs r WHERE r.state = 'running' AND r.name = l.name
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
              SELECT s.key, count(*) AS n FROM \(schema).jobs s
              WHERE s.state = 'running' AND s.name = l.name AND s.key IS NOT NULL GROUP BY s.key
            ) AS r;
          END IF;
          picked := '{}';
          used := counts;
          seen := 0;
          FOR j IN
            SELECT b.id, b.key FROM \(schema).jobs b
            WHERE b.state = 'queued' AND b.name = l.name AND b.shape <= l.known_shape
            ORDER BY b.priority DESC, b.run_at, b.seq LIMIT room + 100
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
                  SELECT k.key FROM \(schema).jobs k
                  WHERE k.state = 'queued' AND k.name = l.name AND k.key IS NOT NULL ORDER BY k.key LIMIT 1
                )
                UNION ALL
                SELECT (
                  SELECT k.key FROM \(schema).jobs k
                  WHERE k.state = 'queued' AND k.name = l.name AND k.key > keys.key ORDER BY k.key LIMIT 1
                ) FROM keys WHERE keys.key IS NOT NULL
              )
              SELECT f.* FROM keys CROSS JOIN LATERAL (
                SELECT b.id, b.priority, b.run_at, b.seq FROM \(schema).jobs b
                WHERE b.state = 'queued' AND b.name = l.name AND b.key = keys.key AND b.shape <= l.known_shape
                ORDER BY b.priority DESC, b.run_at, b.seq
                LIMIT greatest(0, least(room, l.running_per_key - coalesce((counts ->> keys.key)::bigint, 0)))
              ) AS f
              UNION ALL (
                SELECT b.id, b.priority, b.run_at, b.seq FROM \(schema).jobs b
                WHERE b.state = 'queued' AND b.name = l.name AND b.key IS NULL AND b.shape <= l.known_shape
                ORDER BY b.priority DESC, b.run_at, b.seq LIMIT room
              )
              ORDER BY priority DESC, run_at, seq LIMIT room
            ) AS q;
          END IF;
          SELECT limited || coalesce(array_agg(c.id), '{}') INTO limited FROM (
            SELECT b.id FROM \(schema).jobs b WHERE b.id = ANY (picked) AND b.state = 'queued' FOR UPDATE SKIP LOCKED
          ) AS c;
        END LOOP;

        IF limited <> '{}' THEN
          SELECT coalesce(array_agg(c.id), '{}') INTO chosen FROM (
            SELECT b.id FROM \(schema).jobs b WHERE b.id = ANY (chosen || limited)
            ORDER BY b.priority DESC, b.run_at, b.seq LIMIT p_count
          ) AS c;
          UPDATE \(schema).limits m SET
            tokens = least(
              m.rate, m.tokens + extract(epoch FROM clock_timestamp() - m.refilled_at) * m.rate / m.period
            ) - c.n,
            refilled_at = clock_timestamp()
          FROM (SELECT b.name, count(*) AS n FROM \(schema).jobs b WHERE b.id = ANY (chosen) GROUP BY b.name) AS c
          WHERE m.name = c.name AND m.rate IS NOT NULL;
        END IF;

        RETURN QUERY
          UPDATE \(schema).jobs b SET
            state = 'running', worker = p_worker, fence = nextval('\(schema.replacing("'", with: "''")).fences'),
            attempt = b.attempt + 1, max_attempts = u.attempts, waits_for = NULL,
            started_at = coalesce(b.started_at, clock_timestamp())
          FROM unnest(p_names, p_attempts) AS u(name, attempts)
          WHERE b.id = ANY (chosen) AND u.name = b.name
          RETURNING b.id, b.name, b.fence, b.attempt, b.max_attempts, b.version, b.first_shape, b.first, b.shape,
            b.stage, b.cancel_requested;
      END
      $claim$
      """
    }

    /// Frees what dead workers held, and wakes the parents whose children have all ended.
    ///
    /// A job may be what ends its workers. From its second death on it is delayed by a random time, so that it does not
    /// meet the same other jobs on the next worker and cost them all their attempts.
    static func sweep(_ schema: String) -> String {
      """
      CREATE OR REPLACE FUNCTION \(schema).sweep() RETURNS bigint LANGUAGE plpgsql
        SET jit = off SET enable_seqscan = off SET plan_cache_mode = force_generic_plan
      AS $sweep$
      DECLARE
        freed bigint;
        woken bigint;
        parents text[];
      BEGIN
        DELETE FROM \(schema).workers WHERE id IN (
          SELECT id FROM \(schema).workers WHERE lease_until < clock_timestamp() FOR UPDATE SKIP LOCKED
        );
        UPDATE \(schema).jobs SET
          state = CASE WHEN cancel_requested THEN 'cancelled' WHEN attempt >= max_attempts THEN 'failed'
            WHEN attempt > 1 THEN 'scheduled' ELSE 'queued' END,
          run_at = CASE WHEN attempt > 1
            THEN clock_timestamp() + random() * least(60, 2 ^ (attempt - 1)) * interval '1 second' ELSE run_at END,
          finished_at =
            CASE WHEN cancel_requested OR attempt >= max_attempts THEN clock_timestamp() END,
          error = CASE WHEN NOT cancel_requested THEN 'The worker died during attempt ' || attempt || ' of this stage.' END,
          worker = NULL
        WHERE id IN (
          SELECT r.id FROM \(schema).jobs r
          WHERE r.state = 'running' AND NOT EXISTS (SELECT FROM \(schema).workers w WHERE w.id = r.worker)
          FOR UPDATE SKIP LOCKED
        );
        GET DIAGNOSTICS freed = ROW_COUNT;
        WITH seen AS (
          UPDATE \(schema).waits SET state = 2 WHERE ctid = ANY (
            ARRAY (SELECT ctid FROM \(schema).waits WHERE state = 1 FOR UPDATE SKIP LOCKED)
          ) RETURNING job
        )
        SELECT array_agg(DISTINCT job) INTO parents FROM seen;
        UPDATE \(schema).jobs SET state = 'queued' WHERE state = 'waiting' AND id = ANY (ARRAY (
          SELECT p.id FROM \(schema).jobs p
          WHERE p.id = ANY (parents) AND p.state = 'waiting'
            AND NOT EXISTS (SELECT FROM \(schema).waits w WHERE w.job = p.id AND w.state = 0 OFFSET 0)
          ORDER BY p.id FOR UPDATE
        ));
        GET DIAGNOSTICS woken = ROW_COUNT;
        RETURN freed + woken;
      END
      $sweep$
      """
    }
  }
#endif
