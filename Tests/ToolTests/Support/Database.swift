// SPDX-License-Identifier: MIT
// Copyright (c) 2026 Stepwise contributors

#if Postgres
  @testable import StepwiseFleet

  extension Fleet {
    /// The database of a fleet that has one.
    var database: PostgresDatabase {
      guard let postgres else { preconditionFailure("the fleet is in memory") }
      return postgres
    }
  }
#endif
