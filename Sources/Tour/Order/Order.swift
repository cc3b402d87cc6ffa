// SPDX-License-Identifier: MIT
// Copyright (c) 2026 Stepwise contributors

import Stepwise
import StepwiseTracing

struct Cart: Codable, Sendable { var total: Int }
struct Goods: Codable, Sendable { var parcels: [Parcel] }
struct Parcel: Codable, Sendable { var id: Int }
struct Receipt: Codable, Sendable { var amount: Int }
struct NetworkBusy: Error {}

/// Stands in for what an order needs. The card network is busy at first, and the courier loses the second parcel.
actor Shop {
  private var charges = 0

  private func work(_ milliseconds: Int) async throws { try await Task.sleep(for: .milliseconds(milliseconds)) }

  func reserve(_ cart: Cart) async throws -> Goods {
    try await work(60)
    return Goods(parcels: [Parcel(id: 1), Parcel(id: 2)])
  }

  func release(_ goods: Goods) async throws { try await work(50) }

  func charge(_ amount: Int) async throws -> Receipt {
    charges += 1
    let isBusy = charges == 1
    try await work(70)
    if isBusy { throw NetworkBusy() }
    return Receipt(amount: amount)
  }

  func refund(_ receipt: Receipt) async throws { try await work(70) }
  func ship(_ parcel: Parcel) async throws { try await work(parcel.id == 1 ? 80 : 60_000) }
  func confirm(_ receipt: Receipt) async throws { try await work(40) }
  func enter(_ receipt: Receipt) async throws { try await work(50) }
}

let shop = Shop()
let (stock, bank, courier, post, books) = (shop, shop, shop, shop, shop)

let order = Chain("order") { (cart: Cart) in
  let goods = try await step("reserve") {
    try await stock.reserve(cart)
  } undo: { goods in
    try await stock.release(goods)
  }
  let receipt = try await step("charge", retry: .init(maxAttempts: 3, backoff: .constant(.milliseconds(60)))) {
    try await bank.charge(cart.total)
  } undo: { receipt in
    try await bank.refund(receipt)
  }
  for parcel in goods.parcels {
    try await step("ship \(parcel.id)", timeout: .milliseconds(200)) { try await courier.ship(parcel) }
  }
  async let mail: Void = step("mail") { try await post.confirm(receipt) }
  async let invoice: Void = step("invoice") { try await books.enter(receipt) }
  _ = try await (mail, invoice)
  return receipt
}
