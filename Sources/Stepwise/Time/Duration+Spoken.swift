// SPDX-License-Identifier: MIT
// Copyright (c) 2026 Stepwise contributors

extension Duration {
  /// The duration as error texts say it: "1 second", "0.2 seconds", where `description` is "1.0 seconds".
  package var spoken: String {
    if self == .seconds(1) { return "1 second" }
    return components.attoseconds == 0 ? "\(components.seconds) seconds" : description
  }
}
