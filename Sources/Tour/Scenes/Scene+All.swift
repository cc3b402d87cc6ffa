// SPDX-License-Identifier: MIT
// Copyright (c) 2026 Stepwise contributors

extension Scene {
  /// All scenes, in the order of `--help`; the one without a name is the default.
  static let all: [Scene] = [
    .picture, .thumbnail, .cancel, .retry, .undo, .callbacks, .importText, .profile, .login, .download, .checkpoints,
    .fleet, .trace,
  ]
}
