// SPDX-License-Identifier: MIT
// Copyright (c) 2026 Stepwise contributors

public import Stepwise
public import StepwiseCheckpoints

/// Crashes a durable chain at each of its writes, runs it again, and compares with an undisturbed run.
///
/// Use this before you ship a durable chain. Let your fakes report what they do to the ledger:
///
/// ```swift
/// try await crashEverywhere(input: 7) { ledger in
///   Chain("order") { (amount: Int) in
///     try await step("charge") { ledger.record("charge", key: CurrentStep.idempotencyKey) }
///     return amount
///   }
/// }
/// ```
///
/// It finds
///
/// - code between steps that is not deterministic, such as a `UUID()`, and code that relies on a variable that the body
///   of a step has set;
/// - effects that happen more or less often than in the undisturbed run: bodies and undos that are repeated without a
///   key, and effects between steps;
/// - code that catches the error of the crash, such as with `try?`, and continues.
///
/// Each crash is tried before and after its write. Give the chain fakes that behave the same in each run. A random value
/// is another one in each run even where a step returns it, so inject its source.
///
/// - Parameters:
///   - input: The input of each run.
///   - maxWrites: The number of writes after which this gives up.
///   - fileID: The file that a report names, as `#fileID`.
///   - filePath: The file that a report names, as `#filePath`.
///   - line: The line that a report names.
///   - column: The column that a report names.
///   - makeChain: Creates the chain for each run; the chain reports its effects to the ledger.
/// - Returns: The number of crashes.
/// - Throws: ``CrashDifference`` for the first crash that makes a difference. When there is none, what the undisturbed
///   run throws.
@discardableResult
public func crashEverywhere<Input: Codable & Sendable, Output: Codable & Equatable & Sendable>(
  input: Input,
  maxWrites: Int = 10_000,
  fileID: String = #fileID,
  filePath: String = #filePath,
  line: Int = #line,
  column: Int = #column,
  _ makeChain: @Sendable (EffectLedger) async throws -> Chain<Input, Output>
) async throws -> Int {
  let ledger = EffectLedger()
  return try await crashEverywhere(
    effects: ledger,
    maxWrites: maxWrites,
    fileID: fileID,
    filePath: filePath,
    line: line,
    column: column
  ) { store in
    try await makeChain(ledger).run(input, id: "crash", in: store)
  }
}

/// Crashes a durable chain at each of its writes, runs it again, and compares with an undisturbed run.
///
/// Use this form if you need the store, for example to run the chain in code that you test as a whole.
///
/// ```swift
/// try await crashEverywhere { store in try await order.run(cart, id: "order", in: store) }
/// ```
///
/// It finds what ``crashEverywhere(input:maxWrites:fileID:filePath:line:column:_:)`` finds; without a ledger, it finds no
/// effect that is wrong.
///
/// - Parameters:
///   - effects: The ledger that your fakes report to; it is emptied before each crash.
///   - maxWrites: The number of writes after which this gives up.
///   - fileID: The file that a report names, as `#fileID`.
///   - filePath: The file that a report names, as `#filePath`.
///   - line: The line that a report names.
///   - column: The column that a report names.
///   - body: Runs the chain in the store with an id; called twice for each crash.
/// - Returns: The number of crashes.
/// - Throws: ``CrashDifference`` for the first crash that makes a difference. When there is none, what the undisturbed
///   run throws.
@discardableResult
public func crashEverywhere<Output: Equatable & Sendable>(
  effects: EffectLedger? = nil,
  maxWrites: Int = 10_000,
  fileID: String = #fileID,
  filePath: String = #filePath,
  line: Int = #line,
  column: Int = #column,
  _ body: @Sendable (_ store: any CheckpointStore) async throws -> Output
) async throws -> Int {
  let caller = SimulationCaller(fileID: fileID, filePath: filePath, line: line, column: column)
  let trials = CrashTrials(ledger: effects, maxWrites: maxWrites, caller: caller)
  return try await trials.run { write, isLate in
    let store = CrashingStore(at: write, isLate: isLate)
    let caught = Watched<String?>(nil)
    let note: @Sendable (String) -> Void = { step in caught.mutate { $0 = $0 ?? step } }
    effects?.begin { store.hasCrashed }
    let end = await CaughtStop.$report.withValue(note) { await CrashTestEnd { try await body(store) } }
    guard store.hasCrashed else { return CrashTrial(hasCrashed: false, end: end, values: store.values) }
    let resumed = CrashingStore(after: store)
    effects?.resume()
    let resumedEnd = await CrashTestEnd { try await body(resumed) }
    return CrashTrial(hasCrashed: true, end: resumedEnd, values: resumed.values, caught: caught.read { $0 })
  }
}

