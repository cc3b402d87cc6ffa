// SPDX-License-Identifier: MIT
// Copyright (c) 2026 Stepwise contributors

/// The context of a job's work, through which it reports updates.
public struct JobContext<Update: Sendable>: Sendable {
  let launch: JobLaunch

  /// Delivers an update to the `onUpdate` handlers and to the subscribers of ``JobRun/updates``.
  ///
  /// This method does not suspend, and may be called from any thread. Each handler receives each update, in the order
  /// of the calls. Pending updates are buffered until the main actor handles them, so work that is faster than the main
  /// actor for a long time grows the buffer. Without handlers and subscribers nothing is buffered. Once the work has
  /// ended or the job was cancelled, handlers receive no further update.
  ///
  /// - Parameter update: The update.
  public func update(_ update: Update) { launch.update(Box(update)) }
}
