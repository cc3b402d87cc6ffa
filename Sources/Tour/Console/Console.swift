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

  /// Whether a stream goes to a terminal, where a line can be drawn again.
  static func isTerminal(_ stream: Stream) -> Bool {
    isatty(stream.rawValue) == 1
  }

  /// The number of columns and rows of a terminal.
  struct Size: Sendable {
    var columns = 80
    var rows = 24
  }

  /// The size of a stream's terminal; 80 by 24 if it is unknown.
  static func size(_ stream: Stream) -> Size {
    var window = winsize()
    guard ioctl(stream.rawValue, UInt(TIOCGWINSZ), &window) == 0, window.ws_col > 0, window.ws_row > 0 else {
      return Size()
    }
    return Size(columns: Int(window.ws_col), rows: Int(window.ws_row))
  }

  /// Writes a line to standard output.
  static func writeLine(_ line: String) {
    write(line + "\n", to: .output)
  }

  /// Writes a message to standard error, as exactly one line.
  static func writeError(_ message: String) {
    write(oneLine(message) + "\n", to: .error)
  }

  /// Writes text unchanged; what a closed or full stream does not accept is lost.
  static func write(_ text: String, to stream: Stream) { _ = write(Array(text.utf8)[...], to: stream) }

  /// Writes bytes unchanged; returns the system's error number if the stream does not accept all of them.
  static func write(_ bytes: ArraySlice<UInt8>, to stream: Stream) -> Int32? {
    var bytes = bytes
    while !bytes.isEmpty {
      let count = bytes.withUnsafeBytes { buffer in systemWrite(stream.rawValue, buffer) }
      if count > 0 {
        bytes = bytes.dropFirst(count)
      } else if errno == EAGAIN {
        var entry = pollfd(fd: stream.rawValue, events: Int16(POLLOUT), revents: 0)
        _ = poll(&entry, 1, -1)
      } else if errno != EINTR {
        return errno
      }
    }
    return nil
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
