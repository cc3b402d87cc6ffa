// SPDX-License-Identifier: MIT
// Copyright (c) 2026 Stepwise contributors

#if Postgres
  public import Stepwise
  import StepwiseCheckpoints

  #if canImport(FoundationEssentials)
    public import FoundationEssentials
  #else
    public import Foundation
  #endif

  extension Fleet {
    /// How many jobs one statement enqueues at most.
    private static let batch = 5_000

    /// Enqueues a progression, unless the fleet has a job with the id.
    ///
    /// - Parameters:
    ///   - progression: The stage to begin with.
    ///   - id: The name of this piece of work: 1 to 200 bytes of UTF-8 without NUL.
    ///   - options: Priority, key and time.
    /// - Returns: A Boolean value that indicates whether the id was free.
    /// - Throws: ``FleetError`` when the id, a tag or the stage cannot be stored, or a job of another type has the id;
    ///   ``PostgresError``.
    @discardableResult
    @concurrent public func enqueue<P: Progression & Codable>(
      _ progression: P,
      id: String,
      options: FleetOptions = FleetOptions()
    ) async throws -> Bool {
      try await enqueueOne(FleetBatch([(id: id, progression: progression)]), options: options)
    }

    /// Enqueues many progressions, except those whose ids the fleet has.
    ///
    /// At most 5,000 are one statement, which enqueues all of them or none.
    ///
    /// - Parameters:
    ///   - progressions: The ids and the stages to begin with.
    ///   - options: Priority, key and time of all of them.
    /// - Returns: The number of jobs that were added.
    /// - Throws: ``FleetError`` when an id or a stage cannot be stored, or a job of another type has an id; then the
    ///   others are added. ``PostgresError``.
    @discardableResult
    @concurrent public func enqueue<P: Progression & Codable>(
      _ progressions: [(id: String, progression: P)],
      options: FleetOptions = FleetOptions()
    ) async throws -> Int {
      try await enqueue(progressions, options: options, parent: nil)
    }

    /// Enqueues progressions in a transaction of the caller's, except those whose ids the fleet has.
    ///
    /// The jobs exist once that transaction commits. The tables must exist: any other operation creates them.
    ///
    /// - Parameters:
    ///   - progressions: The ids and the stages to begin with.
    ///   - options: Priority, key and time of all of them.
    ///   - execute: Runs a statement in the transaction, with its parameters bound as text; once for each 5,000 jobs.
    /// - Throws: ``FleetError`` when an id or a stage cannot be stored; what the closure throws.
    public nonisolated(nonsending) func enqueue<P: Progression & Codable>(
      _ progressions: [(id: String, progression: P)],
      options: FleetOptions = FleetOptions(),
      through execute: (FleetStatement) async throws -> Void
    ) async throws {
      for slice in slices(progressions) { try await execute(statement(for: FleetBatch(slice), options)) }
    }

    /// Enqueues a run of a chain, unless the fleet has a job with the id.
    ///
    /// - Parameters:
    ///   - chain: The chain; only its name is stored.
    ///   - input: The first step's input.
    ///   - id: The name of this piece of work: 1 to 200 bytes of UTF-8 without NUL.
    ///   - version: The number of your code, for `CurrentRun.version`.
    ///   - options: Priority, key and time.
    /// - Returns: A Boolean value that indicates whether the id was free.
    /// - Throws: ``FleetError`` when the id or the input cannot be stored, or a job of another type has the id;
    ///   ``PostgresError``.
    @discardableResult
    @concurrent public func enqueue<Input: Codable & Sendable, Output>(
      _ chain: Chain<Input, Output>,
      _ input: Input,
      id: String,
      version: Int = 0,
      options: FleetOptions = FleetOptions()
    ) async throws -> Bool {
      try await enqueueOne(FleetBatch(chain, version, [(id: id, input: input)]), options: options)
    }

    /// Enqueues many runs of a chain, except those whose ids the fleet has.
    ///
    /// At most 5,000 are one statement, which enqueues all of them or none.
    ///
    /// - Parameters:
    ///   - chain: The chain; only its name is stored.
    ///   - inputs: The ids and the first step's inputs.
    ///   - version: The number of your code, for `CurrentRun.version`.
    ///   - options: Priority, key and time of all of them.
    /// - Returns: The number of runs that were added.
    /// - Throws: ``FleetError`` when an id or an input cannot be stored, or a job of another type has an id; then the
    ///   others are added. ``PostgresError``.
    @discardableResult
    @concurrent public func enqueue<Input: Codable & Sendable, Output>(
      _ chain: Chain<Input, Output>,
      _ inputs: [(id: String, input: Input)],
      version: Int = 0,
      options: FleetOptions = FleetOptions()
    ) async throws -> Int {
      var count = 0
      for slice in slices(inputs) { count += try await enqueue(FleetBatch(chain, version, slice), options: options) }
      return count
    }

    /// Enqueues runs of a chain in a transaction of the caller's, except those whose ids the fleet has.
    ///
    /// The runs exist once that transaction commits. The tables must exist: any other operation creates them.
    ///
    /// - Parameters:
    ///   - chain: The chain; only its name is stored.
    ///   - inputs: The ids and the first step's inputs.
    ///   - version: The number of your code, for `CurrentRun.version`.
    ///   - options: Priority, key and time of all of them.
    ///   - execute: Runs a statement in the transaction, with its parameters bound as text; once for each 5,000 runs.
    /// - Throws: ``FleetError`` when an id or an input cannot be stored; what the closure throws.
    public nonisolated(nonsending) func enqueue<Input: Codable & Sendable, Output>(
      _ chain: Chain<Input, Output>,
      _ inputs: [(id: String, input: Input)],
      version: Int = 0,
      options: FleetOptions = FleetOptions(),
      through execute: (FleetStatement) async throws -> Void
    ) async throws {
      for slice in slices(inputs) { try await execute(statement(for: FleetBatch(chain, version, slice), options)) }
    }

    func enqueue<P: Progression & Codable>(
      _ progressions: [(id: String, progression: P)],
      options: FleetOptions,
      parent: String?
    ) async throws -> Int {
      var count = 0
      for slice in slices(progressions) {
        count += try await enqueue(FleetBatch(slice), options: options, parent: parent)
      }
      return count
    }

    func enqueue(_ batch: FleetBatch, options: FleetOptions, parent: String? = nil) async throws -> Int {
      let (count, isReady) = try await store.enqueue(NewJobs(payloads.encode(batch), options, parent: parent))
      if isReady { await announce(batch.name, batch.ids.count) }
      if count < batch.ids.count { try await checkType(of: batch) }
      return count
    }

    /// Throws when an id of a batch belongs to a job of another type.
    private func checkType(of batch: FleetBatch) async throws {
      guard let (id, name) = try await store.foreignJob(in: batch) else { return }
      throw FleetError.foreignType(id: id, stored: name, expected: batch.name)
    }

    /// Enqueues a batch of one job, in one statement with those of its kind that other Tasks enqueue while one is under way.
    func enqueueOne(_ batch: FleetBatch, options: FleetOptions) async throws -> Bool {
      guard options.replacing == .nothing else { return try await enqueue(batch, options: options) == 1 }
      let stored = try payloads.encode(batch)
      let isAdded = try await enqueuer.add((stored, options)) { [self] jobs in
        let options = jobs[0].options
        var batch = jobs[0].batch
        for job in jobs.dropFirst() { batch.append(job.batch) }
        let (added, isReady) = try await store.enqueueEach(NewJobs(batch, options))
        if isReady { await announce(batch.name, added.count) }
        var rest = Set(added)
        return batch.ids.map { rest.remove($0) != nil }
      }
      if !isAdded { try await checkType(of: batch) }
      return isAdded
    }

    func statement(for batch: FleetBatch, _ options: FleetOptions) throws -> FleetStatement {
      try store.statement(for: NewJobs(payloads.encode(batch), options))
    }

    /// Notifies workers of queued jobs, in a transaction that writes nothing.
    ///
    /// A commit with a notification holds a lock that all such commits in the server need, until the disk has it.
    func announce(_ name: String, _ count: Int) async {
      try? await announcer.add((name, count)) { [self] jobs in
        let counts = Dictionary(jobs.map { ($0.name, $0.count) }, uniquingKeysWith: +).sorted { $0.key < $1.key }
        try await store.announce(counts.map { (name: $0.key, count: $0.value) })
        return jobs.map { _ in }
      }
    }

    /// More workers than a notification is for at once.
    static let allWorkers = 1_000

    func slices<Element>(_ elements: [Element]) -> [ArraySlice<Element>] {
      stride(from: 0, to: elements.count, by: Self.batch).map { start in
        elements[start..<min(start + Self.batch, elements.count)]
      }
    }

    /// Checks that an id can be stored.
    static func check(_ id: String) throws(FleetError) {
      guard (1...200).contains(id.utf8.count), !id.utf8.contains(0) else { throw .invalidID(id: id) }
    }
  }

  /// Jobs of one type that one statement enqueues.
  struct FleetBatch: Sendable {
    let name: String
    let shape: Int
    private(set) var ids: [String] = []
    private(set) var stages: [String] = []

    /// Adds the jobs of another batch of the same name.
    mutating func append(_ other: FleetBatch) {
      ids += other.ids
      stages += other.stages
    }

    /// A Boolean value that indicates whether the jobs are runs of a chain.
    var isChain: Bool { name.namesChain }

    /// Returns the jobs with other stages.
    func mappingStages(
      _ transform: (_ stage: String, _ id: String) throws(FleetError) -> String
    ) throws(FleetError) -> FleetBatch {
      var batch = self
      for index in ids.indices { batch.stages[index] = try transform(stages[index], ids[index]) }
      return batch
    }

    private mutating func append(_ id: String, _ stage: () throws -> String, else failure: String) throws(FleetError) {
      do {
        stages.append(try stage())
      } catch {
        throw .unstorable(id: id, reason: "\(failure): \(error)")
      }
      try Fleet.check(id)
      ids.append(id)
    }

    init<P: Progression & Codable>(_ progressions: ArraySlice<(id: String, progression: P)>) throws {
      let coder = StageCoder<P>()
      (name, shape) = (coder.name, coder.schemaVersion)
      for (id, progression) in progressions {
        let stage = { String(decoding: try coder.encode(progression), as: UTF8.self) }
        try append(id, stage, else: "its first stage cannot be encoded")
      }
    }

    init<Input, Output>(
      _ chain: Chain<Input, Output>,
      _ version: Int,
      _ inputs: ArraySlice<(id: String, input: Input)>
    ) throws {
      (name, shape) = (chain.hostedName, version)
      for (id, input) in inputs {
        try append(id, { try chain.hostedStart(input) }, else: "its input cannot be stored")
      }
    }
  }

  /// A statement that enqueues jobs in your transaction.
  ///
  /// The jobs exist when that transaction commits, and not when it rolls back.
  public struct FleetStatement: Sendable, Hashable {
    /// The SQL, in which `$1`, `$2` and so on stand for the parameters, each of which it casts from text.
    public let sql: String

    /// The parameters in PostgreSQL's text format, to be bound in this order; nil for NULL.
    public let parameters: [String?]
  }

  /// Sets when a job starts, before which others, and which of its stages are stored.
  public struct FleetOptions: Hashable, Sendable {
    /// When the job may start.
    public enum Start: Hashable, Sendable {
      /// As soon as a worker has a free slot.
      case now
      /// After a delay from now on, by the database's clock.
      case after(Duration)
      /// At a time, by the database's clock.
      case at(Date)

      /// At a time, in seconds since 1970.
      @available(*, deprecated, message: "Use at(_:) with a Date")
      public static func at(secondsSince1970 seconds: Double) -> Start { .at(Date(timeIntervalSince1970: seconds)) }
    }

    /// Which jobs a new one with the same id replaces.
    public enum Replacement: Hashable, Sendable {
      /// None: an id that the fleet has is not enqueued again.
      case nothing
      /// A job that has ended, with its stages: an id is unique only while its job is pending.
      ///
      /// A chain that is dead-lettered has not ended, because it may have to be undone.
      case finished
    }

    /// The priority: jobs with a higher number start first.
    public var priority: Int
    /// What jobs of the type have in common, such as a customer.
    ///
    /// Keys take turns: of jobs with the same priority, one of each key starts before a second one of a key does, so a
    /// customer with 100,000 jobs does not stop the others. A job without a key waits for no turn; give each job of such a
    /// type a key. ``FleetLimits/runningPerKey`` limits how many jobs of a key run at once.
    public var key: String?
    /// What a job is marked with, for workers that take only some jobs, and for filters: `["gpu", "tenant:7"]`.
    ///
    /// A tag has 1 to 255 characters: ASCII letters, digits, `_`, `-`, `.` or `:`.
    public var tags: Set<String>
    /// When the job may start.
    public var start: Start
    /// A Boolean value that indicates whether each stage is stored, not only the last: to stream all and to fork.
    ///
    /// The values that the steps of a chain store are kept after its end, for the timeline of `stepctl`.
    public var keepsStages: Bool
    /// Which jobs a new one with the same id replaces.
    public var replacing: Replacement

    /// Creates options; each parameter sets the property of its name.
    public init(
      priority: Int = 0,
      key: String? = nil,
      tags: Set<String> = [],
      start: Start = .now,
      keepsStages: Bool = true,
      replacing: Replacement = .nothing
    ) {
      self.priority = priority
      self.key = key
      self.tags = tags
      self.start = start
      self.keepsStages = keepsStages
      self.replacing = replacing
    }
  }
#endif
