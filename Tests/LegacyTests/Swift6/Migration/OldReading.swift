// SPDX-License-Identifier: MIT
// Copyright (c) 2026 Stepwise contributors

import Foundation
import LegacyGrainFirst
import StepwiseTesting

/// The old code of Migration.md of the first edition of Grain.
@available(*, deprecated)
enum OldReading {
  enum Reading: StageProtocol {
    case read(URL), success(String)

    var nextTask: Task<Reading>? {
      switch self {
      case .read(let url): return .unit { .success(String(decoding: try load(url), as: UTF8.self)) }
      case .success: return nil
      }
    }
  }

  static func read(_ url: URL, telling seen: Recorder<String>) {
    @Sendable func show(_ text: String) { seen.record(text) }
    @Sendable func report(_ error: any Error) { seen.record("\(error)") }
    Reading.read(url).execute { useResult in
      do {
        if case .success(let text) = try useResult() { show(text) }
      } catch {
        report(error)
      }
    }
  }
}
