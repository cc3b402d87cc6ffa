// SPDX-License-Identifier: MIT
// Copyright (c) 2026 Stepwise contributors

import Dispatch
import StepwiseTesting

@testable import Stepwise

/// The handler calls of jobs, in order; a line that was not written on the main actor says so.
final class JobNotes: Sendable {
  let recorder = Recorder<String>()

  var lines: [String] { recorder.elements }

  func note(_ line: String) {
    recorder.record(isOnMainActor() ? line : line + " off the main actor")
  }
}

extension Job {
  /// The job with handlers that record every call.
  func noting(_ notes: JobNotes) -> Job {
    onStart { notes.note("start") }
      .onUpdate { notes.note("update \($0)") }
      .onTimeout { notes.note("timeout") }
      .onError(of: Fault.self) { notes.note("fault \($0.number)") }
      .onError { notes.note("error \(type(of: $0))") }
      .onFinish { outcome in
        switch outcome {
        case .resolved(let value): notes.note("finish \(value)")
        case .failed(let error): notes.note("finish \(type(of: error))")
        case .cancelled: notes.note("finish cancelled")
        }
      }
  }
}

/// Lets the main actor do what it was given so far.
func letMainActorCatchUp() async {
  for _ in 0..<10 { await MainActor.run {} }
}

/// Whether the caller is on the main actor: on Linux that is not always the main thread.
func isOnMainActor() -> Bool {
  _ = mark
  return DispatchQueue.getSpecific(key: key) != nil
}

private let key = DispatchSpecificKey<Void>()
private let mark: Void = DispatchQueue.main.setSpecific(key: key, value: ())
