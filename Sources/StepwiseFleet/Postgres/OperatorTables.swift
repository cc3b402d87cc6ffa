// SPDX-License-Identifier: MIT
// Copyright (c) 2026 Stepwise contributors

#if Postgres
  /// What the tables hold for operators: what a job waits for, its attempts, and whether it is paused.
  enum OperatorTables {
    /// Columns without a default, so that no table is rewritten.
    static let changes = """
      ALTER TABLE @.workers ADD COLUMN IF NOT EXISTS shapes bigint[];
      ALTER TABLE @.jobs
        -- Since when a job waits, and until when if it sleeps or waits for signals: "infinity" for signals without a limit.
        ADD COLUMN IF NOT EXISTS waits_since timestamptz,
        ADD COLUMN IF NOT EXISTS waits_until timestamptz,
        -- The signals that a parked job waits for.
        ADD COLUMN IF NOT EXISTS parked_for text[],
        -- A job that is paused is scheduled for the year 9999, and here is when it was due.
        ADD COLUMN IF NOT EXISTS paused_at timestamptz,
        ADD COLUMN IF NOT EXISTS paused_run_at timestamptz,
        -- The last claim, and the last attempts that ended without a result.
        ADD COLUMN IF NOT EXISTS claimed_at timestamptz,
        ADD COLUMN IF NOT EXISTS claimed_by text,
        ADD COLUMN IF NOT EXISTS attempts jsonb;
      -- Parked jobs take no slot, so those that do are found without them.
      CREATE INDEX IF NOT EXISTS \(index);
      DROP INDEX IF EXISTS @.jobs_running;
      """

    private static let index = "jobs_active ON @.jobs (worker, is_parked) WHERE state = 'running'"

    /// The name of the index, and what builds it without blocking writes; it cannot run in a transaction.
    static let online = (index: "jobs_active", statements: ["CREATE INDEX CONCURRENTLY IF NOT EXISTS \(index)"])

    static let triggers = """
      DROP TRIGGER IF EXISTS keep_paused ON @.jobs;
      CREATE TRIGGER keep_paused BEFORE UPDATE OF state ON @.jobs FOR EACH ROW
        WHEN (NEW.paused_at IS NOT NULL AND NEW.state IN ('queued', 'scheduled') AND NOT NEW.cancel_requested)
        EXECUTE FUNCTION @.keep_paused();
      """

    /// The number of attempts that a job keeps.
    static let attemptLimit = 20

    static let functions = """
      -- A job that is paused is not queued before it is resumed, whatever ends its wait. The trigger runs after "hold".
      CREATE OR REPLACE FUNCTION @.keep_paused() RETURNS trigger LANGUAGE plpgsql AS $keep$
      BEGIN
        IF NEW.run_at <> '9999-01-01 00:00:00+00' THEN NEW.paused_run_at := NEW.run_at; END IF;
        NEW.state := 'scheduled';
        NEW.run_at := '9999-01-01 00:00:00+00';
        RETURN NEW;
      END
      $keep$;

      -- The attempts of a job with the one that ends now; the oldest are dropped.
      CREATE OR REPLACE FUNCTION @.attempted(j @.jobs, p_state text, p_error text) RETURNS jsonb LANGUAGE sql AS $attempted$
        SELECT CASE WHEN jsonb_array_length(a) >= \(attemptLimit) THEN a - 0 ELSE a END || jsonb_build_array(jsonb_build_object(
          'stage', j.version, 'attempt', j.attempt, 'worker', j.claimed_by,
          'began', extract(epoch FROM j.claimed_at)::float8, 'ended', extract(epoch FROM clock_timestamp())::float8,
          'state', p_state, 'error', left(p_error, 500)
        )) FROM (SELECT coalesce(j.attempts, '[]') AS a) AS kept
      $attempted$;

      -- Why a job does not run; NULL for one that runs or has ended.
      CREATE OR REPLACE FUNCTION @.why(j @.jobs) RETURNS jsonb LANGUAGE plpgsql STABLE AS $why$
      DECLARE
        reason text;
        details text[] := '{}';
        since timestamptz := greatest(j.run_at, j.created_at, j.waits_since);
        until timestamptz;
        l record;
        n bigint;
        children text[];
      BEGIN
        IF j.finished_at IS NOT NULL OR j.state = 'running' AND NOT j.is_parked THEN RETURN NULL; END IF;
        IF j.state = 'running' THEN
          details := coalesce(j.parked_for, '{}');
          reason := CASE WHEN details = '{}' THEN 'sleep' ELSE 'signal' END;
          since := j.waits_since;
          until := j.waits_until;
        ELSIF j.state = 'waiting' OR j.state = 'scheduled' AND j.children IS NOT NULL AND j.waits_for = '{}'
          AND j.run_at > clock_timestamp() AND (j.paused_at IS NULL OR j.cancel_requested) THEN
          reason := 'children';
          children := CASE WHEN j.state = 'waiting' THEN j.waits_for ELSE j.children END;
          n := (SELECT count(*) FROM @.waits w WHERE w.job = j.id AND w.state = 0 AND w.child <> j.id);
          since := coalesce(j.waits_since, j.run_at);
          until := j.waits_until;
          details := ARRAY (
            SELECT w.child FROM @.waits w WHERE w.job = j.id AND w.state = 0 AND w.child <> j.id ORDER BY 1 LIMIT 10
          );
        ELSIF j.state = 'scheduled' AND j.paused_at IS NOT NULL AND NOT j.cancel_requested THEN
          reason := 'jobPause';
          since := j.paused_at;
        ELSIF j.state = 'scheduled' AND j.run_at > clock_timestamp() THEN
          since := coalesce(j.waits_since, j.created_at);
          until := j.run_at;
          IF j.unread_codec IS NOT NULL THEN
            reason := 'codec';
            details := ARRAY[j.unread_codec];
          ELSIF coalesce(j.waits_for, '{}') <> '{}' THEN
            reason := 'signal';
            details := j.waits_for;
          ELSE
            reason := CASE WHEN j.waits_until IS NOT NULL THEN 'sleep' WHEN j.attempt > 0 THEN 'retry' ELSE 'start' END;
          END IF;
        END IF;
        IF reason IS NULL THEN
          SELECT paused_at INTO l FROM @.pauses p WHERE p.name = j.name;
          IF FOUND THEN
            reason := 'pause';
            since := greatest(since, l.paused_at);
          END IF;
        END IF;
        IF reason IS NULL THEN
          SELECT count(*) AS workers, sum(w.slots) FILTER (WHERE t.is_taken) AS slots,
            sum(r.n) FILTER (WHERE t.is_taken) AS running, bool_or(t.is_known) AS is_known,
            bool_or(t.is_known AND t.is_taken) AS is_taken
          INTO l
          FROM @.workers w CROSS JOIN LATERAL (
            SELECT count(*) AS n FROM @.jobs b WHERE b.state = 'running' AND b.worker = w.id AND NOT b.is_parked
          ) AS r CROSS JOIN LATERAL (
            SELECT coalesce(w.shapes[array_position(w.names, j.name)], 9223372036854775807) >= j.shape AS is_known,
              coalesce(\(FleetTagTables.taken("j", only: "w.tags_only", except: "w.tags_except")), false) AS is_taken
          ) AS t
          WHERE w.lease_until >= clock_timestamp() AND j.name = ANY (w.names);
          IF l.workers = 0 THEN
            reason := 'type';
          ELSIF NOT l.is_known THEN
            reason := 'version';
            details := ARRAY[j.shape::text];
          ELSIF NOT l.is_taken THEN
            reason := 'tag';
            details := coalesce(j.tags, '{}');
          ELSE
            reason := 'slot';
            details := ARRAY[l.running || ' of ' || l.slots || ' are taken'];
          END IF;
        END IF;
        IF reason = 'slot' THEN
          SELECT * INTO l FROM @.limits m WHERE m.name = j.name;
          IF FOUND THEN
            IF l.running IS NOT NULL THEN
              n := (SELECT count(*) FROM @.jobs r WHERE r.state = 'running' AND r.name = j.name);
              IF n >= l.running THEN
                reason := 'limit';
                details := ARRAY[n || ' run, of ' || l.running || ' at most'];
              END IF;
            END IF;
            IF reason = 'slot' AND l.running_per_key IS NOT NULL AND j.key IS NOT NULL THEN
              n := (SELECT count(*) FROM @.jobs r WHERE r.state = 'running' AND r.name = j.name AND r.key = j.key);
              IF n >= l.running_per_key THEN
                reason := 'limit';
                details := ARRAY[n || ' with the key ' || j.key || ' run, of ' || l.running_per_key || ' at most'];
              END IF;
            END IF;
            IF reason = 'slot' AND l.rate IS NOT NULL THEN
              until := l.refilled_at + (1 - l.tokens) * l.period / l.rate * interval '1 second';
              IF until > clock_timestamp() THEN
                reason := 'limit';
                details := ARRAY[l.rate || ' start in ' || l.period || ' s at most'];
              ELSE
                until := NULL;
              END IF;
            END IF;
          END IF;
        END IF;
        RETURN jsonb_build_object(
          'reason', reason, 'details', details, 'since', extract(epoch FROM since)::float8,
          'until', CASE WHEN until < 'infinity' THEN extract(epoch FROM until)::float8 END,
          'children', cardinality(children), 'openChildren', CASE WHEN children IS NOT NULL THEN n END
        );
      END
      $why$;
      """
  }
#endif
