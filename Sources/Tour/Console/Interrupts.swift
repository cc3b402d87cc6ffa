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

/// Ctrl-C: calls functions instead of ending the program, once.
///
/// The first interrupt calls what was registered; a second one ends the program as usual, so that nobody is locked in.
enum Interrupts {
  private struct State {
    var isReceived = false
    var actions: [@Sendable () -> Void] = []
    /// Dispatch lets go of a source that nobody holds.
    var source: (any DispatchSourceSignal)?
  }

  private static let state = Lock(State())

  /// Registers a function for the first interrupt, which from now on does not end the program; called at once if it
  /// has come already.
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

  /// Begins to listen; an interrupt that comes after this has returned is not lost.
  private static func listen() -> any DispatchSourceSignal {
    let source = DispatchSource.makeSignalSource(signal: SIGINT, queue: DispatchQueue(label: "interrupts"))
    let isListening = DispatchSemaphore(value: 0)
    source.setEventHandler { receive() }
    source.setRegistrationHandler { isListening.signal() }
    source.resume()
    isListening.wait()
    #if canImport(Darwin)
      // Here a source watches what happens besides it. On Linux it is what happens, so that nothing else may be set.
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
