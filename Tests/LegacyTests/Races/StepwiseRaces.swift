// SPDX-License-Identifier: MIT
// Copyright (c) 2026 Stepwise contributors

import LegacyStepwise

private final class Page {
  var lines: [String] = []
}

@available(*, deprecated)
func aStepChangesWhatTheScreenGoesOnUsing() {
  let page = Page()
  toStep { (line: String) in page.lines.append(line) }.start("first")  // Race
  page.lines.append("second")
}

@available(*, deprecated)
func aStepHandsOnWhatItGoesOnUsing() {
  toStep { (step: Step<Void, Page>) in
    let page = Page()
    step.resolve(page)  // Race
    page.lines.append("second")
  }.start()
}

@available(*, deprecated)
func aHandlerCountsInAVariableOfTheCaller() -> Int {
  var errors = 0
  toStep { (_: Int) in throw CancellationError() }.onError { _ in errors += 1 }.start(1)  // Race
  return errors
}
