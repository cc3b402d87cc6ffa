// SPDX-License-Identifier: MIT
// Copyright (c) 2026 Stepwise contributors

/// The name of `Deferred` up to 0.5.
@available(*, deprecated, message: "Write next() async throws of Progression of Stepwise")
public typealias Task<Result> = Deferred<Result>
