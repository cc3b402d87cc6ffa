// SPDX-License-Identifier: MIT
// Copyright (c) 2026 Stepwise contributors

import Foundation
import Stepwise

/// The new progressions of Migration.md.
enum NewStages {
  enum FileOpen: Progression {
    case read(URL), parse(Data), success(Document)

    func next() async throws -> FileOpen {
      switch self {
      case .read(let url): .parse(try load(url))
      case .parse(let data): .success(try Document(data))
      case .success: try completed()
      }
    }

    var result: Document? {
      if case .success(let document) = self { document } else { nil }
    }
  }

  struct Countdown: Progression {
    var number: Int

    func next() async throws -> Countdown { Countdown(number: number - 1) }

    var result: Bool? { number == 0 ? true : nil }
  }

  enum Import: Progression {
    case open(FileOpen), count(Document), success(Int)

    func next() async throws -> Import {
      switch self {
      case .open(let stage):
        try await stage.compose(
          transformNext: { .open($0) },
          transformResult: { document in .count(document) }
        )
      case .count(let document): .success(document.text.count)
      case .success: try completed()
      }
    }

    var result: Int? {
      if case .success(let count) = self { count } else { nil }
    }
  }

  enum Reading: Progression {
    case read(URL), success(String)

    func next() async throws -> Reading {
      switch self {
      case .read(let url): .success(String(decoding: try load(url), as: UTF8.self))
      case .success: try completed()
      }
    }

    var result: String? {
      if case .success(let text) = self { text } else { nil }
    }
  }
}

/// What the progressions open.
struct Document: Equatable {
  let text: String

  init(_ data: Data) throws {
    guard !data.isEmpty else { throw Failure("an empty document") }
    text = String(decoding: data, as: UTF8.self)
  }
}

/// The content of a file is its name; there is none without one.
func load(_ url: URL) throws -> Data {
  guard url.isFileURL else { throw Failure("not a file") }
  return Data(url.lastPathComponent.utf8.dropFirst())
}
