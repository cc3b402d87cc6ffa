// SPDX-License-Identifier: MIT
// Copyright (c) 2026 Stepwise contributors

import Stepwise

extension Exchange {
  func startTimer() {
    if usesAlarm { return checkDeadlines() }
    guard let wake = wakeTime()?.wake else { return }
    let timer = spawn { [weak self, stopwatch] in
      var wake = Optional(wake)
      while let time = wake, (try? await stopwatch.sleep(time)) != nil { wake = self?.wakeTime()?.wake }
    }
    let isLate = state.withLock { state in
      if !state.machine.isEnded { state.timer = timer }
      return state.machine.isEnded
    }
    if isLate { timer.cancel() }
  }

  /// Checks the deadlines in real time, and schedules the next check.
  func checkDeadlines() {
    guard let (now, wake) = wakeTime() else { return }
    Alarm.shared.add(self, after: wake - now)
    // It may have ended before it was added.
    if state.withLock({ $0.machine.isEnded }) { Alarm.shared.remove(self) }
  }

  /// Ends the exchange if it is late; otherwise returns when to check again.
  private func wakeTime() -> (now: Duration, wake: Duration)? {
    let now = stopwatch.elapsed()
    switch state.withLock({ $0.machine.timer(at: now) }) {
    case .sleep(let wake): return (now, wake)
    case .stop: return nil
    case .timeOut(let deadline):
      release(.failure(HTTPError.timedOut(deadline)))
      return nil
    }
  }
}
