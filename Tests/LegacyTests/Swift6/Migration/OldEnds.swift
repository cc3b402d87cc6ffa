// SPDX-License-Identifier: MIT
// Copyright (c) 2026 Stepwise contributors

import Foundation
import LegacyStepwise
import StepwiseTesting

/// The old code of Migration.md about how chains end, each piece with what is needed to see what it does.
@available(*, deprecated)
enum OldEnds {
  static func error(printing printed: Recorder<String>) {
    @Sendable func print(_ text: String) { printed.record(text) }
    toStep { () -> String in
      throw Failure("Error in step 1!")
    }.then { text in
      text.count
    }.onError { error in
      print("ERROR: \(error)")
    }.start()
  }

  static func named(telling printed: Recorder<String>) {
    let handler: StepErrorHandler = { error in printed.record("\(error)") }
    toStep { () -> Int in throw Failure("no") }.onError(handler).start()
  }

  static func closing(_ close: @escaping @Sendable () -> Void) {
    toStep { (text: String) in
      text.utf8.count
    }.finally { _ in
      close()
    }.start("four")
  }

  static func stream(to file: Recorder<String>) {
    @Sendable func data() -> String { "data" }
    nonisolated(unsafe) let out = Output(file)
    toStep { data() }.then { d in out.write(d) }.finally { _ in out.close() }.start()
  }

  static func callbackStream(to file: Recorder<String>) {
    @Sendable func data() -> String { "data" }
    struct Vouched<Value>: @unchecked Sendable { let value: Value }
    let out = Vouched(value: Output(file))
    toStep { (step: Step<Void, String>) in step.resolve(data()) }
      .then { (d: String, handler: Handler<Int>) in
        out.value.write(d)
        handler.pass(d.count)
      }
      .finally { _ in out.value.close() }.start()
  }

  static func shared(printing printed: Recorder<String>) {
    @Sendable func print(_ number: Int) { printed.record("\(number)") }
    let show: @Sendable (Int) -> Void = { number in print(number) }
    let first = toStep { show(1) }.then { show(2) }
    first.start()
  }

  static func state(after end: End, printing printed: Recorder<String>) {
    @Sendable func print(_ items: Any...) { printed.record(items.map { "\($0)" }.joined(separator: " ")) }
    let chain = doubling(end)
    chain.finally { state in
      switch state {
      case .Resolved(let value): print("resolved", value)
      case .Errored(let error): print("errored", error)
      case .Canceled(let token): print("canceled", token.reason ?? "")
      }
    }
    if end == .cancelled { chain.cancellationToken.cancel(reason: "before") }
    chain.start(21)
  }

  static func bools(after end: End, telling printed: Recorder<String>) {
    let chain = doubling(end)
    chain.finally { state in printed.record("\(state.resolved) \(state.errored) \(state.canceled)") }
    if end == .cancelled { chain.cancellationToken.cancel(reason: "before") }
    chain.start(21)
  }

  private static func doubling(_ end: End) -> StepChain<Int, Int, Int, Int> {
    toStep { (number: Int) -> Int in
      if end == .failed { throw Failure("no") }
      return number * 2
    }
  }

  static func token(telling printed: Recorder<String>) -> Bool {
    let chain = toStep { (number: Int) -> Int in number }
    chain.then { _ in printed.record("executed") }.finally { _ in printed.record("end") }
    let token = chain.cancellationToken
    token.cancel(reason: "Canceling for a really good reason.")
    chain.start(1)
    return token.cancelled && token.reason == "Canceling for a really good reason."
  }

  static func twoFinallys(telling printed: Recorder<String>) {
    toStep { (number: Int) -> Int in number }
      .finally { _ in printed.record("first") }
      .finally { _ in printed.record("second") }
      .start(1)
  }
}

/// A stream, which is not `Sendable`.
final class Output {
  private let file: Recorder<String>

  init(_ file: Recorder<String>) { self.file = file }

  func write(_ text: String) { file.record(text) }
  func close() { file.record("closed") }
}

/// The ways in which a chain ends.
enum End: CaseIterable {
  case resolved, failed, cancelled
}
