// SPDX-License-Identifier: MIT
// Copyright (c) 2026 Stepwise contributors

import Foundation

/// The body of a request, from one of the parameters of a method.
struct RequestContent: Sendable {
  let body: HTTPBody?

  init(_ body: HTTPBody) { self.body = body }

  init(json: (any Encodable)?, encoder: JSONEncoder? = nil, form: HTTPParameters?, body: Data?) throws {
    guard [json != nil, form != nil, body != nil].count(where: { $0 }) <= 1 else {
      throw HTTPError.refused(reason: "it has more than one of json, form and body")
    }
    if let json {
      self.body = .bytes(try (encoder ?? JSONEncoder()).encode(json), type: "application/json")
    } else if let form {
      self.body = .bytes(form.form, type: "application/x-www-form-urlencoded")
    } else {
      self.body = body.map { .bytes($0) }
    }
  }
}
