// SPDX-License-Identifier: MIT
// Copyright (c) 2026 Stepwise contributors

#if Postgres
  public import Stepwise
  import StepwiseCheckpoints

  /// A job to start as a child of another one: a run of a chain, or a progression.
  ///
  /// ```swift
  /// let receipts = try await step(
  ///   "parcels",
  ///   children: addresses.map { FleetChild(parcel, $0, id: $0) }
  /// )
  /// ```
  public struct FleetChild<Output: Sendable>: Sendable {
    /// The id within the step, or within the stage's job.
    public let id: String
    /// Its batch of one job, under an id of the fleet.
    let batch: @Sendable (_ id: String) throws -> FleetBatch
    /// Returns its output, or throws what it ended with.
    let output: @Sendable (JobEnd) throws -> Output

    /// Creates a run of a chain.
    ///
    /// - Parameters:
    ///   - chain: The chain; only its name is stored.
    ///   - input: The first step's input.
    ///   - id: The id within the step, or within the stage's job.
    ///   - version: The number of your code, for `CurrentRun.version`.
    public init<Input: Codable & Sendable>(
      _ chain: Chain<Input, Output>,
      _ input: Input,
      id: String,
      version: Int = 0
    ) where Output: Codable {
      self.id = id
      batch = { try FleetBatch(chain, version, [(id: $0, input: input)]) }
      let name = chain.hostedName
      output = { try $0.output(of: name, DurableValues(Output.self)) }
    }

    /// Creates a run of a chain without an output.
    ///
    /// - Parameters:
    ///   - chain: The chain; only its name is stored.
    ///   - input: The first step's input.
    ///   - id: The id within the step, or within the stage's job.
    ///   - version: The number of your code, for `CurrentRun.version`.
    public init<Input: Codable & Sendable>(
      _ chain: Chain<Input, Void>,
      _ input: Input,
      id: String,
      version: Int = 0
    ) where Output == Void {
      self.id = id
      batch = { try FleetBatch(chain, version, [(id: $0, input: input)]) }
      let name = chain.hostedName
      output = { try $0.output(of: name, DurableValues(Void.self)) }
    }

    /// Creates a progression.
    ///
    /// - Parameters:
    ///   - progression: The stage to begin with.
    ///   - id: The id within the step, or within the stage's job.
    public init<P: Progression & Codable>(_ progression: P, id: String) where P.Result == Output {
      self.id = id
      batch = { try FleetBatch([(id: $0, progression: progression)]) }
      output = { try $0.output(of: P.self) }
    }

    private init(
      id: String,
      batch: @escaping @Sendable (String) throws -> FleetBatch,
      output: @escaping @Sendable (JobEnd) throws -> Output
    ) { (self.id, self.batch, self.output) = (id, batch, output) }

    /// Returns the child with another output, so that one step can wait for children of different types.
    ///
    /// - Parameter transform: Returns the output from that of the child.
    /// - Returns: The child.
    public func map<New: Sendable>(_ transform: @escaping @Sendable (Output) throws -> New) -> FleetChild<New> {
      FleetChild<New>(id: id, batch: batch) { [output] in try transform(output($0)) }
    }
  }

  /// Children of one type, and how they are enqueued.
  struct ChildBatch: Sendable {
    var jobs: FleetBatch
    let options: FleetOptions

    /// Groups children by their types.
    static func batches<Output>(
      _ children: [(id: String, child: FleetChild<Output>)],
      _ options: FleetOptions
    ) throws -> [ChildBatch] {
      try FleetTags.check(options.tags)
      var batches: [ChildBatch] = []
      for (id, child) in children {
        let jobs = try child.batch(id)
        if let index = batches.firstIndex(where: { $0.jobs.name == jobs.name && $0.jobs.shape == jobs.shape }) {
          batches[index].jobs.append(jobs)
        } else {
          batches.append(ChildBatch(jobs: jobs, options: options))
        }
      }
      return batches
    }
  }

  /// How a job has ended; that of a child is stored by the step that waits for it.
  struct JobEnd: Codable, Sendable {
    let id: String
    /// Nil when the fleet does not have the job any more.
    var state: String?
    var shape = 0
    /// The last stage, or the outcome of a chain, decoded.
    var stage: String?
    var error: String?
    var reason: String?

    func output<Output>(of name: String, _ values: DurableValues<Output>) throws -> Output {
      var failure: (any Error)?
      do {
        if let stage {
          if state == FleetState.done.description { return try values.decode(Array(stage.utf8)) }
          if state == FleetState.failed.description { failure = try StoredOutcome.error(stage, of: name) }
        }
      } catch {
        throw FleetError.unknownShape(id: id, reason: "its outcome cannot be read: \(error)")
      }
      throw failure ?? self.failure
    }

    func output<P: Progression & Codable>(of type: P.Type) throws -> P.Result {
      guard state == FleetState.done.description else { throw failure }
      guard let result = try StageCoder<P>().decode(stage, shape: shape, of: id).result else {
        throw FleetError.unknownShape(id: id, reason: "the last stage has no result in this program")
      }
      return result
    }

    private var failure: FleetError {
      switch state.map(FleetState.init) {
      case .failed?: .failed(id: id, error: error ?? "no error was stored")
      case .cancelled?: .cancelled(id: id, reason: reason)
      default: .notFound(id: id)
      }
    }
  }

  extension Fleet {
    /// Returns how jobs have ended, in the order of the ids; nil while one has not.
    func ends(of ids: [String]) async throws -> [JobEnd]? {
      guard var ends = try await store.ends(of: ids) else { return nil }
      for (index, end) in ends.enumerated() {
        ends[index].stage = try end.stage.map { stage in try payloads.decode(stage, of: end.id) }
      }
      return ends
    }
  }
#endif
