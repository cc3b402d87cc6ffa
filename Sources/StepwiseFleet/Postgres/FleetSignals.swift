// SPDX-License-Identifier: MIT
// Copyright (c) 2026 Stepwise contributors

#if Postgres
  /// What signals need of the tables, as a step of the migration.
  enum FleetSignals {
    /// A signal that was dropped is kept like one that was received, so that its identity is known.
    static let changes = """
      ALTER TABLE @.signals ADD COLUMN IF NOT EXISTS is_dropped boolean NOT NULL DEFAULT false;
      """

    /// Locks the signals that a write consumes, so that its next statement sees whether one was dropped.
    static func locking(_ numbers: String) -> String {
      """
      IF \(numbers) <> '{}' THEN
        PERFORM FROM @.signals s WHERE s.job = ANY ($1) AND s.number = ANY (\(numbers)) ORDER BY s.job, s.number FOR UPDATE;
      END IF;
      """
    }

    /// A condition for the job `j`: none of the signals that a write consumes was dropped.
    ///
    /// A write that is not stored makes its worker lose the job, which waits again on the next one.
    static func none(dropped numbers: String) -> String {
      """
      (\(numbers) = '{}' OR NOT EXISTS (
        SELECT FROM @.signals s WHERE s.job = j.id AND s.number = ANY (\(numbers)) AND s.is_dropped
      ))
      """
    }

    /// Enqueues a job, unless there is one with the id, and sends a signal to the job.
    ///
    /// What the first statement did is complete when the second one begins, with what triggers have removed. The parameters
    /// are those of the insertion, the signal's name, identity and value, and whether a job that has ended is replaced.
    static let function = """
      CREATE OR REPLACE FUNCTION @.start_with_signal(
        text[], text[], text, bigint, bigint, text, double precision, boolean, boolean, text, text, text[], text, text, text, boolean
      ) RETURNS TABLE (o_is_added boolean, o_answer text, o_state text, o_name text) LANGUAGE plpgsql AS $start$
      DECLARE
        is_new boolean;
        stored text;
      BEGIN
        IF $16 THEN
          \(PostgresStore.insertion(.finished, selecting: "SELECT n > 0 INTO is_new FROM counted"));
        ELSE
          \(PostgresStore.insertion(.nothing, selecting: "SELECT n > 0 INTO is_new FROM counted"));
        END IF;
        IF NOT is_new THEN
          SELECT name INTO stored FROM @.jobs WHERE id = $1[1];
          IF stored <> $3 THEN
            RETURN QUERY SELECT false, 'foreign', NULL, stored;
            RETURN;
          END IF;
        END IF;
        RETURN QUERY SELECT is_new, s.o_answer, s.o_state, s.o_name FROM @.send($1[1], $13, $14, $15) AS s;
      END
      $start$;
      """
  }
#endif