/// What a run came to that crashed at one of its writes and was resumed, or was not disturbed.
package struct CrashTrial<Output: Equatable & Sendable>: Sendable {
  let hasCrashed: Bool
  let end: CrashTestEnd<Output>
  /// What its steps have stored, by their paths.
  let values: [String: [UInt8]]
  /// A step of which code has caught the error of the crash.
  let caught: String?

  package init(hasCrashed: Bool, end: CrashTestEnd<Output>, values: [String: [UInt8]], caught: String? = nil) {
    (self.hasCrashed, self.end, self.values, self.caught) = (hasCrashed, end, values, caught)
  }
}

/// Crashes a run at each of its writes, and compares it with an undisturbed one.
package struct CrashTrials: Sendable {
  let ledger: EffectLedger?
  let maxWrites: Int
  let caller: SimulationCaller

  package init(
    ledger: EffectLedger?,
    maxWrites: Int,
    fileID: String,
    filePath: String,
    line: Int,
    column: Int
  ) {
    let caller = SimulationCaller(fileID: fileID, filePath: filePath, line: line, column: column)
    self.init(ledger: ledger, maxWrites: maxWrites, caller: caller)
  }

  init(ledger: EffectLedger?, maxWrites: Int, caller: SimulationCaller) {
    (self.ledger, self.maxWrites, self.caller) = (ledger, maxWrites, caller)
  }

  /// Runs trials.
  ///
  /// - Parameter trial: Runs from the beginning with an emptied ledger, crashes before or after the write with a number,
  ///   and resumes.
  /// - Returns: The number of crashes.
  /// - Throws: ``CrashDifference``; when there is none, what the undisturbed run throws.
  package func run<Output>(
    _ trial: (_ write: Int, _ isLate: Bool) async -> CrashTrial<Output>
  ) async throws -> Int {
    let undisturbed = await trial(.max, false)
    let expected = undisturbed.end
    let expectedEffects = ledger?.counts ?? [:]
    let steps = undisturbed.values.sorted { $0.key < $1.key }
    var crashes = 0
    for write in 1...max(1, maxWrites) {
      for isLate in [false, true] {
        let resumed = await trial(write, isLate)
        guard resumed.hasCrashed else {
          if let error = expected.error { throw error }
          return crashes
        }
        crashes += 1
        let place = "a crash \(isLate ? "after" : "before") write \(write)"
        func difference(_ subject: CrashDifference.Subject, _ expected: String, _ found: String) -> CrashDifference {
          CrashDifference(place: place, subject: subject, expected: expected, found: found, caller: caller)
        }
        // The effects first: they are closest to the mistake.
        for effect in ledger?.effectsOfDeadCode.subtracting(expectedEffects.keys).sorted() ?? [] {
          throw difference(.effectOfDeadCode(effect), "0", "1")
        }
        if let counts = ledger?.counts {
          for effect in Set(counts.keys).union(expectedEffects.keys).sorted() {
            let (expected, found) = (expectedEffects[effect, default: 0], counts[effect, default: 0])
            if expected != found { throw difference(.effect(effect), "\(expected)", "\(found)") }
          }
        }
        if let step = resumed.caught { throw difference(.caughtError(step), "an error", "a value") }
        guard resumed.end == expected else { throw difference(.end, "\(expected)", "\(resumed.end)") }
        for (step, value) in steps {
          guard let found = resumed.values[step], found != value else { continue }
          let texts = [value, found].map { String(decoding: $0, as: UTF8.self) }
          throw difference(.step(step), texts[0], texts[1])
        }
      }
    }
    if let error = expected.error { throw error }
    return crashes
  }
}

extension Chain {
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

/// The effects of a chain under ``crashEverywhere(input:maxWrites:fileID:filePath:line:column:_:)``, as its fakes report
/// them.
///
/// You can call it from any thread.
public final class EffectLedger: Sendable {
  private struct State {
    var entries: [(effect: String, key: String?)] = []
    /// What is reported after a crash, when a process would be dead.
    var effectsOfDeadCode: Set<String> = []
    var isDead: @Sendable () -> Bool = { false }
  }

  private let state = Lock(State())

  /// Creates an empty ledger.
  public init() {}

  /// Reports that an effect happened; call it where a real service would perform it.
  ///
  /// - Parameters:
  ///   - effect: The name of the effect, such as "charge".
  ///   - key: The key by which the service recognizes a repetition, such as `CurrentStep.idempotencyKey`: effects of one
  ///     name and key count as one. Without a key, each report counts.
  public func record(_ effect: String, key: String? = nil) {
    let isDead = state.withLock { $0.isDead }()
    state.withLock { state in
      if isDead {
        state.effectsOfDeadCode.insert(effect)
      } else {
        state.entries.append((effect, key))
      }
    }
  }

