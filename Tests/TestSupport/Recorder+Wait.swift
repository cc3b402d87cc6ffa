// SPDX-License-Identifier: MIT
// Copyright (c) 2026 Stepwise contributors

package import StepwiseTesting

extension Recorder where Element: Equatable {
  /// Waits until an element is there.
  package func wait(for element: Element) async {
    var count = 1
    while !elements.contains(element), !Task.isCancelled {
      count = await elements(atLeast: count).count + 1
    }
  }
}
