// SPDX-License-Identifier: MIT
// Copyright (c) 2026 Stepwise contributors

/// What a database or a file system does to keep progressions.
public protocol CheckpointStore: Sendable {}
