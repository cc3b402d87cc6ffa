// SPDX-License-Identifier: MIT
// Copyright (c) 2026 Stepwise contributors

import CommandKit
import Stepwise

extension Scene {
  /// A booking that fails half way is undone, newest first.
  static let undo = Scene("undo", "undo a booking that fails half way") { _ in
    let agency = Agency()
    let book = Chain("choose") { (city: String) in city }
      .then("flight", undo: { flight in await agency.cancel(flight) }) { city in await agency.book("flight to \(city)")
      }
      .then("hotel", undo: { hotel in await agency.cancel(hotel) }) { _ in await agency.book("hotel by the sea") }
      .then("pay") { _ in try await agency.pay() }
      .onError { error in Console.writeLine("  onError  \(error)") }
      .finally { _ in Console.writeLine("  finally  the desk is closed") }

    Console.writeLine("A chain books a journey to Lisbon; its steps define how to undo them:")
    Console.writeLine("  .then(\"flight\", undo: { flight in await agency.cancel(flight) }) { ... }\n")
    do {
      try await book.run("Lisbon")
    } catch let error as Agency.CardRefused {
      let left = await agency.bookings
      Console.writeLine("\nEnded: \(error); \(left.isEmpty ? "nothing" : left.joined(separator: ", ")) is left booked.")
    }
    return .success
  }
}

/// An agency that books journeys, paid with a card that is refused.
private actor Agency {
  struct CardRefused: Error, CustomStringConvertible {
    let description = "the card was refused"
  }

  private(set) var bookings: [String] = []

  func book(_ name: String) -> String {
    bookings.append(name)
    Console.writeLine("  booked   \(name)")
    return name
  }

  func cancel(_ name: String) {
    bookings.removeAll { booking in booking == name }
    Console.writeLine("  undone   \(name)")
  }

  func pay() throws {
    Console.writeLine("  paying")
    throw CardRefused()
  }
}
