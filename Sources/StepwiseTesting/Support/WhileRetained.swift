// SPDX-License-Identifier: MIT
// Copyright (c) 2026 Stepwise contributors

extension TaskExecutor {
  /// Retains the executor while the body runs.
  ///
  /// `enqueue` needs this for everything that it does after it has handed over the job: the runtime does not retain an
  /// executor, and the job may release what does. `withExtendedLifetime` relies on the caller's reference.
  func whileRetained(_ body: () -> Void) {
    let reference = Unmanaged.passRetained(self)
    defer { reference.release() }
    body()
  }
}
