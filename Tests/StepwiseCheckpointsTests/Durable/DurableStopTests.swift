// SPDX-License-Identifier: MIT
// Copyright (c) 2026 Stepwise contributors

import Foundation
import Stepwise
import StepwiseCheckpoints
import StepwiseTesting
import Testing

/// Only a handle and `cancel(id:in:)` cancel a durable run for good.
@Suite(.timeLimit(.minutes(2)))
struct DurableStopTests {
  enum Source: String, CaseIterable {
    case task, chainToken, tokenAround, tokenOfRun, cancelRuns
  }

  /// Runs an order to the step "charge", and stops it there.
  private func stopped(by source: Source, _ orders: Orders, _ store: MemoryCheckpointStore) async -> (any Error)? {
    var orders = orders
    let (reached, token) = (Once<Void>(), CancellationToken())
    orders.check = { step in
      guard step == "charge" else { return }
      reached.settle(())
      try await Task.sleep(for: .seconds(3_600))
    }
    let chain = orders.chain
    if source == .chainToken { _ = chain.cancellationToken }
    let task = Task<String, any Error> {
      switch source {
      case .tokenAround: try await withCancellation(by: token) { try await chain.run(1, id: "o", in: store) }
      case .tokenOfRun: try await chain.start(1, id: "o", in: store, cancelledBy: token).value
      default: try await chain.run(1, id: "o", in: store)
      }
    }
    await reached.valueIgnoringCancellation()
    switch source {
    case .task: task.cancel()
    case .chainToken: chain.cancellationToken.cancel(reason: "deploy")
    case .tokenAround, .tokenOfRun: token.cancel(reason: "deploy")
    case .cancelRuns:
      chain.cancelRuns(reason: "deploy")
    // A plain run would stop at its next step only; a durable one has its own task.
    }
    do {
      _ = try await task.value
      return nil
    } catch {
      return error
    }
  }

  // G145
  @Test(arguments: Source.allCases)
  func `Every other source stops a run that is resumed`(source: Source) async throws {
    let (orders, store) = (Orders(), MemoryCheckpointStore())
    let error = await stopped(by: source, orders, store)
    #expect(error is CancellationError, "\(String(describing: error))")
    #expect(orders.ledger.lines == ["reserve", "charge", "finally"])
    #expect(try await orders.chain.unfinished(in: store) == ["o"])
    #expect(try await orders.chain.resume(id: "o", in: store) == "receipt")
    #expect(orders.ledger.lines == ["reserve", "charge", "finally", "charge", "ship 0", "finally"])
  }

  // G145
  @Test func `The outcome of a stopped run says so`() async throws {
    var orders = Orders()
    let (store, token) = (MemoryCheckpointStore(), CancellationToken())
    let outcome = Lock(ChainState?.none)
    orders.check = { step in if step == "charge" { token.cancel(reason: "deploy") } }
    let chain = orders.chain.finally { state in outcome.withLock { $0 = state } }
    let run = chain.start(1, id: "o", in: store, cancelledBy: token)
    guard case .cancelled(let cancellation) = await run.outcome else {
      Issue.record("it was not cancelled")
      return
    }
    #expect(cancellation.reason == "deploy")
    #expect(cancellation.underlyingError is CheckpointError)
    guard case .cancelled(let seen)? = outcome.withLock({ $0 }) else {
      Issue.record("finally saw something else")
      return
    }
    #expect(seen.underlyingError is CheckpointError)
    // The value of the step in progress is stored.
    _ = try await chain.resume(id: "o", in: store)
    #expect(orders.ledger.count("charge") == 1)
  }

