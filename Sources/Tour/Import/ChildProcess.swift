// SPDX-License-Identifier: MIT
// Copyright (c) 2026 Stepwise contributors

import Foundation
import Stepwise

/// This program, in a child process.
struct ChildProcess: Sendable {
  struct Ending: Sendable {
    let lines: [String]
    let isKilled: Bool
    let exitCode: Int32
  }

  let arguments: [String]
  /// The line of its output at which it is killed by SIGKILL.
  var lastLine: String?

  /// Runs a child until it ends or prints its last line.
  static let run = Step.callback("child") { (child: ChildProcess, resolver: Resolver<Ending>) in
    let process = Process()
    let output = Pipe()
    process.executableURL = Bundle.main.executableURL
    process.arguments = child.arguments
    process.standardOutput = output
    process.standardInput = FileHandle.nullDevice
    try process.run()
    resolver.onCancel { _ in kill(process.processIdentifier, SIGKILL) }
    Thread.detachNewThread {
      var text = Data()
      while true {
        let data = output.fileHandleForReading.availableData
        if data.isEmpty { break }
        text.append(data)
        if let lastLine = child.lastLine, text.range(of: Data(lastLine.utf8)) != nil {
          kill(process.processIdentifier, SIGKILL)
        }
      }
      process.waitUntilExit()
      resolver.resolve(
        Ending(
          lines: String(decoding: text, as: UTF8.self).split(separator: "\n").map(String.init),
          isKilled: process.terminationReason == .uncaughtSignal,
          exitCode: process.terminationStatus
        )
      )
    }
  }
}
