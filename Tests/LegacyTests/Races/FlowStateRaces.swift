// SPDX-License-Identifier: MIT
// Copyright (c) 2026 Stepwise contributors

import LegacyFlowState

private final class Page {
  var lines: [String] = []
}

@available(*, deprecated)
private func aScreenAnswersWithWhatItGoesOnUsing(_ results: FlowStepHandler<String, Page>) {
  let page = Page()
  results.complete(page)  // Race
  page.lines.append("second")
}
