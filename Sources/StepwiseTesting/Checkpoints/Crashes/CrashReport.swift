// SPDX-License-Identifier: MIT
// Copyright (c) 2026 Stepwise contributors

/// What a `CrashHarness` found.
public struct CrashReport: Sendable {
  /// How often a child was killed by SIGKILL, as its parent saw it.
  public internal(set) var kills = 0

  /// At how many calls to the file system a child could be killed; 0 when children were killed at random instants.
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
