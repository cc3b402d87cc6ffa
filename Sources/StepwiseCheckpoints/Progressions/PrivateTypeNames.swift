// SPDX-License-Identifier: MIT
// Copyright (c) 2026 Stepwise contributors

import Stepwise

/// The names of private and local types that run under checkpoints in this process.
///
/// The name of such a type does not distinguish it from another one in a different file or function. What distinguishes
/// them changes with every build, so checkpoints cannot store it.
enum PrivateTypeNames {
  private static let types = Lock([String: ObjectIdentifier]())

  /// Claims a name for a type; returns false when another type has it.
  static func claim(_ name: String, for type: Any.Type) -> Bool {
    let type = ObjectIdentifier(type)
    return types.withLock { types in
      let owner = types[name] ?? type
      types[name] = owner
      return owner == type
    }
  }
}
