// SPDX-License-Identifier: MIT
// Copyright (c) 2026 Stepwise contributors

internal import Dispatch
internal import LegacySupport
internal import Stepwise

/// A step of a legacy chain, without its types.
struct Part: Sendable {
  let step: Stepwise.Step<Parcel, Parcel>

  /// A step that returns or throws.
  init<Input, Output>(_ name: String?, _ queue: DispatchQueue?, _ body: Sent<(Input) throws -> Output>) {
    self.init(
      name,
      queue,
      Stepwise.Step { parcel in
        try Task.checkCancellation()
        return Parcel(try body.value(parcel.open()))
      }
    )
  }

  /// A step that ends when its resolver is called, now or later.
  ///
  /// Until the closure has returned, a cancel does not end the step: what the closure uses is in use so long.
  init<Input>(
    _ name: String?,
    _ queue: DispatchQueue?,
    file: String,
    line: UInt,
    _ body: @escaping @Sendable (Sent<Input>, Resolver<Parcel>) throws -> Void
  ) {
    self.init(
      name,
      queue,
      .callback(file: file, line: line) { parcel, resolver in
        try Task.checkCancellation()
        try body(Sent(parcel.open()), resolver)
      }
    )
  }

  /// A chain of the new world.
  init<Input: Sendable, Output: Sendable>(_ chain: Chain<Input, Output>) {
    step = Stepwise.Step { parcel in
      guard parcel.detour == nil else { return parcel }
      return Parcel(try await chain.run(parcel.open()))
    }
  }

  private init(_ name: String?, _ queue: DispatchQueue?, _ work: Stepwise.Step<Parcel, Parcel>) {
    let work = Solo(work, on: queue.map { QueueExecutor($0) } ?? .shared)
    let log = DebugLog(step: name)
    let body: @Sendable (Parcel) async throws -> Parcel = { parcel in
      guard parcel.detour == nil else { return parcel }
      log.write("begins with", parcel.content.erased)
      do {
        let output = try await work(parcel)
        log.write("resolved with", output.content.erased)
        return output
      } catch {
        log.write(Task.isCancelled ? "was canceled by" : "failed with", error)
        throw error
      }
    }
    step = name.map { Stepwise.Step($0, body) } ?? Stepwise.Step(body)
  }
}
