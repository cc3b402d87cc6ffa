// SPDX-License-Identifier: MIT
// Copyright (c) 2026 Stepwise contributors

#if os(Linux) || os(Android)
  import CurlShim
  import Foundation
  import Stepwise

  /// The thread of a transport, as others see it: they send it commands.
  final class CurlLoop: Sendable {
    enum Command: Sendable {
      case start(CurlTransfer)
      case cancel(CurlTransfer)
      /// The consumer has taken what was too much.
      case receive(CurlTransfer)
      /// The source of a body has returned a piece, its end, or an error.
      case upload(CurlTransfer, generation: Int, Result<Data?, any Error>)
      case end
    }

    private struct State {
      var commands: [Command] = []
      /// Whether the thread waits for the network, so that it has to be woken.
      var isAsleep = false
      var hasThread = false
      var isEnding = false

      enum Action {
        case nothing
        case begin
        case wake
        case refuse
      }

      mutating func add(_ command: Command) -> Action {
        switch command {
        case .start where isEnding: return .refuse
        case .start where !hasThread:
          hasThread = true
          commands.append(command)
          return .begin
        case .end: isEnding = true
        default: break
        }
        // Without a thread nothing has begun that the command could be about.
        guard hasThread else { return .nothing }
        commands.append(command)
        return exchange(&isAsleep, with: false) ? .wake : .nothing
      }
    }

    let settings: CurlSettings
    private let wakeup: Int32
    private let state = Lock(State())

    init(settings: CurlSettings) {
      self.settings = settings
      wakeup = stepwise_wakeup_create()
    }

    deinit { stepwise_close(wakeup) }

    /// Has the thread carry out a command; returns false when it has ended and takes none.
    @discardableResult
    func send(_ command: Command) -> Bool {
      switch state.withLock({ $0.add(command) }) {
      case .refuse: return false
      case .nothing: break
      case .wake: stepwise_wakeup_send(wakeup)
      case .begin:
        let thread = Thread { CurlEngine(self, wakeup: self.wakeup).run() }
        thread.name = "StepwiseHTTP"
        thread.start()
      }
      return true
    }

    /// What is to be done, in order.
    func takeCommands() -> [Command] { state.withLock { exchange(&$0.commands, with: []) } }

    /// Returns whether the thread may wait for the network, as there are no commands.
    func fallAsleep() -> Bool {
      state.withLock { state in
        state.isAsleep = state.commands.isEmpty
        return state.isAsleep
      }
    }

    /// There is no thread after all; what comes from now on is refused.
    func lose() { state.withLock { $0.isEnding = true } }

    func wakeUp() { state.withLock { $0.isAsleep = false } }
  }
#endif
