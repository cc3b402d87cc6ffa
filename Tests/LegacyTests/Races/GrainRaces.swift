// SPDX-License-Identifier: MIT
// Copyright (c) 2026 Stepwise contributors

import Dispatch
import LegacyGrain

private final class Page {
  var lines: [String] = []
}

private struct Countdown: Progression {
  var number: Int

  mutating func updateOrDeferNext() -> Deferred<Countdown>? {
    number -= 1
    return nil
  }

  var result: Int? { number == 0 ? 0 : nil }
}

@available(*, deprecated)
func aCompletionChangesWhatTheScreenGoesOnUsing() {
  let page = Page()
  Countdown(number: 3).execute { useResult in page.lines.append("\((try? useResult()) ?? 1)") }  // Race
  page.lines.append("second")
}

@available(*, deprecated)
func aHandlerInAQueueChangesWhatTheScreenGoesOnUsing() {
  let page = Page()
  Countdown(number: 3).deferred() >>= .main + { useResult in page.lines.append("\((try? useResult()) ?? 1)") }  // Race
  page.lines.append("second")
}

@available(*, deprecated)
func aQueueCountsInAVariableOfTheCaller() -> Int {
  var count = 0
  (DispatchQueue.global() + { (_: Int) in count += 1 })(1)  // Race
  return count
}