  // G145
  @Test func `A handle cancels for good`() async throws {
    var orders = Orders()
    let (store, reached) = (MemoryCheckpointStore(), Once<Void>())
    orders.check = { step in
      guard step == "ship 0" else { return }
      reached.settle(())
      try await Task.sleep(for: .seconds(3_600))
    }
    let run = orders.chain.start(1, id: "o", in: store)
    await reached.valueIgnoringCancellation()
    #expect(run.cancel(reason: "customer"))
    #expect(!run.cancel(reason: "again"))
    guard case .cancelled(let cancellation) = await run.outcome else {
      Issue.record("it was not cancelled")
      return
    }
    #expect(cancellation.reason == "customer")
    #expect(orders.ledger.lines == ["reserve", "charge", "ship 0", "refund receipt", "release", "finally"])
    #expect(try await orders.chain.unfinished(in: store).isEmpty)
    await #expect(throws: CancellationError.self) { try await orders.chain.run(1, id: "o", in: store) }
    #expect(orders.ledger.lines.count == 6)
  }

  // G145
  @Test func `An id is cancelled where it runs`() async throws {
    var orders = Orders()
    let (store, reached) = (MemoryCheckpointStore(), Once<Void>())
    orders.check = { step in
      guard step == "ship 0" else { return }
      reached.settle(())
      try await Task.sleep(for: .seconds(3_600))
    }
    let chain = orders.chain
    let task = Task { try await chain.run(1, id: "o", in: store) }
    await reached.valueIgnoringCancellation()
    #expect(try await chain.cancel(id: "o", in: store, reason: "customer"))
    await #expect(throws: CancellationError.self) { try await task.value }
    #expect(orders.ledger.lines == ["reserve", "charge", "ship 0", "refund receipt", "release", "finally"])
    #expect(try await !chain.cancel(id: "o", in: store))
  }

  /// The step in progress may have happened: it is repeated with its key, and then undone.
  // G143
  @Test func `An id that no process runs is cancelled and undone by resume`() async throws {
    let (orders, store) = (Orders(), MemoryCheckpointStore())
    _ = await stopped(by: .task, orders, store)
    let before = orders.ledger.lines.count
    #expect(try await orders.chain.cancel(id: "o", in: store, reason: "customer"))
    #expect(try await orders.chain.unfinished(in: store) == ["o"])
    await #expect(throws: CancellationError.self) { try await orders.chain.resume(id: "o", in: store) }
    #expect(Array(orders.ledger.lines[before...]) == ["charge", "refund receipt", "release", "finally"])
    #expect(try await orders.chain.unfinished(in: store).isEmpty)
  }

  // G143
  @Test func `A step in doubt whose repetition fails is not undone`() async throws {
    var orders = Orders()
    let store = MemoryCheckpointStore()
    _ = await stopped(by: .task, orders, store)
    orders.check = { step in if step == "charge" { throw Opaque() } }
    #expect(try await orders.chain.cancel(id: "o", in: store))
    await #expect(throws: CancellationError.self) { try await orders.chain.resume(id: "o", in: store) }
    #expect(orders.ledger.count("release") == 1 && orders.ledger.count("refund receipt") == 0)
    #expect(try await orders.chain.unfinished(in: store).isEmpty)
  }

  /// Code that catches the error of a stop cannot continue.
  // G145
  @Test func `After a stop, every step throws`() async throws {
    let (store, ledger) = (MemoryCheckpointStore(), Ledger())
    let token = CancellationToken()
    let chain = Chain("caught") { (_: Int) in
      do { try await step("a") { token.cancel() } } catch {}
      do { try await step("b") { ledger.add("b") } } catch { ledger.add("\(error)") }
      try? await step("c") { ledger.add("c") }
      return 1
    }
    let outcome = await chain.start(1, id: "x", in: store, cancelledBy: token).outcome
    #expect(ledger.lines == ["CancellationError()"])
    guard case .cancelled = outcome else {
      Issue.record("\(outcome)")
      return
    }
    #expect(try await chain.unfinished(in: store) == ["x"])
  }

  // G145
  @Test func `An error of the store stops the run and undoes nothing`() async throws {
    let (orders, base) = (Orders(), MemoryCheckpointStore())
    let chain = orders.chain
    await #expect(throws: DyingStore.Death.self) { try await chain.run(1, id: "o", in: DyingStore(base, at: 4)) }
    #expect(orders.ledger.lines == ["reserve", "finally"])
    #expect(try await chain.run(1, id: "o", in: base) == "receipt")
  }

