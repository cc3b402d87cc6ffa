// SPDX-License-Identifier: MIT
// Copyright (c) 2026 Stepwise contributors

/// Why a progression cannot go on.
public enum ProgressionError: Error, Sendable {
  /// The last stage was asked for the stage after it.
  case completed(stage: String)

  /// A stage returned itself, unchanged, so often that it will do so for ever.
  case stuck(stage: String, repetitions: Int)
}

extension ProgressionError: CustomStringConvertible {
  /// What has happened, and what to do about it.
  public var description: String {
    switch self {
    case .completed(let stage):
      "\(stage) is the last stage of its progression; look at its `result` instead of asking for the next stage"
    case .stuck(let stage, let repetitions):
      "\(stage) returned itself \(repetitions) times; wait outside of the progression, or allow more repetitions"
    }
  }
}
