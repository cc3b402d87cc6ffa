// SPDX-License-Identifier: MIT
// Copyright (c) 2026 Stepwise contributors

/// What the work of a job has besides its input: the way to say how it gets on.
public struct JobContext<Update: Sendable>: Sendable {
  let channel: JobChannel

  /// Tells those who listen, and those who look at ``JobRun/updates``.
  ///
  /// Does not wait, and may be called from any thread. Each update is given to each `onUpdate` handler, in the order of the
  /// calls; until the main actor comes to it, it is kept, so that work which is faster than the main actor for long makes a
  /// long list. Nothing is kept where nobody listens. Once the work has ended, or the job was cancelled, handlers are told
  /// nothing more.
  ///
  /// - Parameter update: What there is to tell.
  public func update(_ update: Update) { channel.update(JobBox(update)) }
}
