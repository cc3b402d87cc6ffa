// SPDX-License-Identifier: MIT
// Copyright (c) 2026 Stepwise contributors

#if Postgres
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
