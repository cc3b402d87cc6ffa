// SPDX-License-Identifier: MIT
// Copyright (c) 2026 Stepwise contributors

import Stepwise
import StepwiseCheckpoints

private func checkFraud(_ cart: [Int]) async throws {}

private func versions(_ cart: [Int]) async throws {
  if CurrentRun.version >= 2 { try await step("check fraud") { try await checkFraud(cart) } }
}
