// SPDX-License-Identifier: MIT
// Copyright (c) 2026 Stepwise contributors

import Foundation
import Stepwise
import StepwiseCheckpoints
import StepwiseTesting
import Testing

/// The samples of the article on durable chains.
struct DurableArticleTests {
  private let order = Chain("order") { (cart: [String]) in
    try await step("charge") { cart.count }
  }

  @Test func `An order continues`() async throws {
    let folder = FileManager.default.temporaryDirectory.appendingPathComponent("durable-\(UUID())")
    defer { try? FileManager.default.removeItem(at: folder) }
    let cart = ["tea"]
    let store = try FileCheckpointStore(directory: folder)
    let receipt = try await order.run(cart, id: "order-7", in: store)
    #expect(receipt == 1)
    try await order.resumeAll(in: store) { id, outcome in print("\(id): \(outcome)") }
  }

  /// Stands in for the photos of an album.
  actor Album {
    private(set) var photos = [3, 5]

    func expired() throws -> [Int] { photos }

    func delete(_ photo: Int) throws { photos.removeAll { $0 == photo } }
  }

  @Test func `A chain without an input and an output is durable`() async throws {
    let (photos, store) = (Album(), MemoryCheckpointStore())

    let cleanUp = Chain("clean up") {
      let old = try await step("find") { try await photos.expired() }
      for photo in old { try await step("delete \(photo)") { try await photos.delete(photo) } }
    }
    try await cleanUp.run(id: "clean-up-2026-11-29", in: store)

    #expect(await photos.photos.isEmpty)

    let nightly = Chain("nightly") { try await step("count") { 3 } }
    let ship = Chain("ship") { (parcel: Int) in try await step("send \(parcel)") {} }
    let parcel = 7
    let report = try await nightly.run(id: "nightly-2026-11-29", in: store)
    try await ship.run(parcel, id: "ship-7", in: store)
    #expect(report == 3)
  }

  @Test func `The order survives a crash`() async throws {
    let cart = ["tea"]
    try await crashEverywhere { store in try await order.run(cart, id: "order", in: store) }
  }

  nonisolated struct Hotel: Codable, Sendable {
    var price: Int
  }

  nonisolated struct Busy: Error, Codable {}

  /// Stands in for the services of the trip.
  actor Services {
    private(set) var log: [String] = []
    private var failures = 1

    func reserve(_ city: String, key: String?) throws -> Hotel {
      log.append("reserve \(city)")
      return Hotel(price: 80)
    }

    func release(_ hotel: Hotel) throws { log.append("release") }

    func charge(_ price: Int, key: String?) throws {
      log.append("charge \(price)")
      if failures > 0 {
        failures -= 1
        throw Busy()
      }
    }

    func confirm(_ hotel: Hotel) throws { log.append("confirm") }
  }

  @Test func `Steps are retried and stored together by a scope`() async throws {
    let services = Services()
    let (hotels, bank, post) = (services, services, services)

    let trip = Chain("trip") { (city: String) in
      let hotel = try await steps("book", retry: .init(maxAttempts: 3, backoff: .none)) {
        let hotel = try await step("hotel") {
          try await hotels.reserve(city, key: CurrentStep.idempotencyKey)
        } undo: { hotel in
          try await hotels.release(hotel)
        }
        try await step("charge") { try await bank.charge(hotel.price, key: CurrentStep.idempotencyKey) }
        return hotel
      }
      try await step("mail") { try await post.confirm(hotel) }
      return hotel
    }

    let store = MemoryCheckpointStore()
    #expect(try await trip.run("Oslo", id: "7", in: store).price == 80)
    #expect(await services.log == ["reserve Oslo", "charge 80", "release", "reserve Oslo", "charge 80", "confirm"])
    #expect(try await trip.resume(id: "7", in: store).price == 80)
    #expect(await services.log.count == 6)
  }
}
