// SPDX-License-Identifier: MIT
// Copyright (c) 2026 Stepwise contributors

/// Isolates what has to be called nowhere; see `Job.onUpdate(_:)`.
@globalActor
@_documentation(visibility: internal)
public actor JobReportsNoUpdates {
  /// The actor that no one runs on.
  public static let shared = JobReportsNoUpdates()
}

// An unavailable member loses against the real one wherever both fit, as for `onUpdate { print($0) }`. So the first of
// these has an isolation that no caller has; the second is for handlers of a type of their own, which the real one does
// not fit.
extension Job where Update == Never {
  /// Explains that the job reports no updates.
  ///
  /// - Parameter handler: A handler that nothing would call.
  /// - Returns: The job itself.
  @available(*, deprecated, message: "the work of this job reports no updates: give it a parameter of type JobContext")
  @available(*, noasync, message: "the work of this job reports no updates: give it a parameter of type JobContext")
  @_documentation(visibility: internal)
  @JobReportsNoUpdates public func onUpdate(_ handler: @escaping @MainActor (Never) -> Void) -> Job { self }

  /// Explains that the job reports no updates.
  ///
  /// - Parameter handler: A handler that nothing would call.
  /// - Returns: The job itself.
  @available(*, unavailable, message: "the work of this job reports no updates: give it a parameter of type JobContext")
  @_documentation(visibility: internal)
  public func onUpdate<Value>(_ handler: @escaping @MainActor (Value) -> Void) -> Job { self }
}
