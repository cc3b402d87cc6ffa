// SPDX-License-Identifier: MIT
// Copyright (c) 2026 Stepwise contributors

import LegacyFlowState
import LegacyStepwise

func cancels(_ token: CancellationToken) -> Bool {
  token.cancel("left")
  return token.cancelled
}

@MainActor
func handler() -> FlowStepIntent<String, Int> { FlowStepHandler(String.self, Int.self) }
