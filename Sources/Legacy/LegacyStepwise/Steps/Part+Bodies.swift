// SPDX-License-Identifier: MIT
// Copyright (c) 2026 Stepwise contributors

internal import Dispatch
internal import LegacySupport

@available(*, deprecated)
extension Part {
  /// A step that is given a `Handler`.
  static func handing<Input, Output>(
    _ name: String?,
    _ queue: DispatchQueue?,
    file: String,
    line: UInt,
    _ body: Sent<(Input, Handler<Output>) throws -> Void>
  ) -> Part {
    Part(name, queue, file: file, line: line) { (input: Sent<Input>, resolver) in
      try body.value(input.value, Handler(resolver: resolver))
    }
  }

  /// A step that is given a `Step`.
  static func giving<Input, Output>(
    _ name: String?,
    _ queue: DispatchQueue?,
    file: String,
    line: UInt,
    _ body: Sent<(Step<Input, Output>) -> Void>
  ) -> Part {
    Part(name, queue, file: file, line: line) { (input: Sent<Input>, resolver) in
      body.value(Step(input: input.value, resolver: resolver))
    }
  }
}

extension Part {
  /// A step without input, which returns or throws.
  init<Output>(_ name: String?, _ queue: DispatchQueue?, withoutInput body: Sent<() throws -> Output>) {
    self.init(name, queue, Sent { (_: Void) in try body.value() })
  }
}