  // G147
  @Test func `An undo that fails keeps the run listed`() async throws {
    var orders = Orders()
    let store = MemoryCheckpointStore()
    let isBroken = Lock(true)
    orders.check = { step in if step == "ship 0" { throw Declined(card: "2") } }
    orders.checkUndo = { step in if step == "charge", isBroken.withLock({ $0 }) { throw Opaque() } }
    let chain = orders.chain
    await #expect(throws: Declined(card: "2")) { try await chain.run(1, id: "o", in: store) }
    #expect(orders.ledger.lines == ["reserve", "charge", "ship 0", "release", "finally"])
    #expect(try await chain.unfinished(in: store) == ["o"])
    await #expect(throws: Declined(card: "2")) { try await chain.resume(id: "o", in: store) }
    #expect(try await chain.unfinished(in: store) == ["o"])
    isBroken.withLock { $0 = false }
    await #expect(throws: Declined(card: "2")) { try await chain.resume(id: "o", in: store) }
    #expect(
      orders.ledger.lines == [
        "reserve", "charge", "ship 0", "release", "finally", "finally", "refund receipt",
        "onError \(Declined(card: "2"))",
        "finally",
      ]
    )
    #expect(try await chain.unfinished(in: store).isEmpty)
  }

  @Test func `A run that cannot be undone is abandoned`() async throws {
    var orders = Orders()
    let store = MemoryCheckpointStore()
    orders.check = { step in if step == "ship 0" { throw Declined(card: "2") } }
    orders.checkUndo = { _ in throw Opaque() }
    let chain = orders.chain
    await #expect(throws: Declined(card: "2")) { try await chain.run(1, id: "o", in: store) }
    #expect(try await chain.discard(id: "o", in: store))
    #expect(try await !chain.discard(id: "o", in: store))
    #expect(try await chain.unfinished(in: store).isEmpty)
    await #expect(throws: Declined(card: "2")) { try await chain.run(1, id: "o", in: store) }
  }

  @Test
  func `A value returned after a swallowed stop is not stored`() async throws {
    let (ledger, store, token) = (Ledger(), MemoryCheckpointStore(), CancellationToken())
    let chain = Chain("letters") { (count: Int) in
      try await step("all") {
        for number in 0..<count {
          do {
            try await step("mail \(number)") {
              ledger.add("mail \(number)")
              if number == 0 { token.cancel() }
            }
          } catch {}
        }
      }
      try await step("end") { ledger.add("end") }
      return count
    }
    _ = await chain.start(3, id: "l", in: store, cancelledBy: token).outcome
    #expect(try await chain.resume(id: "l", in: store) == 3)
    #expect(ledger.lines.suffix(3) == ["mail 1", "mail 2", "end"])
  }

  @Test
  func `A stored cancellation overrules the value of the last step`() async throws {
    let (ledger, store) = (Ledger(), MemoryCheckpointStore())
    let (reached, isCancelled) = (Once<Void>(), Once<Void>())
    let chain = Chain("work") { (input: Int) in
      try await step("last") {
        reached.settle(())
        await isCancelled.valueIgnoringCancellation()
      } undo: {
        ledger.add("undo")
      }
      return input
    }
    let run = chain.start(1, id: "w", in: store)
    await reached.valueIgnoringCancellation()
    #expect(try await chain.cancel(id: "w", in: store, reason: "left"))
    isCancelled.settle(())
    #expect(await "\(run.outcome)".hasPrefix("cancelled: left"))
    #expect(ledger.lines == ["undo"])
    #expect(try await chain.unfinished(in: store).isEmpty)
  }

  @Test
  func `A run that only undoes what it stored retries nothing`() async throws {
    let (ledger, base) = (Ledger(), MemoryCheckpointStore())
    let policy = RetryPolicy(maxAttempts: .max, backoff: .none)
    let chain = Chain("work") { (input: Int) in
      try await steps("around", retry: policy) {
        try await step("first") {
          1
        } undo: { _ in
          ledger.add("undo first")
        }
        try await step("second") { ledger.add("second") }
      }
      return input
    }
    let store = DyingStore(base, at: 4)
    await #expect(throws: (any Error).self) { try await chain.run(1, id: "w", in: store) }
    #expect(try await chain.cancel(id: "w", in: base))
    await #expect(throws: CancellationError.self) { try await chain.resume(id: "w", in: base) }
    #expect(ledger.count("undo first") == 1)
    #expect(try await chain.unfinished(in: base).isEmpty)
  }

  @Test
  func `Each element of a sequence has its idempotency key`() async throws {
    let (ledger, store) = (Ledger(), MemoryCheckpointStore())
    let chain = Chain("list") { (count: Int) in Array(0..<count) }
      .thenMap("pay", maxConcurrent: 1) { element in
        ledger.add(CurrentStep.idempotencyKey ?? "none")
        return element
      }
    try await chain.run(3, id: "k", in: store)
    #expect(Set(ledger.lines).count == 3)

    let (reached, isOver) = (Once<Void>(), Once<Void>())
    let slow = Chain("slow") { (input: Int) in
      reached.settle(())
      await isOver.valueIgnoringCancellation()
      return input
    }
    let run = slow.start(1, id: "s", in: store)
    await reached.valueIgnoringCancellation()
    await #expect(throws: CheckpointError.self) { try await chain.cancel(id: "s", in: store) }
    isOver.settle(())
    #expect(try await run.value == 1)
  }

  @Test
  func `A store that checks for cancellation still stores a cancelled run`() async throws {
    let ledger = Ledger()
    let store = TappedStore(base: MemoryCheckpointStore()) { _, write in
      try Task.checkCancellation()
      try await write()
    }
    let reached = Once<Void>()
    let chain = Chain("work") { (input: Int) in
      try await step("first") {
        ledger.add("first")
      } undo: {
        ledger.add("undo first")
      }
      try await step("second") {
        reached.settle(())
        try await Task.sleep(for: .seconds(3_600))
      }
      return input
    }
    let run = chain.start(1, id: "w", in: store)
    await reached.valueIgnoringCancellation()
    #expect(run.cancel(reason: "left"))
    #expect(await "\(run.outcome)".hasPrefix("cancelled: left"))
    #expect(ledger.lines == ["first", "undo first"])
  }

  /// A host of runs that wait for nothing.
  private struct Host: DurableHost {
    func park(_ waits: [DurableWait]) -> Bool { true }
    func unpark() async {}
    func suspend(_ waits: [DurableWait]) {}
    func signals(_ names: [String], limit: Int) async throws -> [(number: Int, name: String, value: [UInt8])] { [] }
    func news() -> @Sendable (_ limit: Duration) async -> Void { { _ in } }
  }

  @Test
  func `A run that its host stops waits for no step that is still to be replayed`() async throws {
    let (store, ledger) = (MemoryCheckpointStore(), Ledger())
    let (first, second, release) = (Once<Void>(), Once<Void>(), Once<Void>())
    let chain = Chain("work") { (input: Int) in
      let isReplay = !ledger.lines.isEmpty
      try await withThrowingTaskGroup { group in
        group.addTask {
          if isReplay { await release.valueIgnoringCancellation() }
          try await step("first") {}
          first.settle(())
        }
        group.addTask {
          if isReplay { second.settle(()) } else { await first.valueIgnoringCancellation() }
          try await step("second") {}
        }
        try await group.waitForAll()
      }
      try await step("last") {
        ledger.add("last")
        withUnsafeCurrentTask { $0?.cancel() }
      }
      try await step("never") {}
      return input
    }
    let task = Task { try await chain.run(1, id: "w", in: store) }
    await #expect(throws: CancellationError.self) { try await task.value }
    let run = chain.hosted(id: "w", in: store, host: Host(), now: { Date() })
    let end = Task { try await run.execute(CancellationToken()) }
    await second.valueIgnoringCancellation()
    for _ in 0..<1_000 { await Task.yield() }
    run.stop()
    release.settle(())
    let outcome = try await expectNoDelay { try await end.value }
    #expect(outcome == nil)
  }

  @Test func `The run of a renamed chain is found by its old name`() async throws {
    let store = MemoryCheckpointStore()
    let (order, purchase) = (Chain("order") { (input: Int) in input }, Chain("purchase") { (input: Int) in input })
    try await order.run(7, id: "7", in: store)
    let error = await #expect(throws: CheckpointError.self) { try await purchase.resume(id: "7", in: store) }
    #expect(
      error?.cause
        == "it belongs to the chain order, not to the chain purchase; use another id, or give a chain that was "
        + "renamed its old name: .named(\"order\")"
    )
    #expect(try await purchase.named("order").resume(id: "7", in: store) == 7)
  }

  enum InnerFault: CaseIterable { case held, differentSteps, store }

  /// What a store throws that cannot be reached.
  struct Unreachable: Error {}

  // G180
  @Test(arguments: InnerFault.allCases)
  func `A run whose inner run cannot continue is stopped, also when its code catches the error`(
    fault: InnerFault
  ) async throws {
    let (ledger, store, inner) = (Ledger(), MemoryCheckpointStore(), MemoryCheckpointStore())
    let isMended = Lock(false)
    let name = fault == .differentSteps ? "old" : "parcel"
    let earlier = Chain("ship") { (input: Int) in
      try await step(name) { 1 }
      return input
    }
    // Stopped after its step.
    let dying = DyingStore(inner, at: 2, isLate: true)
    _ = try? await earlier.run(1, id: "s", in: dying)
    let lease = fault == .held ? try await inner.acquire("s") : nil
    let tapped = TappedStore(base: inner) { _, write in
      if fault == .store, !isMended.withLock({ $0 }) { throw Unreachable() }
      try await write()
    }
    let ship = Chain("ship") { (input: Int) in
      try await step(isMended.withLock { $0 } ? name : "parcel") { 1 }
      try await step("wait") {}
      return input
    }
    let order = Chain("order") { (input: Int) in
      try await step("charge") {
        ledger.add("charge")
      } undo: { _ in
        ledger.add("refund")
      }
      let parcel = try? await step("ship") { try await ship.run(input, id: "s", in: tapped) }
      try await step("close") { ledger.add("close \(parcel ?? 0)") }
      return input
    }
    let error = await #expect(throws: (any Error).self) { try await order.run(1, id: "o", in: store) }
    switch (fault, error) {
    case (.held, CheckpointError.held(id: "s", _, _)?),
      (.differentSteps, CheckpointError.differentSteps(id: "s", _, _, _)?),
      (.store, is Unreachable):
      break
    default: Issue.record("\(String(describing: error))")
    }
    #expect(ledger.lines == ["charge"])
    #expect(try await order.unfinished(in: store) == ["o"])
    isMended.withLock { $0 = true }
    if let lease { try await inner.release(lease) }
    #expect(try await order.resume(id: "o", in: store) == 1)
    #expect(ledger.lines == ["charge", "close 1"])
  }

  // G180
  @Test func `A run whose inner run is stopped is stopped, and continues with it`() async throws {
    let (ledger, store, reached) = (Ledger(), MemoryCheckpointStore(), Once<Void>())
    let ship = Chain("ship") { (input: Int) in
      try await step("parcel") {
        ledger.add("parcel")
        reached.settle(())
        if ledger.count("parcel") == 1 { try await Task.sleep(for: .seconds(3_600)) }
      }
      return input
    }
    let order = Chain("order") { (input: Int) in
      try await step("charge") {
        ledger.add("charge")
      } undo: {
        ledger.add("refund")
      }
      return try await step("ship") { try await ship.run(input, id: "s", in: store) }
    }
    let task = Task { try await order.run(1, id: "o", in: store) }
    await reached.valueIgnoringCancellation()
    ship.cancelRuns()
    let error = await #expect(throws: CheckpointError.self) { try await task.value }
    guard case .stopped(id: "s", _)? = error else {
      Issue.record("\(String(describing: error))")
      return
    }
    #expect(try await order.resume(id: "o", in: store) == 1)
    #expect(ledger.lines == ["charge", "parcel", "parcel"])
  }
}
