// SPDX-License-Identifier: MIT
// Copyright (c) 2026 Stepwise contributors

/// The exit code of the program.
enum ExitCode: Int32, Sendable {
  case success = 0
  /// The work was tried and failed.
  case failure = 1
  /// The command line could not be understood.
  case usage = 2
  /// Ctrl-C ended the work: 128 and the number of the signal.
  case interrupted = 130
}
