// SPDX-License-Identifier: MIT
// Copyright (c) 2026 Stepwise contributors

import Stepwise

// Stage 2: the work has moved into a file of its own, which is new.

func loadProfile(from server: ExampleServer) -> Chain<String, ExampleProfile> {
  Chain("load profile") { name in try server.profile(of: name) }
}
