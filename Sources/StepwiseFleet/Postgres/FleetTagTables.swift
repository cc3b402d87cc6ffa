// SPDX-License-Identifier: MIT
// Copyright (c) 2026 Stepwise contributors

#if Postgres
  /// What the tables hold of tags, as a step of the migration.
  enum FleetTagTables {
    /// Columns without a default, so that no table is rewritten; NULL for no tags, and for a worker that takes all jobs.
    static let changes = """
      ALTER TABLE @.workers ADD COLUMN IF NOT EXISTS tags_only text[], ADD COLUMN IF NOT EXISTS tags_except text[];
      ALTER TABLE @.schedules ADD COLUMN IF NOT EXISTS tags text[];
      \(column)
      CREATE INDEX IF NOT EXISTS \(index);
      """

    private static let column = "ALTER TABLE @.jobs ADD COLUMN IF NOT EXISTS tags text[];"

    /// In it, a worker of few tags finds its jobs behind those without a tag.
    private static let index =
      "jobs_tagged ON @.jobs (name, (~ priority), turn, run_at, seq) WHERE state = 'queued' AND tags IS NOT NULL"

    /// The name of the index, and the statements that build it without blocking writes; none can run in a transaction.
    static let online = (
      index: "jobs_tagged", statements: [column, "CREATE INDEX CONCURRENTLY IF NOT EXISTS \(index)"]
    )

    /// A condition for a job: a worker with these columns takes it.
    static func taken(_ job: String, only: String, except: String) -> String {
      "(\(only) IS NULL OR \(job).tags && \(only)) AND (\(except) IS NULL OR \(job).tags IS NULL OR NOT \(job).tags && \(except))"
    }
  }

  /// The jobs that a claim is for.
  enum ClaimedTags: CaseIterable {
    /// All jobs: the claim of a fleet without tags, which does not read them.
    case all
    case only
    case except

    var function: String {
      switch self {
      case .all: "claim"
      case .only: "claim_only"
      case .except: "claim_except"
      }
    }

    /// The parameter besides those of ``all``.
    var parameter: String { self == .all ? "" : ", p_tags text[]" }

    /// A condition for the job `b`.
    var condition: String {
      switch self {
      case .all: ""
      case .only: "AND b.tags IS NOT NULL AND b.tags && p_tags"
      case .except: "AND (b.tags IS NULL OR NOT b.tags && p_tags)"
      }
    }
  }

  extension FleetTags {
    /// How a worker claims, and the parameters besides those of each claim.
    var claimed: (ClaimedTags, [PostgresValue]) {
      if let only { return (.only, [.tags(only)]) }
      return except.isEmpty ? (.all, []) : (.except, [.tags(except)])
    }
  }
#endif
