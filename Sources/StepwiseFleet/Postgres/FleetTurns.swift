// SPDX-License-Identifier: MIT
// Copyright (c) 2026 Stepwise contributors

#if Postgres
  /// How the keys of a name take turns, as a step of the migration.
  ///
  /// Each job has a turn, a number that is assigned when it is queued: the turn after its key's last queued job, or else that
  /// of the job at the head of the queue. Jobs are claimed by priority, then by turn: of each key, one job is claimed before a
  /// second one is, and a key that comes later waits for no other key's backlog. A claim reads one index in its order, as
  /// without keys, however many keys there are.
  enum FleetTurns {
    static let changes = """
      ALTER TABLE @.jobs ADD COLUMN IF NOT EXISTS turn bigint NOT NULL DEFAULT 0;
      ALTER TABLE @.marks ADD COLUMN IF NOT EXISTS turn bigint NOT NULL DEFAULT 0;
      DROP INDEX IF EXISTS @.jobs_queued, @.jobs_keys;
      CREATE INDEX jobs_queued ON @.jobs (name, (~ priority), turn, run_at, seq) WHERE state = 'queued';
      CREATE INDEX jobs_keys ON @.jobs (name, key, priority DESC, turn, run_at, seq) WHERE state = 'queued' AND key IS NOT NULL;
      """

    static let functions = """
      -- Returns the turn of the next job of a key. Two transactions may assign the same one, which is fair enough.
      CREATE OR REPLACE FUNCTION @.turn(p_name text, p_key text, p_priority bigint) RETURNS bigint LANGUAGE plpgsql
        SET jit = off SET enable_seqscan = off SET enable_bitmapscan = off SET enable_sort = off
        SET plan_cache_mode = force_generic_plan
      AS $turn$
      DECLARE
        head bigint;
        last bigint;
      BEGIN
        SELECT b.turn INTO head FROM (SELECT) AS one
          LEFT JOIN @.marks k ON k.name = p_name AND k.rank = ~ p_priority AND k.until > clock_timestamp()
          CROSS JOIN LATERAL (
            SELECT q.turn FROM @.jobs q
            WHERE q.state = 'queued' AND q.name = p_name AND ~ q.priority = ~ p_priority
              AND (~ q.priority, q.turn, q.run_at, q.seq)
                >= (~ p_priority, coalesce(k.turn, 0), coalesce(k.run_at, '-infinity'), coalesce(k.seq, 0))
            ORDER BY ~ q.priority, q.turn, q.run_at, q.seq LIMIT 1
          ) AS b;
        IF p_key IS NOT NULL THEN
          SELECT q.turn INTO last FROM @.jobs q
          WHERE q.state = 'queued' AND q.name = p_name AND q.key = p_key AND q.priority = p_priority
          ORDER BY q.priority, q.turn DESC, q.run_at DESC, q.seq DESC LIMIT 1;
        END IF;
        RETURN greatest(coalesce(head, 0), coalesce(last + 1, 0));
      END
      $turn$;
      """

    /// Queues scheduled jobs that are due, of which those with a key that have not run take the turns after their keys' last.
    static let queueDue = """
      WITH due AS MATERIALIZED (
        SELECT id, name, key, priority, run_at, seq, turn, key IS NOT NULL AND fence = 0 AS is_new FROM @.jobs
        WHERE state = 'scheduled' AND run_at <= clock_timestamp() ORDER BY run_at LIMIT 1000 FOR UPDATE SKIP LOCKED
      ), first AS MATERIALIZED (
        SELECT name, key, priority, @.turn(name, key, priority) AS turn FROM due WHERE is_new GROUP BY name, key, priority
      ), turns AS (
        SELECT d.id, CASE WHEN d.is_new THEN f.turn - 1
            + row_number() OVER (PARTITION BY d.name, d.key, d.priority ORDER BY d.run_at, d.seq) ELSE d.turn END AS turn
        FROM due d LEFT JOIN first f ON d.is_new AND f.name = d.name AND f.key = d.key AND f.priority = d.priority
      )
      UPDATE @.jobs b SET state = 'queued', turn = t.turn FROM turns t WHERE b.id = t.id;
      """
  }
#endif
