// SPDX-License-Identifier: MIT
// Copyright (c) 2026 Stepwise contributors

/// Decides what happens when several consumers iterate one run of a progression.
///
/// It stores only the newest stage. Consumers and the producer leave a waiter when they have nothing to do. The machine
/// wakes them after a change, and they try again.
struct SharingMachine<Stage, Waiter> {
  typealias ConsumerID = UInt64

  enum Ending {
    /// The last stage has been reached.
    case completed
    case failed(any Error)
    /// All consumers have left.
    case abandoned
  }

  private struct Consumer {
    /// The number of the stage that it received last; nil for none.
    var seen: Int?
    /// Set while the consumer waits for a newer stage.
    var waiter: Waiter?
  }

  private enum Producer {
    case absent
    case working
    case waiting(Waiter)
  }

  enum Answer {
    /// Returns this stage.
    case stage(Stage)
    case ended(Ending)
    /// Waits; the producer has to be started or woken.
    case wait(isFirst: Bool, producer: Waiter?)
  }

  enum Turn {
    case produce
    case wait
    case stop
  }

  /// What follows when a consumer leaves.
  enum Departure {
    case nothing
    /// All remaining consumers wait for the next stage: start the producer.
    case begin
    /// All remaining consumers wait for the next stage: wake the producer.
    case produce(Waiter)
    /// The last consumer left: cancel the stage in progress.
    case stop(Waiter?)
  }

  private let sharing: StageSharing
  private var newest: Stage
  private var number = 0
  private var consumers: [ConsumerID: Consumer] = [:]
  private var nextID: ConsumerID = 0
  private var waitingCount = 0
  private var producer = Producer.absent
  private(set) var ending: Ending?

  init(first: Stage, sharing: StageSharing) {
    newest = first
    self.sharing = sharing
  }

  var consumerCount: Int { consumers.count }

  /// Whether the producer should work on the stage after the newest one.
  private var isWanted: Bool {
    switch sharing.kind {
    case .everyStage: waitingCount > 0 && waitingCount == consumers.count
    case .latest: waitingCount > 0
    }
  }

  // MARK: - Consumers

  /// A consumer joins; it starts at the newest stage.
  mutating func join() -> ConsumerID {
    defer { nextID += 1 }
    consumers[nextID] = Consumer()
    return nextID
  }

  /// A consumer requests a stage newer than the one it received last.
  mutating func ask(_ id: ConsumerID, waiter: @autoclosure () -> Waiter) -> (Answer, Waiter?) {
    guard var consumer = consumers[id] else { return (.ended(.abandoned), nil) }
    if consumer.seen != number {
      consumer.seen = number
      consumers[id] = consumer
      return (.stage(newest), nil)
    }
    if let ending { return (.ended(ending), nil) }
    let new = waiter()
    if consumer.waiter == nil { waitingCount += 1 }
    consumer.waiter = new
    consumers[id] = consumer
    guard isWanted else { return (.wait(isFirst: false, producer: nil), new) }
    switch producer {
    case .absent:
      producer = .working
      return (.wait(isFirst: true, producer: nil), new)
    case .working: return (.wait(isFirst: false, producer: nil), new)
    case .waiting(let waiter):
      producer = .working
      return (.wait(isFirst: false, producer: waiter), new)
    }
  }

  /// A consumer leaves; leaving twice has no effect.
  mutating func leave(_ id: ConsumerID) -> Departure {
    guard let consumer = consumers.removeValue(forKey: id) else { return .nothing }
    if consumer.waiter != nil { waitingCount -= 1 }
    guard ending == nil else { return .nothing }
    if consumers.isEmpty {
      // A consumer that joins before the producer starts finds the run unchanged.
      if case .absent = producer { return .nothing }
      ending = .abandoned
      return .stop(wakeProducer())
    }
    guard isWanted else { return .nothing }
    if case .absent = producer {
      producer = .working
      return .begin
    }
    return wakeProducer().map { .produce($0) } ?? .nothing
  }

  private mutating func wakeProducer() -> Waiter? {
    guard case .waiting(let waiter) = producer else { return nil }
    producer = .working
    return waiter
  }

  // MARK: - The producer

  /// The producer requests permission to work on the next stage.
  mutating func turn(waiter: Waiter) -> Turn {
    if ending != nil { return .stop }
    if isWanted { return .produce }
    producer = .waiting(waiter)
    return .wait
  }

  /// A stage was reached.
  ///
  /// Returns the waiters to wake and the previous stage, which is released outside the lock.
  mutating func reach(_ stage: Stage) -> (woken: [Waiter], superseded: Stage?) {
    guard ending == nil else { return ([], nil) }
    number += 1
    return (wakeConsumers(), exchange(&newest, with: stage))
  }

  /// No stage follows the newest one.
  ///
  /// Returns the waiters to wake.
  mutating func end(_ ending: Ending) -> [Waiter] {
    guard self.ending == nil else { return [] }
    self.ending = ending
    return wakeConsumers()
  }

  private mutating func wakeConsumers() -> [Waiter] {
    guard waitingCount > 0 else { return [] }
    waitingCount = 0
    var woken: [Waiter] = []
    var index = consumers.startIndex
    while index != consumers.endIndex {
      if let waiter = consumers.values[index].waiter.take() { woken.append(waiter) }
      consumers.formIndex(after: &index)
    }
    return woken
  }
}
