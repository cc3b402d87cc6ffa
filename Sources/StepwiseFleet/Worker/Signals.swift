// SPDX-License-Identifier: MIT
// Copyright (c) 2026 Stepwise contributors

#if Postgres
  public import Stepwise
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
    /// A step receives only signals of the type that it waits for. If the job waits in this process, another one is refused
    /// here; otherwise the step skips it, and you find it in ``refusedSignals(of:)``.
    ///
    /// - Parameters:
    ///   - value: The signal.
    ///   - id: The job.
    ///   - name: The name of the signal: that of the step that waits, unless the step names another one.
    ///   - message: The identity of the signal: the job receives a further one with the same identity only once. Pass one
    ///     when your code may be repeated.
    /// - Returns: A Boolean value that indicates whether the job had no signal with the identity.
    /// - Throws: ``FleetError/notFound(id:)``; ``FleetError/ended(id:state:)``; ``FleetError/unstorable(id:reason:)``;
    ///   ``FleetError/foreignSignal(id:signal:expected:)``; ``PostgresError``.
    @discardableResult
    @concurrent public func send<Signal: Codable & Sendable>(
      _ value: Signal,
      to id: String,
      signal name: String,
      id message: String? = nil
    ) async throws -> Bool {
      let signal = try SignalText(value, named: name, id: message, to: id)
      if id.utf8.contains(0) { throw FleetError.notFound(id: id) }
      let stored = try signal.encoded(by: payloads, of: id)
      try hub.expectations.check(Array(signal.text.utf8), for: name, of: id)
      return try await isAdded(store.send(stored, to: id), to: id)
    }

    /// Returns whether a signal was added, and notifies the job; throws when the job can receive none.
    private func isAdded(_ answer: SignalAnswer, to id: String) async throws -> Bool {
      switch answer {
      case .known: return false
      case .added(let state, let name):
        if state == .queued { await announce(name, 1) }
        if state == .running { store.notify([id]) }
        return true
      case .ended(let state): throw FleetError.ended(id: id, state: state)
      case .unknown, .foreign: throw FleetError.notFound(id: id)
      }
    }

    /// Enqueues a run of a chain, unless the fleet has a job with the id, and sends the job a signal: signal with start.
    ///
    /// Use it when you do not know whether the order has begun. Both are one transaction, and both are idempotent: a job
    /// exists once under its id, and it receives the signal once.
    ///
    /// ```swift
    /// try await fleet.enqueue(
    ///   order,
    ///   cart,
    ///   id: "order-7",
    ///   sending: Approval(by: "Ann"),
    ///   signal: "approval",
    ///   signalID: "button-31"
    /// )
    /// ```
    ///
    /// - Parameters:
    ///   - chain: The chain; only its name is stored.
    ///   - input: The first step's input.
    ///   - id: The name of this piece of work: 1 to 200 bytes of UTF-8 without NUL.
    ///   - version: The number of your code, for `CurrentRun.version`.
    ///   - options: Priority, key and time.
    ///   - value: The signal.
    ///   - name: The name of the signal: that of the step that waits, unless the step names another one.
    ///   - message: The identity of the signal: the job receives a further one with the same identity only once.
    /// - Returns: A Boolean value that indicates whether the id was free.
    /// - Throws: ``FleetError`` when the id, the input or the signal cannot be stored, when a job of another type has the
    ///   id, or when the job has ended and has not received the signal; ``PostgresError``.
    @discardableResult
    @concurrent public func enqueue<Input: Codable & Sendable, Output, Signal: Codable & Sendable>(
      _ chain: Chain<Input, Output>,
      _ input: Input,
      id: String,
      version: Int = 0,
      options: FleetOptions = FleetOptions(),
      sending value: Signal,
      signal name: String,
      signalID message: String
    ) async throws -> Bool {
      let batch = try FleetBatch(chain, version, [(id: id, input: input)])
      return try await start(batch, id, options, SignalText(value, named: name, id: message, to: id), name)
    }

    /// Enqueues a run of a chain without an input, unless the fleet has a job with the id, and sends the run a signal:
    /// signal with start.
    ///
    /// Both are one transaction, and both are idempotent: a job exists once under its id, and it receives the signal once.
    ///
    /// - Parameters:
    ///   - chain: The chain; only its name is stored.
    ///   - id: The name of this piece of work: 1 to 200 bytes of UTF-8 without NUL.
    ///   - version: The number of your code, for `CurrentRun.version`.
    ///   - options: Priority, key and time.
    ///   - value: The signal.
    ///   - name: The name of the signal: that of the step that waits, unless the step names another one.
    ///   - message: The identity of the signal: the job receives a further one with the same identity only once.
    /// - Returns: A Boolean value that indicates whether the id was free.
    /// - Throws: ``FleetError`` when the id or the signal cannot be stored, when a job of another type has the id, or when
    ///   the job has ended and has not received the signal; ``PostgresError``.
    @discardableResult
    @concurrent public func enqueue<Output, Signal: Codable & Sendable>(
      _ chain: Chain<Void, Output>,
      id: String,
      version: Int = 0,
      options: FleetOptions = FleetOptions(),
      sending value: Signal,
      signal name: String,
      signalID message: String
    ) async throws -> Bool {
      let batch = try FleetBatch(chain, version, [(id: id, input: ())])
      return try await start(batch, id, options, SignalText(value, named: name, id: message, to: id), name)
    }

    /// Enqueues a progression, unless the fleet has a job with the id, and sends the job a signal: signal with start.
    ///
    /// Use it when you do not know whether the work has begun. Both are one transaction, and both are idempotent: a job
    /// exists once under its id, and it receives the signal once.
    ///
    /// - Parameters:
    ///   - progression: The stage to begin with.
    ///   - id: The name of this piece of work: 1 to 200 bytes of UTF-8 without NUL.
    ///   - options: Priority, key and time.
    ///   - value: The signal.
    ///   - name: The name of the signal.
    ///   - message: The identity of the signal: the job receives a further one with the same identity only once.
    /// - Returns: A Boolean value that indicates whether the id was free.
    /// - Throws: ``FleetError`` when the id, the stage or the signal cannot be stored, when a job of another type has the
    ///   id, or when the job has ended and has not received the signal; ``PostgresError``.
    @discardableResult
    @concurrent public func enqueue<P: Progression & Codable, Signal: Codable & Sendable>(
      _ progression: P,
      id: String,
      options: FleetOptions = FleetOptions(),
      sending value: Signal,
      signal name: String,
      signalID message: String
    ) async throws -> Bool {
      let batch = try FleetBatch([(id: id, progression: progression)])
      return try await start(batch, id, options, SignalText(value, named: name, id: message, to: id), name)
    }

    private func start(
      _ batch: FleetBatch,
      _ id: String,
      _ options: FleetOptions,
      _ signal: SignalText,
      _ name: String
    ) async throws -> Bool {
      try hub.expectations.check(Array(signal.text.utf8), for: name, of: id)
      let jobs = try NewJobs(payloads.encode(batch), options)
      let (isAdded, answer) = try await store.start(jobs, sending: signal.encoded(by: payloads, of: id))
      if case .foreign(let stored) = answer {
        throw FleetError.foreignType(id: id, stored: stored, expected: batch.name)
      }
      _ = try await self.isAdded(answer, to: id)
      return isAdded
    }

    /// Drops signals that a job was sent and has not received.
    ///
    /// Use it when a signal was sent by mistake. The job goes on waiting. A signal with the identity of a dropped one is not
    /// delivered, so code that repeats a `send` does not bring it back.
    ///
    /// - Parameters:
    ///   - name: The name of the signal.
    ///   - id: The job.
    ///   - message: The identity of the signal; nil for all signals of the name.
    /// - Returns: The number of signals that were dropped; a step that has received one keeps it.
    /// - Throws: ``FleetError/notFound(id:)``; ``PostgresError``.
    @discardableResult
    @concurrent public func dropSignal(_ name: String, of id: String, id message: String? = nil) async throws -> Int {
      guard !(id + name + (message ?? "")).utf8.contains(0) else { return 0 }
      let count = try await store.dropSignals(name, of: id, message: message)
      if count == 0, try await status(of: id) == nil { throw FleetError.notFound(id: id) }
      return count
    }
  }

  /// A signal as JSON, or as it is stored.
  struct SignalText: Sendable {
    let name: String
    let message: String
    private(set) var text: String

    /// Returns the signal as it is stored.
    func encoded(by payloads: FleetPayloads, of id: String) throws(FleetError) -> SignalText {
      var signal = self
      signal.text = try payloads.encode(text, of: id)
      return signal
    }

    init<Signal: Codable & Sendable>(
      _ value: Signal,
      named name: String,
      id message: String?,
      to id: String
    ) throws(FleetError) {
      do {
        text = String(decoding: try DurableValues(Signal.self).encode(value), as: UTF8.self)
      } catch {
        throw FleetError.unstorable(id: id, reason: "the signal cannot be encoded: \(error)")
      }
      guard !(name + (message ?? "")).utf8.contains(0) else {
        throw FleetError.unstorable(id: id, reason: "the name or the id of the signal contains a NUL")
      }
      self.name = name
      self.message = message ?? UUID().uuidString
    }
  }

  /// Waits for a signal as a step of a chain on a fleet.
  ///
  /// While the run waits it takes no slot of a worker. The signal is consumed in the commit that stores the step's value,
  /// and the end of the wait is stored either way: a further run of the code receives the same signal or the same
  /// `TimeoutError`. A signal of another type is skipped, and kept for ``Fleet/refusedSignals(of:)``.
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
      let signals = [SignalCase(signal ?? name, type) { $0 }]
      let value = try await DurableSignals.receive(signals, as: signal ?? name, timeout: timeout)
      guard let value else { throw FleetError.outsideFleet(signal: signal ?? name) }
      return value
    }
  }

  /// A signal that a wait for several can receive, and the value that it becomes.
  public struct FleetSignalCase<Value: Sendable>: Sendable {
    let signal: SignalCase<Value>

    /// A signal of a type, which a closure or a case of an enum turns into the value of the wait.
    ///
    /// - Parameters:
    ///   - name: The name of the signal, as `send` has it.
    ///   - transform: Returns the value of the wait.
    /// - Returns: The case.
    public static func signal<Signal: Codable & Sendable>(
      _ name: String,
      _ transform: @escaping @Sendable (Signal) -> Value
    ) -> FleetSignalCase { FleetSignalCase(signal: SignalCase(name, Signal.self, transform)) }
  }

  /// Waits for the first of several signals as a step of a chain on a fleet.
  ///
  /// Use it where an order can be approved or rejected. The oldest signal of all the names is received; the others are kept
  /// for further steps. Otherwise this waits as `step(_:waitFor:)` does, without a slot.
  ///
  /// ```swift
  /// let answer = try await step(
  ///   "answer",
  ///   waitForAny: [
  ///     .signal("approval", Answer.approved),
  ///     .signal("rejection", Answer.rejected),
  ///   ]
  /// )
  /// ```
  ///
  /// - Parameters:
  ///   - name: The name of the step.
  ///   - cases: The signals. Several can have the same name and different types.
  ///   - timeout: The limit for the wait, by the database's clock.
  /// - Returns: What the signal became.
  /// - Throws: `TimeoutError`; ``FleetError/noSignals(wait:)`` when there are no cases;
  ///   ``FleetError/outsideFleet(signal:)``; `CancellationError` when the run is cancelled or stopped.
  @discardableResult
  public nonisolated(nonsending) func step<Value: Codable & Sendable>(
    _ name: String,
    waitForAny cases: [FleetSignalCase<Value>],
    timeout: Duration? = nil
  ) async throws -> Value {
    guard let first = cases.first else { throw FleetError.noSignals(wait: name) }
    return try await step(name) {
      let value = try await DurableSignals.receive(cases.map(\.signal), as: name, timeout: timeout)
      guard let value else { throw FleetError.outsideFleet(signal: first.signal.name) }
      return value
    }
  }

  extension FleetJob {
    /// Waits in a stage for the first of several signals, without a slot; use `step(_:waitForAny:)` in a chain.
    ///
    /// The oldest signal of all the names is received; the others are kept. Otherwise this waits and throws as
    /// ``waitForSignal(_:as:timeout:)`` does.
    ///
    /// - Parameters:
    ///   - name: The name of the wait; waits of the same stage need different ones.
    ///   - cases: The signals.
    ///   - timeout: The limit for the wait, by the database's clock; it is stored.
    /// - Returns: What the signal became.
    /// - Throws: `TimeoutError`; ``FleetError/noSignals(wait:)`` when there are no cases; `CancellationError`;
    ///   ``PostgresError``; an error that suspends the job.
    @concurrent public func wait<Value: Sendable>(
      _ name: String,
      forAny cases: [FleetSignalCase<Value>],
      timeout: Duration? = nil
    ) async throws -> Value {
      guard !cases.isEmpty else { throw FleetError.noSignals(wait: name) }
      return try await waitForSignal(cases.map(\.signal), as: name, timeout: timeout)
    }
  }
#endif
