// SPDX-License-Identifier: MIT
// Copyright (c) 2026 Stepwise contributors

import Foundation

/// A signal that is sent once and ends every wait; a pipe, so that `poll` can wait for it as well.
final class StopSignal: Sendable {
  private let readEnd: Int32
  private let writeEnd: Int32

  init() throws(SocketError) {
    var ends: [Int32] = [-1, -1]
    guard pipe(&ends) == 0 else { throw SocketError("no pipe") }
    readEnd = ends[0]
    writeEnd = ends[1]
    for end in ends { _ = fcntl(end, F_SETFD, FD_CLOEXEC) }
  }

  deinit {
    close(readEnd)
    close(writeEnd)
  }

  /// Ends all current and later waits.
  func send() {
    // Never read, so that it stays readable for all threads. A pipe takes one byte without blocking.
    var byte: UInt8 = 1
    _ = write(writeEnd, &byte, 1)
  }

  /// Waits until a socket is readable; returns false when the signal came first.
  func waitUntilReadable(_ socket: Socket) -> Bool {
    wait(watching: socket, milliseconds: -1) == .socket
  }

  /// Waits for a duration; returns false when the signal, or the peer's close, ended it early.
  func pause(for duration: Duration, watching socket: Socket?) -> Bool {
    let end = ContinuousClock.now.advanced(by: duration)
    var watched = socket
    while true {
      let left = end - ContinuousClock.now
      guard left > .zero else { return true }
      // At least one millisecond, as far as `poll` can count.
      let milliseconds = Int32(max(1, min(left / .milliseconds(1), 2e9)))
      switch wait(watching: watched, milliseconds: milliseconds) {
      case .signal:
        return false
      case .socket:
        if watched?.isClosedByPeer == true { return false }
        watched = nil  // the next request is waiting already: poll would return at once
      case .time:
        break
      }
    }
  }

  private enum Event {
    case signal
    case socket
    case time
  }

  private func wait(watching socket: Socket?, milliseconds: Int32) -> Event {
    // `poll` skips a negative descriptor.
    var entries = [
      pollfd(fd: readEnd, events: Int16(POLLIN), revents: 0),
      pollfd(fd: socket?.descriptor ?? -1, events: Int16(POLLIN), revents: 0),
    ]
    while true {
      let count = poll(&entries, nfds_t(entries.count), milliseconds)
      if entries[0].revents != 0 { return .signal }
      if count > 0 { return .socket }
      if count == 0 || milliseconds >= 0 { return .time }
    }
  }
}
