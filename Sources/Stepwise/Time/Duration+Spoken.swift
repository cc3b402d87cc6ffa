// SPDX-License-Identifier: MIT
// Copyright (c) 2026 Stepwise contributors

extension Duration {
  /// The duration as error texts say it: "1 second", "0.2 seconds", where `description` is "1.0 seconds".
  package var spoken: String {
    if self == .seconds(1) { return "1 second" }
    // The components of a duration of more than `Int64.max` seconds trap.
    guard self == clamped else { return description }
    return components.attoseconds == 0 ? "\(components.seconds) seconds" : description
  }
}
