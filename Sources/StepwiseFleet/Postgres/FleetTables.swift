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

    /// The names that are paused, those that each worker has registered, and how many jobs it runs at once.
    static func pauses(_ schema: String) -> String {
      """
      CREATE TABLE \(schema).pauses (name text PRIMARY KEY, paused_at timestamptz NOT NULL);
      ALTER TABLE \(schema).workers
        ADD COLUMN names text[] NOT NULL DEFAULT '{}', ADD COLUMN slots bigint NOT NULL DEFAULT 0;
      CREATE INDEX jobs_parent ON \(schema).jobs (parent) WHERE parent IS NOT NULL AND finished_at IS NULL
      """
    }

    /// Frees what dead workers held, and wakes the parents whose children have all ended.
    ///
    /// A dead worker is removed when none of its jobs is left: until then, each worker sees that there is something to
    /// free.
    ///
    /// A job may be what ends its workers. From its second death on it is delayed by a random time, so that it does not
    /// meet the same other jobs on the next worker and cost them all their attempts.
    static func sweep(_ schema: String) -> String {
      """
      CREATE FUNCTION \(schema).free() RETURNS TABLE (o_freed bigint, o_woken bigint) LANGUAGE plpgsql
        SET jit = off SET enable_seqscan = off SET plan_cache_mode = force_generic_plan
      AS $free$
      DECLARE
        dead bigint[];
        parents text[];
      BEGIN
        dead := ARRAY (
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
          WHERE r.state = 'running'
            AND (r.worker = ANY (dead) OR NOT EXISTS (SELECT FROM \(schema).workers w WHERE w.id = r.worker))
          FOR UPDATE SKIP LOCKED
        );
        GET DIAGNOSTICS o_freed = ROW_COUNT;
        DELETE FROM \(schema).workers w WHERE w.id = ANY (dead)
          AND NOT EXISTS (SELECT FROM \(schema).jobs r WHERE r.state = 'running' AND r.worker = w.id);
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
        GET DIAGNOSTICS o_woken = ROW_COUNT;
        RETURN NEXT;
      END
      $free$
      """
    }

    /// Cancels jobs and their children, and returns those that it has changed.
    ///
    /// Each level is locked before its children are read: one that is being added holds its parent's row until it can be
    /// seen, and one that is added later sees the cancellation.
    static func cancel(_ schema: String) -> String {
      """
      CREATE FUNCTION \(schema).cancel(p_ids text[], p_reason text)
        RETURNS TABLE (o_id text, o_name text, o_state text) LANGUAGE plpgsql SET jit = off
      AS $cancel$
      DECLARE
        level text[] := p_ids;
      BEGIN
        WHILE level <> '{}' LOOP
          level := ARRAY (
            SELECT id FROM \(schema).jobs WHERE id = ANY (level) AND finished_at IS NULL ORDER BY id FOR UPDATE
          );
          RETURN QUERY
            UPDATE \(schema).jobs SET
              cancel_requested = true, cancel_reason = coalesce(cancel_reason, p_reason),
              state = CASE WHEN state = 'running' THEN 'running' ELSE 'cancelled' END,
              finished_at = CASE WHEN state <> 'running' THEN clock_timestamp() END
            WHERE id = ANY (level) RETURNING id, name, state;
          level := ARRAY (SELECT id FROM \(schema).jobs WHERE parent = ANY (level) AND finished_at IS NULL);
        END LOOP;
      END
      $cancel$
      """
    }

    /// Notifies one worker more than there are new jobs, of those that have a free slot and know the name.
    ///
    /// A worker that is not notified claims when one of its jobs ends, and finds what is queued within its poll
    /// interval.
    static func announce(_ schema: String) -> String {
      """
      CREATE FUNCTION \(schema).announce(p_channel text, p_name text, p_count bigint) RETURNS text LANGUAGE sql
        SET jit = off
      AS $announce$
        SELECT string_agg(pg_notify(p_channel, 'q' || f.id)::text, '') FROM (
          SELECT c.id FROM (
            SELECT w.id, w.slots FROM \(schema).workers w
            WHERE w.lease_until >= clock_timestamp() AND (w.slots = 0 OR p_name IS NULL OR p_name = ANY (w.names))
            ORDER BY random() LIMIT 64
          ) AS c
          WHERE c.slots = 0 OR c.slots > (
            SELECT count(*) FROM (
              SELECT FROM \(schema).jobs r WHERE r.state = 'running' AND r.worker = c.id LIMIT c.slots
            ) AS taken
          )
          LIMIT p_count + 1
        ) AS f
      $announce$
      """
    }
  }

  /// Which jobs wait for which, so that the end of a child costs its parents one index lookup, as migration steps.
  ///
  /// A row is open (0) until the child has ended (1), then until a sweep has seen that (2); it is kept until the job that
  /// waits has ended, and protects the child from pruning. A parent whose children had all ended before has a row of
  /// itself for the next sweep.
  enum FleetWaits {
    static func table(_ schema: String) -> String {
      """
      CREATE TABLE \(schema).waits (
        child text COLLATE "C",
        job text COLLATE "C",
        state smallint NOT NULL,
        PRIMARY KEY (child, job)
      );
      CREATE INDEX waits_job ON \(schema).waits (job, state);
      CREATE INDEX waits_ended ON \(schema).waits (state) WHERE state = 1
      """
    }

    /// A trigger, which no statement that changes a job's state can forget, not even one of an earlier version.
    ///
    /// The lock on the children waits for a transaction in which a child ends, and makes one that begins later wait:
    /// otherwise neither would see the other. The trigger comes before the rows of jobs that wait already, as it locks
    /// the table.
    static func follow(_ schema: String) -> String {
      """
      CREATE FUNCTION \(schema).follow() RETURNS trigger LANGUAGE plpgsql
        SET enable_seqscan = off SET jit = off SET plan_cache_mode = force_generic_plan
      AS $follow$
      BEGIN
        IF NEW.state = 'waiting' THEN
          INSERT INTO \(schema).waits (child, job, state)
          SELECT c.id, NEW.id, 0 FROM (
            SELECT id FROM \(schema).jobs WHERE id = ANY (NEW.waits_for) AND finished_at IS NULL ORDER BY id FOR SHARE
          ) AS c
          ON CONFLICT (child, job) DO UPDATE SET state = 0;
          IF NOT FOUND THEN
            INSERT INTO \(schema).waits VALUES (NEW.id, NEW.id, 1) ON CONFLICT (child, job) DO UPDATE SET state = 1;
          END IF;
        ELSE
          UPDATE \(schema).waits SET state = 1 WHERE child = NEW.id AND state = 0;
          DELETE FROM \(schema).waits WHERE job = NEW.id;
        END IF;
        RETURN NULL;
      END
      $follow$;
      CREATE TRIGGER follow AFTER UPDATE OF state ON \(schema).jobs FOR EACH ROW
        WHEN (OLD.state <> NEW.state AND NEW.state IN ('waiting', 'done', 'failed', 'cancelled'))
        EXECUTE FUNCTION \(schema).follow();
      INSERT INTO \(schema).waits
      SELECT u.child, p.id, CASE WHEN c.id IS NULL OR c.finished_at IS NOT NULL THEN 1 ELSE 0 END
      FROM \(schema).jobs p CROSS JOIN LATERAL unnest(p.waits_for) AS u(child)
        LEFT JOIN \(schema).jobs c ON c.id = u.child
      WHERE p.state = 'waiting' ON CONFLICT DO NOTHING
      """
    }
  }
#endif
