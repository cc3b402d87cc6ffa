// SPDX-License-Identifier: MIT
// Copyright (c) 2026 Stepwise contributors

import Foundation
import LegacyGrain

/// The old progressions of Migration.md.
@available(*, deprecated)
enum OldStages {
  enum FileOpen: Progression {
    case read(URL), parse(Data), success(Document)

    func next() -> Deferred<FileOpen> {
      switch self {
      case .read(let url): return Deferred { .parse(try load(url)) }
      case .parse(let data): return Deferred { .success(try Document(data)) }
      case .success: completedStage(self)
      }
    }

    var result: Document? {
      guard case .success(let document) = self else { return nil }
      return document
    }
  }

  struct Countdown: Progression {
    var number: Int

    mutating func updateOrDeferNext() throws -> Deferred<Countdown>? {
      number -= 1
      return nil
    }

    var result: Bool? { number == 0 ? true : nil }
  }

  enum Import: Progression {
    case open(FileOpen), count(Document), success(Int)

    func next() -> Deferred<Import> {
      switch self {
      case .open(let stage):
        return stage.compose(
          transformNext: { .open($0) },
          transformResult: { document in Deferred { .count(document) } }
        )
      case .count(let document): return Deferred { .success(document.text.count) }
      case .success: completedStep(self)
      }
    }

    var result: Int? {
      guard case .success(let count) = self else { return nil }
      return count
    }
  }

  enum OlderImport: Progression {
    case open(FileOpen), success(Int)

    func next() -> Deferred<OlderImport> {
      guard case .open(let stage) = self else { completedStep(self) }
      return compose(stage, mapNext: { .open($0) }, mapResult: { document in .success(document.text.count) })
    }

    var result: Int? {
      guard case .success(let count) = self else { return nil }
      return count
    }
  }

  enum DeferringImport: Progression {
    case open(FileOpen), success(Int)

    func next() -> Deferred<DeferringImport> {
      guard case .open(let stage) = self else { completedStep(self) }
      return compose(
        stage,
        mapNext: { .open($0) },
        flatMapResult: { document in Deferred { .success(document.text.count) } }
      )
    }

    var result: Int? {
      guard case .success(let count) = self else { return nil }
      return count
    }
  }
}
