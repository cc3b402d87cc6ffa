// SPDX-License-Identifier: MIT
// Copyright (c) 2026 Stepwise contributors

import StepwiseTracing

#if canImport(Darwin)
  import Darwin
#elseif canImport(Glibc)
  import Glibc
#elseif canImport(Musl)
  import Musl
#endif

/// The program's standard output and standard error, written without a buffer.
enum Console {
  /// One of the two streams.
  enum Stream: Int32, Sendable {
    case output = 1
    case error = 2
  }

  /// Whether standard output goes to a terminal, where a line can be drawn again.
  static var isTerminal: Bool { isatty(Stream.output.rawValue) == 1 }

  /// Writes a line to standard output.
  static func writeLine(_ line: String) { write(line + "\n", to: .output) }

  /// Writes a message to standard error, as exactly one line.
  static func writeError(_ message: String) { write(oneLine(message) + "\n", to: .error) }

  /// Writes text unchanged; what a closed or full stream does not accept is lost.
  static func write(_ text: String, to stream: Stream) {
    var bytes = Array(text.utf8)[...]
    while !bytes.isEmpty {
      let count = bytes.withUnsafeBytes { buffer in systemWrite(stream.rawValue, buffer) }
      if count > 0 {
        bytes = bytes.dropFirst(count)
      } else if errno == EAGAIN {
        var entry = pollfd(fd: stream.rawValue, events: Int16(POLLOUT), revents: 0)
        _ = poll(&entry, 1, -1)
      } else if errno != EINTR {
        return
      }
    }
  }

  /// The text on one line, without terminal control sequences, and with overrides of the writing direction escaped.
  static func oneLine(_ text: String) -> String {
    let line = text.split(whereSeparator: \.isNewline).joined(separator: " ").unicodeScalars
    return String(String.UnicodeScalarView(line.filter { $0.properties.generalCategory != .control })).onOneLine
  }
}

// Inside the enum, `write` refers to its own function.
private func systemWrite(_ descriptor: Int32, _ buffer: UnsafeRawBufferPointer) -> Int {
  write(descriptor, buffer.baseAddress, buffer.count)
}
