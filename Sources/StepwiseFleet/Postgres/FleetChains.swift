// SPDX-License-Identifier: MIT
// Copyright (c) 2026 Stepwise contributors

#if Postgres
  /// What the database holds of chains, as migration steps and statements.
  ///
  /// A chain is a job whose name begins with "chain ", whose first stage is the start of its run, and whose `stage` is its
  /// outcome. What its steps have stored are entries, numbered from 2. When the run has its outcome, they are removed unless
  /// the job keeps its stages; then they only show what the run did.
  enum FleetChains {
    /// The limit for the value of a step, in bytes.
    static let maxValueSize = 16 * 1_024 * 1_024

    static func tables(_ schema: String) -> String {
      """
      CREATE TABLE \(schema).entries (
        job text COLLATE "C",
        number bigint,
        entry bytea NOT NULL,
        PRIMARY KEY (job, number)
      );
      CREATE TABLE \(schema).signals (
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
      ALTER TABLE \(schema).jobs ADD COLUMN deadlines jsonb
      """
    }

    /// When each entry was stored.
    static func times(_ schema: String) -> String {
      """
      ALTER TABLE \(schema).entries ADD COLUMN saved_at timestamptz;
      ALTER TABLE \(schema).entries ALTER COLUMN saved_at SET DEFAULT clock_timestamp()
      """
    }

    /// Triggers, which no statement can forget.
    ///
    /// A chain that was claimed may have something to undo: it is cancelled only with its outcome, and queued until then.
    /// A job that was stopped while it waited is scheduled for the end of the wait, and `waits_for` has the signals that it
    /// waits for; it is queued if one has come. The trigger runs when the row is locked, as `send` locks it. What belongs to a job is removed with the job.
    static func triggers(_ schema: String) -> String {
      """
      CREATE FUNCTION \(schema).hold() RETURNS trigger LANGUAGE plpgsql AS $hold$
      BEGIN
        IF NEW.state = 'scheduled' THEN
          IF EXISTS (
            SELECT FROM \(schema).signals s WHERE s.job = NEW.id AND s.name = ANY (NEW.waits_for) AND NOT s.is_taken
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
      CREATE TRIGGER hold BEFORE UPDATE OF state ON \(schema).jobs FOR EACH ROW
        WHEN (NEW.state = 'cancelled' AND NEW.stage IS NULL AND NEW.fence > 0 AND starts_with(NEW.name, 'chain ')
          OR NEW.state = 'scheduled' AND NEW.waits_for <> '{}')
        EXECUTE FUNCTION \(schema).hold();
      CREATE FUNCTION \(schema).forget() RETURNS trigger LANGUAGE plpgsql AS $forget$
      BEGIN
        DELETE FROM \(schema).entries USING gone WHERE job = gone.id;
        DELETE FROM \(schema).signals USING gone WHERE job = gone.id;
        RETURN NULL;
      END
      $forget$;
      CREATE TRIGGER forget AFTER DELETE ON \(schema).jobs REFERENCING OLD TABLE AS gone
        FOR EACH STATEMENT EXECUTE FUNCTION \(schema).forget()
      """
    }

    /// Stores a signal for a job that has not ended, and queues a job that was stopped until it comes.
    static func send(_ schema: String) -> String {
      """
      CREATE FUNCTION \(schema).send(p_job text, p_name text, p_message text, p_value text)
        RETURNS TABLE (o_answer text, o_state text, o_name text) LANGUAGE plpgsql AS $send$
      DECLARE
        j record;
      BEGIN
        SELECT state, waits_for, name INTO j FROM \(schema).jobs WHERE id = p_job FOR NO KEY UPDATE;
        IF NOT FOUND THEN RETURN QUERY SELECT 'unknown', NULL, NULL; RETURN; END IF;
        IF EXISTS (SELECT FROM \(schema).signals s WHERE s.job = p_job AND s.message = p_message) THEN
          RETURN QUERY SELECT 'known', j.state, j.name;
          RETURN;
        END IF;
        IF j.state IN ('done', 'failed', 'cancelled') THEN RETURN QUERY SELECT 'ended', j.state, j.name; RETURN; END IF;
        INSERT INTO \(schema).signals (job, name, message, value) VALUES (p_job, p_name, p_message, p_value);
        IF j.state = 'scheduled' AND p_name = ANY (j.waits_for) THEN
          UPDATE \(schema).jobs SET state = 'queued', run_at = clock_timestamp() WHERE id = p_job;
          j.state := 'queued';
        END IF;
        RETURN QUERY SELECT 'added', j.state, j.name;
      END
      $send$
      """
    }

    /// Appends entries, with the signals that they consume; one that is stored is an attempt's progress.
    ///
    /// A standby that was promoted may lack the last entry of a run that continues: a further one would hide that.
    static let append = """
      WITH input AS (
        SELECT * FROM unnest($1::text[], $2::bigint[], $3::bigint[], $4::bigint[], $5::bytea[])
          AS i(id, fence, worker, number, entry)
      ), held AS (
        SELECT j.id, j.fence, j.attempt, i.number, i.entry FROM @.jobs j JOIN input i ON i.id = j.id
        WHERE j.fence = i.fence AND j.worker = i.worker AND starts_with(j.state, 'running')
          AND (i.number = 2 OR EXISTS (SELECT FROM @.entries e WHERE e.job = j.id AND e.number = i.number - 1))
        ORDER BY j.id FOR NO KEY UPDATE OF j
      ), added AS (
        INSERT INTO @.entries AS e (job, number, entry) SELECT id, number, entry FROM held
        ON CONFLICT (job, number) DO UPDATE SET entry = e.entry WHERE e.entry = EXCLUDED.entry
        RETURNING job
      ), taken AS (
        UPDATE @.signals s SET is_taken = true, value = '' FROM added WHERE s.job = added.job AND s.number = ANY ($6::bigint[])
      ), progress AS (
        UPDATE @.jobs j SET attempt = 1, error = NULL FROM held WHERE j.id = held.id AND held.attempt > 1
      )
      SELECT held.fence, NULL::text, NULL::text FROM held JOIN added ON added.job = held.id
      """

    static let load = """
      SELECT 1, NULL::bytea, extract(epoch FROM clock_timestamp())::float8
      UNION ALL SELECT number, entry, NULL FROM @.entries WHERE job = $1 ORDER BY 1
      """

    static let replace = """
      WITH held AS (
        SELECT id FROM @.jobs WHERE id = $1 AND fence = $2 AND worker = $3 AND starts_with(state, 'running') FOR NO KEY UPDATE
      ), dropped AS (
        DELETE FROM @.entries USING held WHERE job = held.id AND number < $4
      )
      INSERT INTO @.entries AS e (job, number, entry) SELECT id, $4, $5 FROM held
      ON CONFLICT (job, number) DO UPDATE SET entry = e.entry WHERE e.entry = EXCLUDED.entry
      RETURNING number
      """
  }
#endif
