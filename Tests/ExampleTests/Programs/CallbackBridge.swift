// SPDX-License-Identifier: MIT
// Copyright (c) 2026 Stepwise contributors

import Stepwise
import StepwiseTesting

/// A scanner with callbacks, as they are: the callback may come twice, late or never, on any thread.
final class Scanner: Sendable {
  enum Behaviour: Sendable { case scans, scansTwice, fails, isSilent }
  struct Jammed: Error {}

  let log = Recorder<String>()
  private let behaviour: Behaviour
  private let callback = Lock<(@Sendable (String?, (any Error)?) -> Void)?>(nil)

  init(_ behaviour: Behaviour) { self.behaviour = behaviour }

  func start(_ completion: @escaping @Sendable (String?, (any Error)?) -> Void) {
    log.record("start")
    switch behaviour {
    case .scans: completion("4711", nil)
    case .scansTwice:
      completion("4711", nil)
      completion("4712", nil)
    case .fails: completion(nil, Jammed())
    case .isSilent: callback.withLock { $0 = completion }
    }
  }

  func stop() {
    log.record("stop")
    // It answers once more when it is stopped.
    let late = callback.withLock { callback in
      defer { callback = nil }
      return callback
    }
    late?("late", nil)
  }
}

struct NoAnswer: Error {}
