// SPDX-License-Identifier: MIT
// Copyright (c) 2026 Stepwise contributors

/// The findings of a `CrashHarness`.
public struct CrashReport: Sendable {
  /// The number of children that were killed by SIGKILL, as observed by their parent.
  public internal(set) var kills = 0

  /// The number of calls to the file system at which a child could be killed; 0 for kills at random instants.
  public internal(set) var calls = 0

  /// How many children were started.
  public internal(set) var runs = 0

  /// The directory of the workspaces that the harness made and kept, because there are problems; nil otherwise.
  public internal(set) var workspaces: String?

  /// What was repeated, lost, damaged, or different from the undisturbed run.
  ///
  /// Empty when all is well.
  public internal(set) var problems: [String] = []
}