  /// Empties the ledger for a run, which crashes when the closure returns true.
  package func begin(isDead: @escaping @Sendable () -> Bool = { false }) {
    state.withLock { $0 = State(isDead: isDead) }
  }

  /// The process runs again.
  package func resume() { state.withLock { $0.isDead = { false } } }

  /// How often each effect happened, repetitions with the same key left out.
  var counts: [String: Int] {
    let entries = state.withLock { $0.entries }
    return Dictionary(grouping: entries) { $0.effect }.mapValues { entries in
      entries.count { $0.key == nil } + Set(entries.compactMap(\.key)).count
    }
  }

  var effectsOfDeadCode: Set<String> { state.withLock { $0.effectsOfDeadCode } }
}

/// A difference between a run that was resumed after a crash and an undisturbed one.
///
/// Its description says at which write your code behaved differently.
public struct CrashDifference: Error, Sendable, CustomStringConvertible {
  enum Subject: Sendable {
    case end
    case step(String)
    case effect(String)
    /// It happened after the crash, in a process that would be dead.
    case effectOfDeadCode(String)
    /// The code went on after a step had thrown the error of the crash.
    case caughtError(String)
  }

  /// Where the run crashed.
  public let place: String

  let subject: Subject

  /// The undisturbed run's value, or the number of its effects.
  public let expected: String

  /// The resumed run's value, or the number of its effects.
  public let found: String

  let caller: SimulationCaller

  /// The step whose value is different, or whose error the code caught; nil for the result of the run and for an effect.
  public var step: String? {
    switch subject {
    case .step(let step), .caughtError(let step): step
    case .end, .effect, .effectOfDeadCode: nil
    }
  }

  /// The effect whose number is different; nil for a value.
  public var effect: String? {
    switch subject {
    case .effect(let effect), .effectOfDeadCode(let effect): effect
    case .end, .step, .caughtError: nil
    }
  }

  /// The caller's file, as `#fileID`.
  public var fileID: String { caller.fileID }
  /// The caller's file, as `#filePath`.
  public var filePath: String { caller.filePath }
  /// The caller's line.
  public var line: Int { caller.line }
  /// The caller's column.
  public var column: Int { caller.column }

  /// Where the run crashed, and what was different.
  public var description: String {
    "The run at \(fileID):\(line), after \(place): " + detail
  }

  private var detail: String {
    switch subject {
    case .end:
      "it ended with \(found) instead of \(expected). Code between steps has to be deterministic, and a step has to "
        + "return what its body changes."
    case .step(let step):
      "the step \(step) stored \(found) instead of \(expected). Code between steps has to be deterministic, and a step "
        + "has to return what its body changes."
    case .effect(let effect) where expected == "0" || found == "0":
      "the effect '\(effect)' happened \(found) times instead of \(expected): the code took another path. Code between "
        + "steps has to be deterministic."
    case .effect(let effect):
      "the effect '\(effect)' happened \(found) times instead of \(expected). Perform it in a step, and pass "
        + "`CurrentStep.idempotencyKey` to a service that may receive it again."
    case .caughtError(let step):
      "the code caught the error of the store that the step '\(step)' threw, and continued with a value that means "
        + "nothing. Pass on the errors of `step` that you do not know."
    case .effectOfDeadCode(let effect):
      "the effect '\(effect)' happened because the code caught the error of the store and continued. Pass on the errors "
        + "of `step` that you do not know."
    }
  }
}

/// How a run ended.
package enum CrashTestEnd<Output: Equatable & Sendable>: Equatable, Sendable {
  case value(Output)
  case error(any Error)

  package init(_ body: () async throws -> Output) async {
    do { self = .value(try await body()) } catch { self = .error(error) }
  }

  var error: (any Error)? { if case .error(let error) = self { error } else { nil } }

  package static func == (end: CrashTestEnd, other: CrashTestEnd) -> Bool {
    switch (end, other) {
    case (.value(let value), .value(let other)): value == other
    // A replay throws a stored error, which looks like the first one.
    case (.error(let error), .error(let other)): "\(error)" == "\(other)"
    case (.value, .error), (.error, .value): false
    }
  }
}

/// A store in memory that fails at one write and at all after it.
private final class CrashingStore: ForwardingStore {
  struct Crash: Error {}

  private struct State {
    var writes = 0
    var hasCrashed = false
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

  var hasCrashed: Bool { state.withLock { $0.hasCrashed } }
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
    guard number >= last else { return }
    state.withLock { $0.hasCrashed = true }
    throw Crash()
  }
}
