// SPDX-License-Identifier: MIT
// Copyright (c) 2026 Stepwise contributors

#if Postgres
  import Stepwise
  import StepwiseCheckpoints

  #if canImport(FoundationEssentials)
    import FoundationEssentials
  #else
    import Foundation
  #endif

  extension Fleet {
    /// Sends a signal to a job, which receives it with `step(_:waitFor:)` or ``FleetJob/waitForSignal(_:as:timeout:)``.
    ///
    /// The signal is kept until the job waits for it. Signals of a name are received in the order in which they were sent.
    ///
    /// - Parameters:
    ///   - value: The signal.
    ///   - id: The job.
    ///   - name: The name of the signal: that of the step that waits, unless the step names another one.
    ///   - message: The identity of the signal: the job receives a further one with the same identity only once. Pass one
    ///     when your code may be repeated.
    /// - Returns: A Boolean value that indicates whether the job had no signal with the identity.
    /// - Throws: ``FleetError/notFound(id:)``; ``FleetError/ended(id:state:)``; ``FleetError/unstorable(id:reason:)``;
    ///   ``PostgresError``.
    @discardableResult
    @concurrent public func send<Signal: Codable & Sendable>(
      _ value: Signal,
      to id: String,
      signal name: String,
      id message: String? = nil
    ) async throws -> Bool {
      let text: String
      do {
        text = String(decoding: try DurableSignals.encode(value), as: UTF8.self)
      } catch {
        throw FleetError.unstorable(id: id, reason: "the signal cannot be encoded: \(error)")
      }
      guard !(name + (message ?? "")).utf8.contains(0) else {
        throw FleetError.unstorable(id: id, reason: "the name or the id of the signal contains a NUL")
      }
      let row = try await database.run(
        "SELECT o_answer, o_state, o_name FROM @.send($1, $2, $3, $4)",
        [.text(id), .text(name), .text(message ?? UUID().uuidString), .text(text)]
      ).first
      let state = FleetState(row?.text(1) ?? "")
      switch row?.text(0) {
      case "known": return false
      case "added":
        if state == .queued { await announce(row?.text(2) ?? "", 1) }
        if state == .running { database.notify([id]) }
        return true
      case "ended": throw FleetError.ended(id: id, state: state)
      default: throw FleetError.notFound(id: id)
      }
    }
  }

  /// Waits for a signal as a step of a chain on a fleet.
  ///
  /// While the run waits it takes no slot of a worker. The signal is consumed in the commit that stores the step's value,
  /// and the end of the wait is stored either way: a further run of the code receives the same signal or the same
  /// `TimeoutError`.
  ///
  /// ```swift
  /// let approval = try await step("approval", waitFor: Approval.self, timeout: .seconds(3 * 86_400))
  /// ```
  ///
  /// - Parameters:
  ///   - name: The name of the step.
  ///   - type: The type of the signal.
  ///   - signal: The name of the signal, if it is not the step's.
  ///   - timeout: The limit for the wait, by the database's clock.
  /// - Returns: The signal.
  /// - Throws: `TimeoutError`; ``FleetError/outsideFleet(signal:)``; `CancellationError` when the run is cancelled or
  ///   stopped.
  @discardableResult
  public nonisolated(nonsending) func step<Signal: Codable & Sendable>(
    _ name: String,
    waitFor type: Signal.Type,
    signal: String? = nil,
    timeout: Duration? = nil
  ) async throws -> Signal {
    try await step(name) {
      let value = try await DurableSignals.receive(signal ?? name, as: type, timeout: timeout)
      guard let value else { throw FleetError.outsideFleet(signal: signal ?? name) }
      return value
    }
  }
#endif
