// SPDX-License-Identifier: MIT
// Copyright (c) 2026 Stepwise contributors

import Logging
import Stepwise

/// Logs every run of the process.
func installObservers() {
  RunObservers.install(LoggingObserver(logger: Logger(label: "runs")))
}
