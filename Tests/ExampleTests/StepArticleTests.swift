// SPDX-License-Identifier: MIT
// Copyright (c) 2026 Stepwise contributors

import Foundation
import Stepwise
import StepwiseCheckpoints
import StepwiseTesting
import Testing

@Suite(.timeLimit(.minutes(5)))
struct StepArticleTests {
  private let stock = Stock()
  private let bank = Bank()
  private let courier = Courier()
  private let post = Post()
  private let books = Books()

  private func makeOrder() -> Chain<Cart, Receipt> {
    let (stock, bank, courier, post, books) = (stock, bank, courier, post, books)

    let order = Chain("order") { (cart: Cart) in
      let goods = try await step("reserve") {
        try await stock.reserve(cart)
      } undo: { goods in
        await stock.release(goods)
      }
      let receipt = try await step("charge", retry: .init(maxAttempts: 3, backoff: .exponential(from: .seconds(1)))) {
        try await bank.charge(cart.total)
      } undo: { receipt in
        try await bank.refund(receipt)
      }
      for parcel in goods.parcels {
        try await step("ship \(parcel.id)", timeout: .seconds(30)) { try await courier.ship(parcel) }
      }
      async let mail: Void = step("mail") { try await post.confirm(receipt) }
      async let invoice: Void = step("invoice") { try await books.enter(receipt) }
      _ = try await (mail, invoice)
      return receipt
    }

    return order
  }

  @Test
  func `An order is steps of one closure, and a failure undoes them`() async throws {
    let order = makeOrder()
    #expect(try await order.run(Cart(total: 7)) == Receipt(amount: 7))
    #expect(stock.log.elements == ["reserve 7"])
    #expect(courier.log.elements == ["ship 1", "ship 2"])

    let cart = Cart(total: 0)
    let run = order.start(cart)
    await #expect(throws: Courier.IsClosed()) { try await run.value }
    #expect(run.failedStep?.name == "ship 2")
    #expect(bank.log.elements == ["charge 7", "charge 0", "refund 0"])
    #expect(stock.log.elements == ["reserve 7", "reserve 0", "release 0"])
    #expect(post.log.elements == ["confirm 7"])
    #expect(books.log.elements == ["enter 7"])
  }

  @Test
  func `An order that is cancelled is undone`() async throws {
    let (order, cart) = (makeOrder(), Cart(total: 7))

    let run = order.start(cart)
    run.cancel(reason: "the customer left")

    // Whether the run succeeds depends on how far it got; what it took, it gives back unless it succeeded.
    let isResolved = if case .resolved = await run.outcome { true } else { false }
    #expect(stock.log.elements.contains("release 7") == (stock.log.elements.contains("reserve 7") && !isResolved))
    #expect(bank.log.elements.contains("refund 7") == (bank.log.elements.contains("charge 7") && !isResolved))
  }

  @Test
  func `An order with an id runs once, and after a stop it continues`() async throws {
    let (order, cart) = (makeOrder(), Cart(total: 7))
    let folder = FileManager.default.temporaryDirectory.appending(path: "readme-\(UUID().uuidString)")
    defer { try? FileManager.default.removeItem(at: folder) }

    let store = try FileCheckpointStore(directory: folder)
    let receipt = try await order.run(cart, id: "order-7", in: store)

    #expect(try await order.run(cart, id: "order-7", in: store) == receipt)
    #expect(bank.log.elements == ["charge 7"])
    #expect(try await order.unfinished(in: store).isEmpty)
  }

  @Test
  func `Steps in a function compile where closures of a chain do not`() async throws {
    let sum = Chain("sum") { (text: String) in
      let numbers = try await step("split") { text.split(separator: ",").compactMap { Int($0) } }
      let doubled = try await step("double") { numbers.map { $0 * 2 }.filter { $0 > 1 } }
      return try await step("sum") { doubled.reduce(0, +) }
    }

    #expect(try await sum.run("1,2,3") == 12)
  }

