// SPDX-License-Identifier: MIT
// Copyright (c) 2026 Stepwise contributors

package import Stepwise

#if canImport(FoundationEssentials)
  package import FoundationEssentials
#else
  package import Foundation
#endif

/// A durable run that another module executes, which stores where the run began, its entries and its outcome.
package struct HostedRun: Sendable {
  /// Runs until the run has its outcome, and nothing is to be undone; returns nil when it was stopped, by the token as well.
  ///
  /// It throws when the run cannot continue here, or when an undo has failed; the run can be resumed.
  package let execute: @Sendable (_ token: CancellationToken) async throws -> StoredOutcome?
  let run: DurableRun

  /// Cancels the run for good.
  package func cancel(_ reason: String?) { _ = run.cancel(reason: reason) }

  /// Stops the run after the steps in progress; at once while it only waits.
  package func stop() { run.stopForHost() }

  /// Returns what steps wait for, also beside others that work.
  package func waits() -> [DurableWait] { run.state.withLock { $0.waits.all } }
}

extension Chain {
  /// The name under which a host stores runs of the chain.
  package nonisolated var hostedName: String { DurableRecord.name(storedName) }

  /// Returns how a new run begins, as JSON: a random identity and the input.
  ///
  /// - Throws: An error of the encoder, or when the input changes when it is stored.
  package nonisolated func hostedStart(_ input: Input) throws -> String {
    guard let values = DurableValues<Input>() else {
      throw DataError(reason: DurableValues<Input>.refusal(of: Input.self))
    }
    return HostedStart.text(DurableStart.newIdentity(), input: HostedValue.text(try values.stored(input).bytes))
  }

  /// Creates a run whose record the store has.
  package nonisolated func hosted(
    id: String,
    in store: some CheckpointStore,
    host: any DurableHost,
    now: @escaping @Sendable () -> Date
  ) -> HostedRun {
    let settings = DurableRun.Settings(name: storedName, id: id, now: now, host: host)
    let run = DurableRun(of: Self.self, settings, in: store)
    let execute: @Sendable (CancellationToken) async throws -> StoredOutcome? = { token in
      let handle = self.start(with: run, cancelledBy: token)
      let outcome = await handle.outcome
      let (stopError, stored) = run.state.withLock { state in
        (state.isSuspended ? nil : state.stopError, state.log.isEnded && !state.isSuspended ? state.log.outcome : nil)
      }
      if let stopError { throw stopError }
      if stored != nil || run.isStopped { return stored }
      if let error = handle.undoErrors.first { throw error }
      if case .failed(let error) = outcome { throw error }
      return nil
    }
    return HostedRun(execute: execute, run: run)
  }
}

extension CheckpointRecord {
  /// Creates the record of a hosted run from what `hostedStart` returned and the entries that followed.
  ///
  /// - Throws: `DataError` when the text is not the start of a run.
  package init(
    hosted id: String,
    name: String,
    start: String,
    version: Int,
    recordVersion: UInt64,
    entries: [[UInt8]]
  ) throws(DataError) {
    guard let (identity, input) = HostedStart.parts(of: start) else {
      throw DataError(reason: "it is not the start of a run")
    }
    let start = DurableStart(identity: identity, version: version, input: input)
    self.init(id: id, name: name, start, version: recordVersion, entries: entries)
  }

  /// The entries of a hosted run.
  package var hostedEntry: [UInt8] { Array(stage.dropFirst(4)) }
}

/// An input or an output as JSON, as which `Void` is an empty object.
private enum HostedValue {
  static func text(_ bytes: [UInt8]) -> String { bytes.isEmpty ? "{}" : String(decoding: bytes, as: UTF8.self) }
}

/// How a run begins, as JSON whose parts are found without parsing it.
///
/// The input may be encoded, and the text is no JSON then. The identity never is: the host replaces it.
package enum HostedStart {
  private static let (opening, middle, closing) = (#"{"run":""#, #"","input":"#, "}")

  /// Returns the start of a run with its input encoded; any other text is returned as it is.
  package static func encode(_ text: String, by codecs: PayloadCodecs) throws(DataError) -> String {
    guard let (identity, input) = parts(of: text) else { return text }
    return Self.text(identity, input: try codecs.text(input))
  }

  /// Returns the start of a run with its input decoded; any other text is returned as it is.
  package static func decode(_ text: String, by codecs: PayloadCodecs) throws(PayloadCodecs.Failure) -> String {
    guard let (identity, input) = parts(of: text) else { return text }
    let payload = try codecs.payload(String(decoding: input, as: UTF8.self))
    return Self.text(identity, input: String(decoding: payload, as: UTF8.self))
  }

  /// The codec that has encoded the input of a start; nil when none has.
  package static func codec(of text: String) -> String? {
    guard let (_, input) = parts(of: text) else { return nil }
    return EncodedPayload.codec(of: EncodedPayload.bytes(of: String(decoding: input, as: UTF8.self)))
  }

  static func text(_ identity: String, input: String) -> String { opening + identity + middle + input + closing }

  /// Returns the start of another run with the same input.
  package static func renewed(_ text: String) -> String {
    guard let (_, input) = parts(of: text) else { return text }
    return self.text(DurableStart.newIdentity(), input: String(decoding: input, as: UTF8.self))
  }

  static func parts(of text: String) -> (identity: String, input: [UInt8])? {
    let bytes = Array(text.utf8)
    let end = opening.utf8.count + DurableStart.newIdentity().utf8.count
    guard bytes.starts(with: opening.utf8), bytes.dropFirst(end).starts(with: middle.utf8),
      bytes.last == UInt8(ascii: "}")
    else { return nil }
    let identity = String(decoding: bytes[opening.utf8.count..<end], as: UTF8.self)
    return (identity, Array(bytes[(end + middle.utf8.count)...].dropLast()))
  }
}

extension StoredOutcome {
  /// The output's JSON; the bytes of any other outcome in base 64, as a JSON string.
  package var text: String {
    if case .resolved(let bytes) = self { return HostedValue.text(bytes) }
    return "\"" + Data(DurableEvent.bytes(of: [.concluded(self)])).base64EncodedString() + "\""
  }

  /// Returns the error of a run that has not resolved, from its text; nil when it was cancelled.
  ///
  /// - Throws: `DataError` when it is not such a text.
  package static func error(_ text: String, of name: String) throws(DataError) -> (any Error)? {
    guard let data = Data(base64Encoded: String(text.dropFirst().dropLast())),
      case .concluded(let outcome)? = try DurableEvent.events(in: data).first
    else { throw DataError(reason: "it is not an outcome") }
    guard case .failed(let failure) = outcome else { return nil }
    return failure.error(of: name)
  }

  /// What has failed, in words.
  package var failure: String? {
    switch self {
    case .resolved: nil
    case .failed(let failure): failure.description
    case .cancelled(_, let underlying): underlying?.description
    }
  }
}
