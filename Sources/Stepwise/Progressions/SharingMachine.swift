// SPDX-License-Identifier: MIT
// Copyright (c) 2026 Stepwise contributors

/// Decides what happens when several consumers look at one run of a progression.
///
/// It keeps the newest stage and nothing else. Consumers and the producer that have nothing to do leave a waiter, are woken
/// when something has changed, and ask again.
struct SharingMachine<Stage, Waiter> {
  typealias ConsumerID = UInt64

  enum Ending {
    /// The last stage was reached.
    case completed
    case failed(any Error)
    /// All consumers have gone.
    case abandoned
  }

  private struct Consumer {
    /// The number of the stage that it has taken; nil for none yet.
    var seen: Int?
    /// There as long as it waits for a newer stage.
    var waiter: Waiter?
  }

  private enum Producer {
    case absent
    case working
    case waiting(Waiter)
  }

  enum Answer {
    /// Takes a stage.
    case stage(Stage)
    case ended(Ending)
    /// Is to wait; the producer is to be made, or to be woken.
    case wait(isFirst: Bool, producer: Waiter?)
  }

  enum Turn {
    case produce
    case wait
    case stop
  }

  /// What follows from a consumer's leaving.
  enum Departure {
    case nothing
    /// Those who are left have all been waiting for this: the producer is to be made.
    case begin
    /// Those who are left have all been waiting for this: the producer is to be woken.
    case produce(Waiter)
    /// It was the last one: the work in progress is to be cancelled.
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

  /// Whether the stage after the newest one is to be worked on.
  private var isWanted: Bool {
    switch sharing.kind {
    case .everyStage: waitingCount > 0 && waitingCount == consumers.count
    case .latest: waitingCount > 0
    }
  }

  // MARK: - Consumers

  /// A consumer comes; it begins at the newest stage.
  mutating func join() -> ConsumerID {
    defer { nextID += 1 }
    consumers[nextID] = Consumer()
    return nextID
  }

  /// A consumer asks for a stage newer than the one it took.
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

  /// A consumer goes, for whatever reason; one that is gone already changes nothing.
  mutating func leave(_ id: ConsumerID) -> Departure {
    guard let consumer = consumers.removeValue(forKey: id) else { return .nothing }
    if consumer.waiter != nil { waitingCount -= 1 }
    guard ending == nil else { return .nothing }
    if consumers.isEmpty {
      // Whoever comes before anything has begun finds the run as it was.
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

  /// The producer asks whether to work on the next stage.
  mutating func turn(waiter: Waiter) -> Turn {
    if ending != nil { return .stop }
    if isWanted { return .produce }
    producer = .waiting(waiter)
    return .wait
  }

  /// A stage was reached; returns whom to wake, and the stage before, to be released outside the lock.
  mutating func reach(_ stage: Stage) -> (woken: [Waiter], superseded: Stage?) {
    guard ending == nil else { return ([], nil) }
    number += 1
    return (wakeConsumers(), exchange(&newest, with: stage))
  }

  /// Nothing follows the newest stage; returns whom to wake.
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
