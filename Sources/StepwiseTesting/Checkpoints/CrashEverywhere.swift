// SPDX-License-Identifier: MIT
// Copyright (c) 2026 Stepwise contributors

public import Stepwise
public import StepwiseCheckpoints

/// Runs a durable chain once for each of its writes, lets the store fail there as in a crash, runs it again, and
/// compares with an undisturbed run.
///
/// ```swift
/// try await crashEverywhere { store in try await order.run(cart, id: "order", in: store) }
/// ```
///
/// It finds code that is not deterministic between steps, such as a `UUID()`, and code that relies on a variable that
/// the body of a step has set. Give the chain fakes that behave the same in each run. A random value is another one in
/// each run even where a step returns it, so inject its source.
///
/// - Parameters:
///   - maxWrites: The number of writes after which this gives up.
///   - body: Runs the chain in the store with an id; called twice for each write.
/// - Returns: The number of crashes.
/// - Throws: ``CrashDifference`` when a run ended in another way or stored another value than the undisturbed one.
@discardableResult
public func crashEverywhere<Output: Equatable & Sendable>(
  maxWrites: Int = 10_000,
  _ body: @Sendable (_ store: any CheckpointStore) async throws -> Output
) async throws -> Int {
  let undisturbed = CrashingStore()
  let expected = await CrashTestEnd(of: body, in: undisturbed)
  let steps = undisturbed.values.sorted { $0.key < $1.key }
  var crashes = 0
  for write in 1...max(1, maxWrites) {
    for isLate in [false, true] {
      let store = CrashingStore(at: write, isLate: isLate)
      _ = await CrashTestEnd(of: body, in: store)
      if store.writes < write { return crashes }
      crashes += 1
      let resumed = CrashingStore(after: store)
      let end = await CrashTestEnd(of: body, in: resumed)
      let place = "a crash \(isLate ? "after" : "before") write \(write)"
      guard end == expected else {
        throw CrashDifference(place: place, step: nil, expected: "\(expected)", found: "\(end)")
      }
      for (step, value) in steps {
        guard let found = resumed.values[step], found != value else { continue }
        let texts = [value, found].map { String(decoding: $0, as: UTF8.self) }
        throw CrashDifference(place: place, step: step, expected: texts[0], found: texts[1])
      }
    }
  }
  return crashes
}

extension Chain where Input: Codable, Output: Codable {
  /// Replays the unfinished runs that a store holds, without running the body of a step, an undo or `onError`.
  ///
  /// Use it in a test before a deployment, with a copy of the runs in production, to find those that the new code cannot
  /// resume. The code between the steps runs, and so do `finally` handlers. The store is only read.
  ///
  /// - Parameter store: The store that holds the runs.
  /// - Returns: The number of runs that were replayed.
  /// - Throws: The first `CheckpointError` of a run that cannot be resumed; an error of the store.
  @concurrent @discardableResult
  public nonisolated func checkReplay(in store: some CheckpointStore) async throws -> Int {
    let ids = try await unfinished(in: store)
    for id in ids {
      if let record = try await store.load(id), let error = try await replayError(record) { throw error }
    }
    return ids.count
  }

  /// Replays the unfinished runs that a store holds.
  @available(*, deprecated, renamed: "checkReplay(in:)")
  @concurrent @discardableResult
  public nonisolated func checkReplay(store: some CheckpointStore) async throws -> Int {
    try await checkReplay(in: store)
  }
}

/// A difference between a run that was resumed after a crash and an undisturbed one.
///
/// Its description says at which write your code behaved differently.
public struct CrashDifference: Error, Sendable, CustomStringConvertible {
  /// Where the run crashed.
  public let place: String

  /// The step whose value is different; nil for the result of the run.
  public let step: String?

  /// The undisturbed run's value.
  public let expected: String

  /// The resumed run's value.
  public let found: String

  /// Where the run crashed, and what was different.
  public var description: String {
    "after \(place), \(step.map { "the step \($0) stored" } ?? "the run ended with") \(found) instead of \(expected); "
      + "code between steps has to be deterministic, and a step has to return what its body changes"
  }
}

/// How a run ended.
private enum CrashTestEnd<Output: Equatable & Sendable>: Equatable {
  case value(Output)
  case error(String)

  init(of body: (_ store: any CheckpointStore) async throws -> Output, in store: CrashingStore) async {
    do { self = .value(try await body(store)) } catch { self = .error("\(error)") }
  }
}

/// A store in memory that fails at one write and at all after it.
private final class CrashingStore: ForwardingStore {
  struct Crash: Error {}

  private struct State {
    var writes = 0
    var values: [String: [UInt8]] = [:]
  }

  let base: any CheckpointStore
  private let last: Int
  private let isLate: Bool
  private let state: Lock<State>

  init(at last: Int = .max, isLate: Bool = false, after crashed: CrashingStore? = nil) {
    base = crashed?.base ?? MemoryCheckpointStore()
    self.last = last
    self.isLate = isLate
    state = Lock(State(values: crashed?.values ?? [:]))
  }

  var writes: Int { state.withLock { $0.writes } }
  var values: [String: [UInt8]] { state.withLock { $0.values } }

  func write(_ entry: [UInt8]?, of id: String, _ write: () async throws -> Void) async throws {
    let number = state.withLock { state in
      state.writes += 1
      return state.writes
    }
    if number < last || number == last && isLate {
      try await write()
      let values = DurableEvent.values(in: entry ?? [])
      state.withLock { $0.values.merge(values) { _, new in new } }
    }
    if number >= last { throw Crash() }
  }
}
