// SPDX-License-Identifier: MIT
// Copyright (c) 2026 Stepwise contributors

import Foundation
import Stepwise
import StepwiseTracing

/// The exit code of a program.
package enum ExitCode: Int32, Sendable {
  case success = 0
  /// The work was tried and failed, or was refused.
  case failure = 1
  /// The command line could not be understood.
  case usage = 2
  /// What the command line names does not exist.
  case notFound = 3
  /// Ctrl-C ended the work: 128 and the number of the signal.
  case interrupted = 130
}

/// An error that ends a program with an exit code, after one line that says what to do instead.
package struct CommandError: Error, CustomStringConvertible {
  package let description: String
  package let code: ExitCode

  package init(_ description: String, code: ExitCode = .failure) {
    self.description = description
    self.code = code
  }
}

/// Runs the work of a program, which the first Ctrl-C cancels; an error becomes one line on standard error.
package func runCommand(
  of program: String,
  write: @escaping @Sendable (_ text: String, _ stream: Console.Stream) -> Void,
  _ work: @escaping @Sendable () async throws -> ExitCode
) async -> ExitCode {
  do {
    return try await withTerminationSignals {
      do {
        return try await work()
      } catch is CancellationError where Task.isCancelled || Scope.current.cancellationCause != nil {
        // A signal may end the runs of the work before it cancels the task.
        let reason = Scope.current.cancellationCause?.reason ?? "no reason given"
        write("\(program): cancelled: \(reason)\n", .error)
        return .interrupted
      }
    }
  } catch {
    write("\(program): \(String(describing: error).onOneLine)\n", .error)
    return (error as? CommandError)?.code ?? .failure
  }
}

/// Runs a program with its arguments, and ends it with the exit code of its work.
///
/// A reader of the output may end before the work does, as in `swift run Tour | head -1`.
package func runProgram(_ work: @Sendable (_ arguments: [String]) async -> ExitCode) async -> Never {
  signal(SIGPIPE, SIG_IGN)
  exit(await work(Array(CommandLine.arguments.dropFirst())).rawValue)
}

/// The program's standard output and standard error, written without a buffer.
package enum Console {
  /// One of the two streams.
  package enum Stream: Int32, Sendable {
    case output = 1
    case error = 2
  }

  /// Whether standard output goes to a terminal, where a line can be drawn again.
  package static var isTerminal: Bool { isatty(Stream.output.rawValue) == 1 }

  /// Writes a line to standard output.
  package static func writeLine(_ line: String) { print(line + "\n", to: .output) }

  /// Writes a message to standard error, as exactly one line.
  package static func writeError(_ message: String) { print(message.onOneLine + "\n", to: .error) }

  /// Writes text unchanged; what a closed or full stream does not accept is lost.
  package static func print(_ text: String, to stream: Stream) {
    var bytes = Array(text.utf8)[...]
    while !bytes.isEmpty {
      let count = bytes.withUnsafeBytes { buffer in write(stream.rawValue, buffer.baseAddress, buffer.count) }
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
}