  @Test
  func `A step with a retry covers the steps inside it`() async throws {
    let (bank, stock) = (bank, stock)
    let policy = RetryPolicy(maxAttempts: 2, backoff: .none)

    let trip = Chain("trip") { (cart: Cart) in
      try await steps("book", retry: policy) {
        try await step("hotel") {
          try await stock.reserve(cart)
        } undo: { goods in
          await stock.release(goods)
        }
        try await step("flight") {
          try await bank.charge(cart.total)
        } undo: { receipt in
          try await bank.refund(receipt)
        }
      }
    }

    try await trip.run(Cart(total: 3))
    #expect(stock.log.elements == ["reserve 3"])
    #expect(bank.log.elements == ["charge 3"])
  }
}

/// A loop that a step happens to start.
@Suite(.timeLimit(.minutes(5)))
struct DetachedLoopArticleTests {
  private actor Sync {
    private var loop: Task<Void, any Error>?
    private(set) var rounds = 0

    func touch() {
      if loop != nil { return }
      loop = Task.detached {
        while !Task.isCancelled { try await step("round") { await self.synchronize() } }
      }
    }

    let begun = Recorder<Int>()

    private func synchronize() async {
      rounds += 1
      begun.record(rounds)
      if rounds == 1 { _ = await begun.first { $0 == 0 } }
      if rounds > 2 { withUnsafeCurrentTask { $0?.cancel() } }
    }
  }

  @Test
  func `A detached loop outlives the run in which it began`() async throws {
    let sync = Sync()
    try await Chain { () in try await step("load") { await sync.touch() } }.run()
    // The first round waits until the run has ended.
    sync.begun.record(0)
    _ = await sync.begun.first { $0 == 3 }
    #expect(await sync.rounds >= 3)
  }
}

/// A function with typed throws around a step.
@Suite(.timeLimit(.minutes(5)))
struct TypedThrowsArticleTests {
  private nonisolated enum BankError: Error {
    case refused
    case interrupted(any Error)
  }

  private nonisolated struct Bank: Sendable {
    func charge(_ amount: Int) async throws(BankError) -> Receipt {
      if amount == 0 { throw .refused }
      return Receipt(amount: amount)
    }
  }

  private let bank = Bank()

  // swift-format-ignore
  private func charged(_ cart: Cart) async throws(BankError) -> Receipt {
    do { return try await step("charge") { try await bank.charge(cart.total) } }
    catch { throw error as? BankError ?? .interrupted(error) }
  }

  @Test
  func `Two lines restore the type of an error`() async throws {
    #expect(try await charged(Cart(total: 7)) == Receipt(amount: 7))
    do {
      _ = try await charged(Cart(total: 0))
    } catch {
      guard case .refused = error else { throw error }
    }
  }
}

private nonisolated struct Cart: Sendable, Codable { let total: Int }
private nonisolated struct Parcel: Sendable { let id: Int }
private nonisolated struct Goods: Sendable, Codable {
  let number: Int
  var parcels: [Parcel] { [Parcel(id: 1), Parcel(id: 2)] }
}
private nonisolated struct Receipt: Sendable, Equatable, Codable { let amount: Int }

private nonisolated struct Stock: Sendable {
  let log = Recorder<String>()

  func reserve(_ cart: Cart) async throws -> Goods {
    log.record("reserve \(cart.total)")
    return Goods(number: cart.total)
  }

  func release(_ goods: Goods) async { log.record("release \(goods.number)") }
}

private nonisolated struct Bank: Sendable {
  let log = Recorder<String>()

  func charge(_ amount: Int) async throws -> Receipt {
    log.record("charge \(amount)")
    return Receipt(amount: amount)
  }

  func refund(_ receipt: Receipt) async throws { log.record("refund \(receipt.amount)") }
}

/// Ships each parcel once.
private nonisolated struct Courier: Sendable {
  struct IsClosed: Error, Equatable {}

  let log = Recorder<String>()

  func ship(_ parcel: Parcel) async throws {
    if log.elements.count == 3 { throw IsClosed() }
    log.record("ship \(parcel.id)")
  }
}

private nonisolated struct Post: Sendable {
  let log = Recorder<String>()

  func confirm(_ receipt: Receipt) async throws { log.record("confirm \(receipt.amount)") }
}

private nonisolated struct Books: Sendable {
  let log = Recorder<String>()

  func enter(_ receipt: Receipt) async throws { log.record("enter \(receipt.amount)") }
}
