// SPDX-License-Identifier: MIT
// Copyright (c) 2026 Stepwise contributors

internal import Dispatch
internal import LegacySupport

@available(*, deprecated)
extension Node {
  /// A step that returns or throws.
  convenience init<Input, Output>(_ name: String?, _ queue: DispatchQueue?, _ body: Sent<(Input) throws -> Output>) {
    self.init(name, queue) { input, _ in
      do { return .resolved(Sent(try body.value(input.open()))) } catch { return .failed(error) }
    }
  }

  /// A step without input that returns or throws.
  convenience init<Output>(_ name: String?, _ queue: DispatchQueue?, withoutInput body: Sent<() throws -> Output>) {
    self.init(name, queue) { _, _ in
      do { return .resolved(Sent(try body.value())) } catch { return .failed(error) }
    }
  }

  /// A step that is passed a `Handler`.
  convenience init<Input, Output>(
    _ name: String?,
    _ queue: DispatchQueue?,
    _ location: Ending.Location,
    _ body: Sent<(Input, Handler<Output>) throws -> Void>
  ) {
    self.init(name, queue) { input, ending in
      let handler = Handler<Output>(ending, location)
      do { try body.value(input.open(), handler) } catch { handler.settle(.failed(error)) }
      return nil
    }
  }

  /// A step that is passed a `Step`.
  convenience init<Input, Output>(
    _ name: String?,
    _ queue: DispatchQueue?,
    _ location: Ending.Location,
    _ body: Sent<(Step<Input, Output>) -> Void>
  ) {
    self.init(name, queue) { input, ending in
      let handler = Handler<Output>(ending, location)
      do { body.value(Step(input: try input.open(), handler: handler)) } catch { handler.settle(.failed(error)) }
      return nil
    }
  }
}
