// SPDX-License-Identifier: MIT
// Copyright (c) 2026 Stepwise contributors

import Foundation

/// What a request carries.
struct RequestContent: Sendable {
  let body: Data?
  /// What the body is, when the headers do not say.
  let type: String

  init(json: (any Encodable)?, encoder: JSONEncoder = JSONEncoder(), form: HTTPParameters?, body: Data?) throws {
    guard [json != nil, form != nil, body != nil].count(where: { $0 }) <= 1 else {
      throw HTTPError.refused(reason: "it has more than one of json, form and body")
    }
    if let json {
      (self.body, type) = (try encoder.encode(json), "application/json")
    } else if let form {
      (self.body, type) = (form.form, "application/x-www-form-urlencoded")
    } else {
      (self.body, type) = (body, "application/octet-stream")
    }
  }
}
