// SPDX-License-Identifier: MIT
// Copyright (c) 2026 Stepwise contributors

import LegacyGrainFirst

private final class Page {
  var lines: [String] = []
}

private enum Reading: StageProtocol {
  case read
  case success

  var nextTask: Task<Reading>? {
    switch self {
    case .read: .unit { .success }
    case .success: nil
    }
  }
}

@available(*, deprecated)
func aCompletionOfTheFirstEditionChangesWhatTheScreenGoesOnUsing() {
  let page = Page()
  Reading.read.execute { _ in page.lines.append("read") }  // Race
  page.lines.append("second")
}
