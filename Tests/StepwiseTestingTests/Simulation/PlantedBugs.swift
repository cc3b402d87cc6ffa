// SPDX-License-Identifier: MIT
// Copyright (c) 2026 Stepwise contributors

import StepwiseTesting
import Testing

/// Ten classic concurrency bugs, each in a few lines, as bodies of a simulation that throw when the bug shows.
enum PlantedBug: String, CaseIterable, Sendable, CustomTestStringConvertible {
  case lostWakeup, checkThenAct, doubleResume, slotReuse, lockOrder, missedCancellation, callbackTwice, lostUpdate,
    unboundedQueue, orderInversion

  var testDescription: String { rawValue }

  @Sendable func run(_ clock: ManualClock) async throws {
    switch self {
    case .lostWakeup: try await Self.lostWakeup()
    case .checkThenAct: try await Self.checkThenAct()
    case .doubleResume: try await Self.doubleResume()
    case .slotReuse: try await Self.slotReuse()
    case .lockOrder: try await Self.lockOrder()
    case .missedCancellation: try await Self.missedCancellation()
    case .callbackTwice: try await Self.callbackTwice(clock)
    case .lostUpdate: try await Self.lostUpdate()
    case .unboundedQueue: try await Self.unboundedQueue()
    case .orderInversion: try await Self.orderInversion()
    }
  }
}

/// A value that tasks share; each access is a suspension point.
actor Cell<Value: Sendable> {
  private var value: Value

  init(_ value: Value) { self.value = value }

  func get() -> Value { value }

  func set(_ new: Value) { value = new }

  func update(_ change: @Sendable (inout Value) -> Void) { change(&value) }

  /// Stores the new value if the old one equals the expected one.
  func exchange(_ expected: Value, _ new: Value) -> Bool where Value: Equatable {
    guard value == expected else { return false }
    value = new
    return true
  }
}

/// Lets one task wait; a resume that comes before is forgotten.
private actor Parking {
  private var waiter: CheckedContinuation<Void, Never>?

  func park() async { await withCheckedContinuation { waiter = $0 } }

  func resume() {
    waiter?.resume()
    waiter = nil
  }
}

/// A lock that suspends the tasks that wait for it.
private actor AsyncLock {
  private var isHeld = false
  private var waiters: [CheckedContinuation<Void, Never>] = []

  func acquire() async {
    if isHeld { await withCheckedContinuation { waiters.append($0) } }
    isHeld = true
  }

  func release() {
    if waiters.isEmpty { isHeld = false } else { waiters.removeFirst().resume() }
  }
}

extension PlantedBug {
  private static func lostWakeup() async throws {
    let (isSet, parking) = (Cell(false), Parking())
    async let waiting: Void = {
      if await !isSet.get() { await parking.park() }
    }()
    async let setting: Void = {
      await isSet.set(true)
      await parking.resume()
    }()
    _ = await (waiting, setting)
  }

  private static func checkThenAct() async throws {
    let balance = Cell(100)
    @Sendable func withdraw() async {
      if await balance.get() >= 80 { await balance.update { $0 -= 80 } }
    }
    async let first: Void = withdraw()
    async let second: Void = withdraw()
    _ = await (first, second)
    try require(await balance.get() >= 0, "overdrawn: \(await balance.get())")
  }

  private static func doubleResume() async throws {
    let (isResumed, resumes) = (Cell(false), Cell(0))
    @Sendable func resume() async {
      guard await !isResumed.get() else { return }
      await isResumed.set(true)
      await resumes.update { $0 += 1 }
    }
    async let answer: Void = resume()
    async let timeout: Void = resume()
    _ = await (answer, timeout)
    try require(await resumes.get() == 1, "resumed \(await resumes.get()) times")
  }

  /// A slot is compared by its number, and the number is used again for another owner (ABA).
  private static func slotReuse() async throws {
    let (slot, owner) = (Cell(1), Cell("first"))
    async let user: String? = {
      let (seen, name) = (await slot.get(), await owner.get())
      return await slot.exchange(seen, 0)
        ? (await owner.get() == name ? nil : "released the slot of another owner") : nil
    }()
    async let reuse: Void = {
      guard await slot.exchange(1, 2) else { return }
      await owner.set("second")
      await slot.set(1)
    }()
    let (fault, _) = await (user, reuse)
    try require(fault == nil, fault ?? "")
  }

  private static func lockOrder() async throws {
    let (left, right) = (AsyncLock(), AsyncLock())
    @Sendable func withBoth(_ first: AsyncLock, _ second: AsyncLock) async {
      await first.acquire()
      await second.acquire()
      await second.release()
      await first.release()
    }
    async let one: Void = withBoth(left, right)
    async let other: Void = withBoth(right, left)
    _ = await (one, other)
  }

  /// Looks whether it is cancelled, then waits for something that only a cancellation handler would end.
  private static func missedCancellation() async throws {
    let wake = Recorder<Int>()
    let task = Task {
      guard !Task.isCancelled else { return }
      await Task.yield()
      await withTaskCancellationHandler {
        if Task.isCancelled { return await Task { _ = await wake.elements(atLeast: 1) }.value }
        _ = await wake.elements(atLeast: 1)
      } onCancel: {
      }
    }
    await Task.yield()
    task.cancel()
    await task.value
  }

  private static func callbackTwice(_ clock: ManualClock) async throws {
    let (calls, isAnswered) = (Recorder<String>(), Cell(false))
    async let answer: Void = {
      try? await clock.sleep(for: .seconds(1))
      if await !isAnswered.get() { calls.record("answer") }
      await isAnswered.set(true)
    }()
    async let timeout: Void = {
      try? await clock.sleep(for: .seconds(1))
      if await !isAnswered.get() { calls.record("timeout") }
      await isAnswered.set(true)
    }()
    _ = await (answer, timeout)
    try require(calls.elements.count == 1, "called back with \(calls.elements)")
  }

  private static func lostUpdate() async throws {
    let counter = Cell(0)
    await withTaskGroup { group in
      for _ in 0..<3 {
        group.addTask { await counter.set(await counter.get() + 1) }
      }
    }
    try require(await counter.get() == 3, "counted \(await counter.get()) of 3")
  }

  /// A producer that does not wait for its consumer.
  private static func unboundedQueue() async throws {
    let (queue, longest) = (Cell<[Int]>([]), Cell(0))
    async let producer: Void = {
      for element in 0..<8 {
        await queue.update { $0.append(element) }
        let count = await queue.get().count
        await longest.update { $0 = max($0, count) }
      }
    }()
    async let consumer: Void = {
      var received = 0
      while received < 8 {
        let count = await queue.get().count
        if count > 0 { await queue.update { $0.removeFirst() } } else { await Task.yield() }
        received += min(count, 1)
      }
    }()
    _ = await (producer, consumer)
    try require(await longest.get() <= 5, "\(await longest.get()) elements were waiting")
  }

  private static func orderInversion() async throws {
    let log = Recorder<Int>()
    await withTaskGroup { group in
      for number in 1...3 { group.addTask { log.record(number) } }
    }
    try require(log.elements == [1, 2, 3], "logged \(log.elements)")
  }
}
