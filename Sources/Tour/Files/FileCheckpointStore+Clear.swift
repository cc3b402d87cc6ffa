// SPDX-License-Identifier: MIT
// Copyright (c) 2026 Stepwise contributors

import Foundation
import StepwiseCheckpoints

extension FileCheckpointStore {
  /// Removes an id and the directory, unless another process uses the id.
  func clear(_ id: String) async {
    guard (try? await remove(id)) != nil else { return }
    let locks = directory.path + "/.locks"
    _ = unlink(locks + "/fence")
    // Directories that are not empty stay.
    _ = rmdir(locks)
    _ = rmdir(directory.path)
  }
}
