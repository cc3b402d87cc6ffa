// SPDX-License-Identifier: MIT
// Copyright (c) 2026 Stepwise contributors

import Foundation
import LegacyStepwise

// What several closures of one chain use: no race, as they run one after the other, which the compiler does not know. Each
// closure is sent to the chain with what it captures, and the next one would send the same again.

private final class Output {
  var bytes = Data()
  func write(_ data: Data) { bytes += data }
  func close() {}
}

private func data() throws -> Data { Data([1]) }

@available(*, deprecated)
private func aStreamIsWrittenAndClosed() {
  let out = Output()
  toStep { try data() }.then { d in out.write(d) }.finally { _ in out.close() }.start()  // Refused
}

@available(*, deprecated)
private func aVariableIsSetAndRead() {
  var isDone = false
  toStep { 1 }.finally { _ in isDone = true }.then { _ in print(isDone) }.start()  // Refused
}

@available(*, deprecated)
private func aVariableIsSetInAStepAndReadInFinally() {
  var isReached = false
  toStep { throw CancellationError() }
    .then { isReached = true }  // Refused
    .finally { _ in print(isReached) }.start()
}

// The caller says that it is no race.
@available(*, deprecated)
private func aStreamThatTheCallerVouchesFor() {
  nonisolated(unsafe) let out = Output()
  toStep { try data() }.then { d in out.write(d) }.finally { _ in out.close() }.start()
}

private final class SharedOutput: Sendable {
  private let queue = DispatchQueue(label: "output")
  nonisolated(unsafe) private let output = Output()

  func write(_ data: Data) { queue.sync { output.write(data) } }
  func close() { queue.sync { output.close() } }
}

// The compiler sees that it is no race.
@available(*, deprecated)
private func aStreamThatIsSendable() {
  let out = SharedOutput()
  toStep { try data() }.then { d in out.write(d) }.finally { _ in out.close() }.start()
}

@available(*, deprecated)
private func aStreamThatIsHandedOn() {
  toStep { () -> (Data, Output) in (try data(), Output()) }
    .then { (data: Data, out: Output) -> Output in
      out.write(data)
      return out
    }
    .finally { state in if case .Resolved(let out as Output) = state { out.close() } }.start()
}
