// SPDX-License-Identifier: MIT
// Copyright (c) 2026 Stepwise contributors

import Foundation
import StepwiseTesting

/// What the samples of the documentation name without declaring it.
nonisolated struct Image: Sendable, Equatable {
  var width: Int

  init(_ data: Data) throws {
    guard !data.isEmpty else { throw Failure("not an image") }
    width = data.count
  }

  func scaled(by factor: Double) -> Image {
    var copy = self
    copy.width = Int(Double(width) * factor)
    return copy
  }
}

nonisolated struct File: Sendable, Equatable {
  let name: String
}

nonisolated struct Failure: Error, Equatable, CustomStringConvertible {
  let description: String

  init(_ description: String) {
    self.description = description
  }
}

nonisolated func download(_ url: URL) async throws -> Data {
  guard url.scheme == "https" else { throw Failure("cannot download \(url)") }
  return Data(count: 8)
}

nonisolated func save(_ image: Image) throws -> File {
  File(name: "\(image.width).png")
}

@MainActor
final class Spinner {
  private(set) var isSpinning = true

  func stop() { isSpinning = false }
}

/// A step that ends only when it is cancelled, and signals when it has started.
nonisolated struct Endless: Sendable {
  let begun = Recorder<String>()

  func callAsFunction(_ name: String) async throws {
    begun.record(name)
    try await ManualClock().sleep(until: .init(offset: .seconds(1)))
  }
}

/// Records what a sample prints, instead of `print`.
nonisolated struct Printer: Sendable {
  let printed: Recorder<String>

  func callAsFunction(_ items: Any...) { printed.record(items.map { "\($0)" }.joined(separator: " ")) }
}
