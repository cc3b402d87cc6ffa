// SPDX-License-Identifier: MIT
// Copyright (c) 2026 Stepwise contributors

import Stepwise
import StepwiseTesting

func scanWithStepwise(_ scanner: Scanner, clock: ManualClock, cancelledBy token: CancellationToken) async throws
  -> String
{
  let scan = Step<Void, String>.callback("scan") { (_: Void, resolver: Resolver<String>) in
    resolver.onCancel { _ in scanner.stop() }
    resolver.onLateValue { code in scanner.log.record("discarded \(code)") }
    scanner.start { code, error in resolver.resolve(code, error) }
  }
  let price = Chain(scan).timeout(.seconds(10), clock: clock).then("price") { code in "\(code): 3.50" }
  return try await withCancellation(by: token) { try await price.run() }
}
