// SPDX-License-Identifier: MIT
// Copyright (c) 2026 Stepwise contributors

import LegacyElevate

private final class Page {
  var lines: [String] = []
}

@available(*, deprecated)
private final class Controller: Elevate {
  var title = ""

  func aTaskChangesWhatTheScreenGoesOnUsing() {
    let page = Page()
    async {
      task { page.lines.append("first") }  // Race
    }
    page.lines.append("second")
  }

  func aTaskUsesItsController() {
    async {
      task { self.title = "done" }  // Race
    }
  }

  func aTaskYieldsWhatItGoesOnUsing() {
    async {
      task {
        let page = Page()
        yield(page)  // Race
        page.lines.append("second")
      }
    }
  }
}
