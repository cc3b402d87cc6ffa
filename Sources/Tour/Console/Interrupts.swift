// SPDX-License-Identifier: MIT
// Copyright (c) 2026 Stepwise contributors

import Dispatch
import Stepwise

#if canImport(Darwin)
  import Darwin
#elseif canImport(Glibc)
  import Glibc
#elseif canImport(Musl)
  import Musl
#endif

/// Ctrl-C: calls functions once instead of ending the program.
///
/// The first interrupt calls the registered functions; a second one ends the program as usual.
enum Interrupts {
  private struct State {
    var isReceived = false
    var actions: [@Sendable () -> Void] = []
    /// Retains the source, which Dispatch would release otherwise.
    var source: (any DispatchSourceSignal)?
  }

  private static let state = Lock(State())

  /// Registers a function for the first interrupt, which then does not end the program.
  ///
  /// Called immediately if the interrupt has already occurred.
  static func onInterrupt(_ action: @escaping @Sendable () -> Void) {
    let isLate = state.withLock { state in
      if state.isReceived { return true }
      state.actions.append(action)
      if state.source == nil {
        state.source = listen()
      }
      return false
    }
    if isLate { action() }
  }

  /// Starts to listen; an interrupt that occurs after this has returned is not lost.
  private static func listen() -> any DispatchSourceSignal {
    let source = DispatchSource.makeSignalSource(signal: SIGINT, queue: DispatchQueue(label: "interrupts"))
    let isListening = DispatchSemaphore(value: 0)
    source.setEventHandler { receive() }
    source.setRegistrationHandler { isListening.signal() }
    source.resume()
    isListening.wait()
    #if canImport(Darwin)
      // On this system a source only observes the signal. On Linux it handles the signal, so that no handler may be
      // set.
      signal(SIGINT, SIG_IGN)
    #endif
    return source
  }

  private static func receive() {
    let actions = state.withLock { state in
      state.isReceived = true
      defer { state.actions = [] }
      return state.actions
    }
    signal(SIGINT, SIG_DFL)
    for action in actions { action() }
  }
}
