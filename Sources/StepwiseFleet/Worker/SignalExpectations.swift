// SPDX-License-Identifier: MIT
// Copyright (c) 2026 Stepwise contributors

#if Postgres
  import Stepwise
  import StepwiseCheckpoints

  #if canImport(FoundationEssentials)
    public import FoundationEssentials
  #else
    public import Foundation
  #endif

  /// The types of the signals that jobs of this process wait for, so that another one is refused where it is sent.
  final class SignalExpectations: Sendable {
    private struct Wait: Hashable {
      let job: String
      let signal: String
    }

    /// By the steps that wait.
    private let expectations = Lock<[Wait: [String: SignalExpectation]]>([:])

    func set(_ expectation: SignalExpectation?, for signal: String, of job: String, at step: String) {
      let wait = Wait(job: job, signal: signal)
      expectations.withLock { expectations in
        expectations[wait, default: [:]][step] = expectation
        if expectations[wait]?.isEmpty == true { expectations[wait] = nil }
      }
    }

    /// Throws when steps wait for the signal, and none of them can read it.
    func check(_ value: [UInt8], for signal: String, of job: String) throws(FleetError) {
      let steps = expectations.withLock { $0[Wait(job: job, signal: signal)] } ?? [:]
      guard let first = steps.values.first, !steps.values.contains(where: { $0.isReadable(value) }) else { return }
      throw .foreignSignal(id: job, signal: signal, expected: first.type)
    }
  }

  /// A signal that a step could not read, and has skipped.
  ///
  /// It is kept as long as its job, and a step that waits for a signal of the same name and another type receives it.
  public struct FleetRefusedSignal: Hashable, Sendable {
    /// The name of the signal.
    public let name: String
    /// The signal as JSON.
    public let json: String
    /// Why the step could not read it.
    public let reason: String
    /// When it was sent, by the database's clock.
    public let sentAt: Date
  }

  extension Fleet {
    /// Returns the signals that the steps of a job could not read, oldest first.
    ///
    /// - Parameter id: The job.
    /// - Returns: The signals that no other step has received since.
    /// - Throws: ``FleetError/unknownCodec(id:codec:)`` and ``FleetError/undecodable(id:codec:reason:)`` when no codec of the
    ///   fleet can read one; ``PostgresError``.
    @concurrent public func refusedSignals(of id: String) async throws -> [FleetRefusedSignal] {
      try await storedRefusedSignals(of: id).map { signal in
        FleetRefusedSignal(
          name: signal.name,
          json: try payloads.decode(signal.json, of: id),
          reason: try payloads.decode(signal.reason, of: id),
          sentAt: signal.sentAt
        )
      }
    }

    /// Returns the refused signals as they are stored, which is no JSON where a codec has encoded them.
    package func storedRefusedSignals(of id: String) async throws -> [FleetRefusedSignal] {
      try await store.refusedSignals(of: id)
    }
  }
#endif
