// SPDX-License-Identifier: MIT
// Copyright (c) 2026 Stepwise contributors

#if Postgres
  /// The tables of a fleet and the functions that need more than one statement, as a step of the migration.
  enum FleetTables {
    /// A worker's lease is one row in `workers`, however many jobs it runs.
    ///
    /// A running job whose worker has no row has no owner. A job's fencing number comes from a sequence, so that a number is never used again, not even after an id
    /// was pruned.
    ///
    /// A chain is a job whose name begins with "chain ", whose first stage is the start of its run, and whose `stage` is
    /// its outcome.
    static let tables = """
      CREATE SEQUENCE @.fences;
      CREATE TABLE @.checkpoints (
        id bytea PRIMARY KEY,
        fence bigint NOT NULL,
        holder text NOT NULL,
        lease_until timestamptz,
        progression bytea,
        schema_version bigint,
        version bigint,
        checksum bigint,
        first bytea,
        stage bytea,
        saved_at timestamptz
      );
      CREATE TABLE @.workers (
        id bigint PRIMARY KEY,
        name text NOT NULL,
        started_at timestamptz NOT NULL,
        lease_until timestamptz NOT NULL,
        -- The names that the worker has registered, and how many jobs it runs at once.
        names text[] NOT NULL,
        slots bigint NOT NULL
      );
      CREATE TABLE @.jobs (
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
        deadlines jsonb,
        watched_until timestamptz,
        created_at timestamptz NOT NULL DEFAULT clock_timestamp(),
        started_at timestamptz,
        finished_at timestamptz
      ) WITH (fillfactor = 80, autovacuum_vacuum_scale_factor = 0.02, autovacuum_analyze_scale_factor = 0.05);
      -- In the order of the jobs, which a row comparison can enter anywhere: ~ inverts the order of numbers, and overflows for none.
      CREATE INDEX jobs_queued ON @.jobs (name, (~ priority), run_at, seq) WHERE state = 'queued';
      CREATE INDEX jobs_keys ON @.jobs (name, key, priority DESC, run_at, seq) WHERE state = 'queued' AND key IS NOT NULL;
      CREATE INDEX jobs_scheduled ON @.jobs (run_at) WHERE state = 'scheduled';
      CREATE INDEX jobs_running ON @.jobs (worker) WHERE state = 'running';
      CREATE INDEX jobs_waiting ON @.jobs (id) WHERE state = 'waiting';
      CREATE INDEX jobs_failed ON @.jobs (finished_at) WHERE state = 'failed';
      CREATE INDEX jobs_finished ON @.jobs (finished_at) WHERE finished_at IS NOT NULL;
      CREATE INDEX jobs_parent ON @.jobs (parent) WHERE parent IS NOT NULL AND finished_at IS NULL;
      CREATE TABLE @.stages (
        id text COLLATE "C",
        version bigint,
        shape bigint NOT NULL,
        stage text NOT NULL,
        saved_at timestamptz NOT NULL DEFAULT clock_timestamp(),
        PRIMARY KEY (id, version)
      );
      -- The stages of a job that are stored: the first, those that it keeps, and the last, which it may keep as well.
      CREATE VIEW @.passed AS
        SELECT id, 1 AS version, first_shape AS shape, first AS stage, created_at AS saved_at FROM @.jobs
        UNION ALL SELECT id, version, shape, stage, saved_at FROM @.stages
        UNION ALL SELECT id, version, shape, stage, coalesce(finished_at, started_at) FROM @.jobs WHERE version > 1;
      -- What the steps of a chain have stored, numbered from 2. When the run has its outcome, they are removed unless the job
      -- keeps its stages; then they only show what the run did.
      CREATE TABLE @.entries (
        job text COLLATE "C",
        number bigint,
        entry bytea NOT NULL,
        saved_at timestamptz DEFAULT clock_timestamp(),
        PRIMARY KEY (job, number)
      );
      CREATE TABLE @.signals (
        job text COLLATE "C",
        number bigint GENERATED ALWAYS AS IDENTITY,
        name text NOT NULL,
        message text NOT NULL,
        value text NOT NULL,
        is_taken boolean NOT NULL DEFAULT false,
        sent_at timestamptz NOT NULL DEFAULT clock_timestamp(),
        PRIMARY KEY (job, number),
        UNIQUE (job, message)
      );
      -- Which jobs wait for which, so that the end of a child costs its parents one index lookup. A row is open (0) until the
      -- child has ended (1), then until a sweep has seen that (2); it is kept until the job that waits has ended, and protects
      -- the child from pruning. A parent whose children had all ended before has a row of itself for the next sweep.
      CREATE TABLE @.waits (
        child text COLLATE "C",
        job text COLLATE "C",
        state smallint NOT NULL,
        PRIMARY KEY (child, job)
      );
      CREATE INDEX waits_job ON @.waits (job, state);
      CREATE INDEX waits_ended ON @.waits (state) WHERE state = 1;
      CREATE TABLE @.limits (
        name text PRIMARY KEY,
        running bigint,
        running_per_key bigint,
        rate bigint,
        period double precision,
        tokens double precision,
        refilled_at timestamptz
      );
      -- Where claims begin in the queue of a name, for a while.
      CREATE TABLE @.marks (
        name text PRIMARY KEY,
        shape bigint NOT NULL,
        rank bigint NOT NULL,
        run_at timestamptz NOT NULL,
        seq bigint NOT NULL,
        until timestamptz NOT NULL
      );
      CREATE TABLE @.pauses (name text PRIMARY KEY, paused_at timestamptz NOT NULL);
      CREATE TABLE @.schedules (
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
      );
      """

    /// What has changed in tables that exist.
    ///
    /// A job that is scheduled for no time at all has something else to wait for. Earlier versions lost some that did not, and
    /// parents whose children ended in a transaction that could not see the wait.
    static let changes = """
      ALTER TABLE @.workers ADD COLUMN renewed_at timestamptz NOT NULL DEFAULT clock_timestamp();
      ALTER TABLE @.jobs
        -- Whether a running job only waits, in its worker's memory; and how many of its attempts were deaths of workers.
        ADD COLUMN is_parked boolean NOT NULL DEFAULT false,
        ADD COLUMN deaths bigint NOT NULL DEFAULT 0;
      -- Why the step that waits for the signal could not read it.
      ALTER TABLE @.signals ADD COLUMN refusal text;
      UPDATE @.jobs SET state = 'queued', run_at = clock_timestamp()
        WHERE state = 'scheduled' AND run_at = 'infinity' AND coalesce(cardinality(waits_for), 0) = 0;
      ALTER TABLE @.jobs ADD CONSTRAINT jobs_scheduled_for_something
        CHECK (state <> 'scheduled' OR run_at < 'infinity' OR coalesce(cardinality(waits_for), 0) > 0);
      UPDATE @.waits w SET state = 1 FROM @.jobs c WHERE w.state = 0 AND c.id = w.child AND c.finished_at IS NOT NULL;
      """

    /// What the code of a job says of itself.
    static let notes = "ALTER TABLE @.jobs ADD COLUMN IF NOT EXISTS note text;"

    /// The codec that the last worker did not have or that failed, so that it stopped the job; its next claim clears it.
    static let codecs = "ALTER TABLE @.jobs ADD COLUMN IF NOT EXISTS unread_codec text;"

    /// Triggers, which no statement that changes a job can forget.
    static let triggers = """
      CREATE TRIGGER hold BEFORE UPDATE OF state ON @.jobs FOR EACH ROW
        WHEN (NEW.state = 'cancelled' AND NEW.stage IS NULL AND NEW.fence > 0 AND starts_with(NEW.name, 'chain ')
          OR NEW.state = 'scheduled' AND NEW.waits_for <> '{}')
        EXECUTE FUNCTION @.hold();
      CREATE TRIGGER forget AFTER DELETE OR UPDATE OF seq ON @.jobs FOR EACH ROW EXECUTE FUNCTION @.forget();
      CREATE TRIGGER follow AFTER UPDATE OF state ON @.jobs FOR EACH ROW
        WHEN (OLD.state <> NEW.state AND NEW.state IN ('waiting', 'done', 'failed', 'cancelled'))
        EXECUTE FUNCTION @.follow();
      """

    /// The jobs that a scheduled job waits for, beside a signal or a time.
    static let children = """
      ALTER TABLE @.jobs ADD COLUMN IF NOT EXISTS children text[];
      DROP TRIGGER IF EXISTS follow ON @.jobs;
      CREATE TRIGGER follow AFTER UPDATE OF state ON @.jobs FOR EACH ROW
        WHEN (OLD.state <> NEW.state AND (NEW.state IN ('waiting', 'done', 'failed', 'cancelled')
          OR NEW.state = 'scheduled' AND NEW.children IS NOT NULL))
        EXECUTE FUNCTION @.follow();
      """

    static let triggerFunctions = """
      -- A chain that was claimed may have something to undo: it is cancelled only with its outcome, and queued until then.
      -- A job that was stopped while it waited is scheduled for the end of the wait, and waits_for has the signals that it
      -- waits for; it is queued if one has come. The trigger runs when the row is locked, as "send" locks it.
      CREATE OR REPLACE FUNCTION @.hold() RETURNS trigger LANGUAGE plpgsql AS $hold$
      BEGIN
        IF NEW.state = 'scheduled' THEN
          IF EXISTS (
            SELECT FROM @.signals s
            WHERE s.job = NEW.id AND s.name = ANY (NEW.waits_for) AND NOT s.is_taken AND s.refusal IS NULL
          ) THEN
            NEW.state := 'queued';
            NEW.run_at := clock_timestamp();
          END IF;
          RETURN NEW;
        END IF;
        IF OLD.cancel_requested AND NEW.attempt >= NEW.max_attempts THEN
          NEW.state := 'failed';
          RETURN NEW;
        END IF;
        IF NOT OLD.cancel_requested THEN NEW.run_at := clock_timestamp(); END IF;
        NEW.state := 'queued';
        NEW.finished_at := NULL;
        RETURN NEW;
      END
      $hold$;

      -- What belongs to a job is removed with the job, and when another one replaces it, which has a new seq.
      CREATE OR REPLACE FUNCTION @.forget() RETURNS trigger LANGUAGE plpgsql AS $forget$
      BEGIN
        DELETE FROM @.stages WHERE id = OLD.id;
        DELETE FROM @.entries WHERE job = OLD.id;
        DELETE FROM @.signals WHERE job = OLD.id;
        RETURN NULL;
      END
      $forget$;

      -- The lock on the children waits for a transaction in which a child ends, and makes one that begins later wait:
      -- otherwise neither would see the other.
      CREATE OR REPLACE FUNCTION @.follow() RETURNS trigger LANGUAGE plpgsql
        SET enable_seqscan = off SET jit = off SET plan_cache_mode = force_generic_plan
      AS $follow$
      DECLARE
        -- Tables of an earlier version have no column for it until the migration is complete.
        awaited text[] := CASE NEW.state WHEN 'waiting' THEN NEW.waits_for
          WHEN 'scheduled' THEN ARRAY (SELECT jsonb_array_elements_text(to_jsonb(NEW) -> 'children')) END;
      BEGIN
        IF awaited IS NOT NULL THEN
          INSERT INTO @.waits (child, job, state)
          SELECT c.id, NEW.id, 0 FROM (
            SELECT id FROM @.jobs WHERE id = ANY (awaited) AND finished_at IS NULL ORDER BY id FOR SHARE
          ) AS c
          ON CONFLICT (child, job) DO UPDATE SET state = 0;
          IF NOT FOUND THEN
            INSERT INTO @.waits VALUES (NEW.id, NEW.id, 1) ON CONFLICT (child, job) DO UPDATE SET state = 1;
          END IF;
        ELSE
          UPDATE @.waits SET state = 1 WHERE child = NEW.id AND state = 0;
          DELETE FROM @.waits WHERE job = NEW.id;
        END IF;
        RETURN NULL;
      END
      $follow$;
      """

    static let functions = """
      -- Frees what dead workers held, and wakes the parents whose children have all ended.
      --
      -- A dead worker is removed when none of its jobs is left: until then, each worker sees that there is something to free.
      --
      -- A job may be what ends its workers. From its second death on it is delayed by a random time, so that it does not
      -- meet the same other jobs on the next worker and cost them all their attempts. A job that only waited is not such a
      -- job, and a lease that ended while the server did not run says nothing about the worker: neither counts.
      CREATE OR REPLACE FUNCTION @.free() RETURNS TABLE (o_freed bigint, o_woken bigint) LANGUAGE plpgsql
        SET jit = off SET enable_seqscan = off SET plan_cache_mode = force_generic_plan
      AS $free$
      DECLARE
        dead bigint[];
        unheard bigint[];
        parents text[];
      BEGIN
        dead := ARRAY (SELECT id FROM @.workers WHERE lease_until < clock_timestamp() FOR UPDATE SKIP LOCKED);
        unheard := ARRAY (SELECT id FROM @.workers WHERE id = ANY (dead) AND renewed_at < pg_postmaster_start_time());
        UPDATE @.jobs j SET
          state = CASE WHEN cancel_requested THEN 'cancelled' WHEN NOT f.counts THEN 'queued'
            WHEN attempt >= max_attempts THEN 'failed' WHEN attempt > 1 THEN 'scheduled' ELSE 'queued' END,
          run_at = CASE WHEN f.counts AND attempt > 1
            THEN clock_timestamp() + random() * least(60, 2 ^ (attempt - 1)) * interval '1 second' ELSE run_at END,
          finished_at = CASE WHEN cancel_requested OR f.counts AND attempt >= max_attempts THEN clock_timestamp() END,
          error = CASE WHEN cancel_requested THEN NULL WHEN f.counts THEN
            'The worker died, or could not reach the server, during attempt ' || attempt || ' of this stage.' ELSE error END,
          attempts = CASE WHEN f.counts THEN @.attempted(j, 'lost', 'The worker died, or could not reach the server.')
            ELSE attempts END,
          waits_since = clock_timestamp(), waits_until = NULL,
          attempt = CASE WHEN f.counts THEN attempt ELSE attempt - 1 END,
          deaths = CASE WHEN f.counts THEN deaths + 1 ELSE deaths END,
          worker = NULL
        FROM (
          SELECT r.id, NOT r.is_parked AND r.worker <> ALL (unheard) AS counts FROM @.jobs r
          WHERE r.state = 'running'
            AND (r.worker = ANY (dead) OR NOT EXISTS (SELECT FROM @.workers w WHERE w.id = r.worker))
          FOR UPDATE SKIP LOCKED
        ) AS f
        WHERE j.id = f.id;
        GET DIAGNOSTICS o_freed = ROW_COUNT;
        DELETE FROM @.workers w WHERE w.id = ANY (dead)
          AND NOT EXISTS (SELECT FROM @.jobs r WHERE r.state = 'running' AND r.worker = w.id);
        -- In a transaction of another level, a child that ended may not have seen the wait for it; the fleet's own have this one.
        IF current_setting('transaction_isolation') <> 'read committed' THEN
          UPDATE @.waits w SET state = 1 FROM @.jobs c WHERE w.state = 0 AND c.id = w.child AND c.finished_at IS NOT NULL;
        END IF;
        WITH seen AS (
          UPDATE @.waits SET state = 2 WHERE ctid = ANY (
            ARRAY (SELECT ctid FROM @.waits WHERE state = 1 FOR UPDATE SKIP LOCKED)
          ) RETURNING job
        )
        SELECT array_agg(DISTINCT job) INTO parents FROM seen;
        UPDATE @.jobs SET state = 'queued', run_at = CASE WHEN state = 'scheduled' THEN clock_timestamp() ELSE run_at END
        WHERE id = ANY (ARRAY (
          SELECT p.id FROM @.jobs p
          WHERE p.id = ANY (parents) AND (p.state = 'waiting' OR p.state = 'scheduled' AND p.children IS NOT NULL)
            AND NOT EXISTS (SELECT FROM @.waits w WHERE w.job = p.id AND w.state = 0 OFFSET 0)
          ORDER BY p.id FOR UPDATE
        ));
        GET DIAGNOSTICS o_woken = ROW_COUNT;
        RETURN NEXT;
      END
      $free$;

      -- Cancels jobs and their children, and returns those that it has changed.
      --
      -- Each level is locked before its children are read: one that is being added holds its parent's row until it can be
      -- seen, and one that is added later sees the cancellation.
      CREATE OR REPLACE FUNCTION @.cancel(p_ids text[], p_reason text)
        RETURNS TABLE (o_id text, o_name text, o_state text) LANGUAGE plpgsql SET jit = off
      AS $cancel$
      DECLARE
        level text[] := p_ids;
      BEGIN
        WHILE level <> '{}' LOOP
          level := ARRAY (
            SELECT id FROM @.jobs WHERE id = ANY (level) AND \(FleetChange.isCancellable) ORDER BY id FOR UPDATE
          );
          RETURN QUERY
            UPDATE @.jobs SET
              cancel_requested = true, cancel_reason = coalesce(cancel_reason, p_reason),
              state = CASE WHEN state = 'running' THEN 'running' ELSE 'cancelled' END,
              finished_at = CASE WHEN state <> 'running' THEN clock_timestamp() END
            WHERE id = ANY (level) RETURNING id, name, state;
          level := ARRAY (SELECT id FROM @.jobs WHERE parent = ANY (level) AND finished_at IS NULL);
        END LOOP;
      END
      $cancel$;

      -- Whether a job or one of its parents has not ended: a child is kept until then, as it may have to be undone.
      CREATE OR REPLACE FUNCTION @.has_open_parent(p_parent text) RETURNS boolean LANGUAGE sql STABLE AS $open$
        WITH RECURSIVE up AS (
          SELECT p.id, p.parent, p.finished_at FROM @.jobs p WHERE p.id = p_parent
          UNION SELECT p.id, p.parent, p.finished_at FROM up JOIN @.jobs p ON p.id = up.parent
        )
        SELECT EXISTS (SELECT FROM up WHERE finished_at IS NULL)
      $open$;

      -- Stores a signal for a job that has not ended, and queues a job that was stopped until it comes.
      CREATE OR REPLACE FUNCTION @.send(p_job text, p_name text, p_message text, p_value text)
        RETURNS TABLE (o_answer text, o_state text, o_name text) LANGUAGE plpgsql AS $send$
      DECLARE
        j record;
      BEGIN
        SELECT state, waits_for, name INTO j FROM @.jobs WHERE id = p_job FOR NO KEY UPDATE;
        IF NOT FOUND THEN RETURN QUERY SELECT 'unknown', NULL, NULL; RETURN; END IF;
        IF EXISTS (SELECT FROM @.signals s WHERE s.job = p_job AND s.message = p_message) THEN
          RETURN QUERY SELECT 'known', j.state, j.name;
          RETURN;
        END IF;
        IF j.state IN ('done', 'failed', 'cancelled') THEN RETURN QUERY SELECT 'ended', j.state, j.name; RETURN; END IF;
        INSERT INTO @.signals (job, name, message, value) VALUES (p_job, p_name, p_message, p_value);
        IF j.state = 'scheduled' AND p_name = ANY (j.waits_for) THEN
          UPDATE @.jobs SET state = 'queued', run_at = clock_timestamp() WHERE id = p_job;
          j.state := 'queued';
        END IF;
        RETURN QUERY SELECT 'added', j.state, j.name;
      END
      $send$;

      -- Notifies one worker more than there are new jobs, of those that have a free slot and know the name; where workers
      -- select jobs by tags, more.
      --
      -- A worker that is not notified claims when one of its jobs ends, and finds what is queued within its poll interval.
      CREATE OR REPLACE FUNCTION @.announce(p_channel text, p_name text, p_count bigint) RETURNS text LANGUAGE sql SET jit = off
      AS $announce$
        SELECT string_agg(pg_notify(p_channel, 'q' || f.id)::text, '') FROM (
          SELECT c.id FROM (
            SELECT w.id, w.slots FROM @.workers w
            WHERE w.lease_until >= clock_timestamp() AND p_name = ANY (w.names)
            ORDER BY random() LIMIT 64
          ) AS c
          WHERE c.slots > (
            SELECT count(*) FROM (
              SELECT FROM @.jobs r WHERE r.state = 'running' AND r.worker = c.id AND NOT r.is_parked LIMIT c.slots
            ) AS taken
          )
          LIMIT p_count + CASE WHEN EXISTS (
            SELECT FROM @.workers t WHERE t.tags_only IS NOT NULL OR t.tags_except IS NOT NULL
          ) THEN 64 ELSE 1 END
        ) AS f
      $announce$;
      """
  }
#endif
