// SPDX-License-Identifier: MIT
// Copyright (c) 2026 Stepwise contributors

#if os(Linux) || os(Android)
  import CurlShim
  import Foundation
  import Stepwise

  /// The thread of a transport, as other threads see it: they send it commands.
  final class CurlLoop: Sendable {
    enum Command: Sendable {
      case start(CurlTransfer)
      case cancel(CurlTransfer)
      /// The consumer has received the excess bytes.
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
        // Without a thread no work has started that the command could concern.
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

    /// Makes the thread perform a command; returns false when it has ended.
    @discardableResult
    func send(_ command: Command) -> Bool {
      switch state.withLock({ $0.add(command) }) {
      case .refuse: return false
      case .nothing: break
      case .wake: stepwise_wakeup_send(wakeup)
      case .begin:
        let thread = Thread { self.runThread() }
        thread.name = "StepwiseHTTP"
        thread.start()
      }
      return true
    }

    private func runThread() {
      if let engine = CurlEngine(self, wakeup: wakeup) { return engine.run() }
      state.withLock { $0.isEnding = true }
      for case .start(let transfer) in takeCommands() {
        transfer.fail(HTTPError.refused(reason: "the system has no descriptors left"))
      }
    }

    /// Removes and returns the commands, in order.
    func takeCommands() -> [Command] { state.withLock { exchange(&$0.commands, with: []) } }

    /// Returns whether the thread may wait for the network, because there are no commands.
    func fallAsleep() -> Bool {
      state.withLock { state in
        state.isAsleep = state.commands.isEmpty
        return state.isAsleep
      }
    }

    func wakeUp() { state.withLock { $0.isAsleep = false } }
  }
#endif
