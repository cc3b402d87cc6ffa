// SPDX-License-Identifier: MIT
// Copyright (c) 2026 Stepwise contributors

import Foundation
import Loopback
import Stepwise
import StepwiseHTTP

extension Scene {
  /// Downloads that resume after any failure: the user's own, or those of a server that misbehaves.
  static let download = Scene(
    "download",
    "download files, whatever happens",
    parameters: ["[<url>...]", "[<option>...]"],
    details: DownloadOptions.help
  ) { arguments in
    let options = try DownloadOptions(arguments)
    guard options.orders.isEmpty else { return try await run(options) }
    let server = try UnreliableServer()
    let folder = FileManager.default.temporaryDirectory.appendingPathComponent("stepwise-download-\(getuid())")
    try? FileManager.default.removeItem(at: folder)
    try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
    if !options.isQuiet {
      Console.writeError("A server on this machine drops connections, is busy, stalls, and lies about lengths.")
    }
    return try await Downloading.$patience.withValue(.short) {
      try await download(server.orders(in: folder.path), options)
    }
  }

  private static func run(_ options: DownloadOptions) async throws -> ExitCode {
    try await Downloading.$manner.withValue(options.manner) {
      if options.goesToOutput { return try await OutputDownload(options.orders[0], options).run() }
      let folder = try options.folder.map { try NewFolder($0) }
      defer { folder?.removeIfEmpty() }
      return try await download(options.orders, options)
    }
  }

  /// Downloads a few at a time, and says how each has ended.
  private static func download(_ orders: [DownloadOrder], _ options: DownloadOptions) async throws -> ExitCode {
    let token = CancellationToken()
    Interrupts.onInterrupt { token.cancel(reason: "Ctrl-C") }
    let board = DownloadBoard(isQuiet: options.isQuiet)
    let line = ProductionLine<Transfer>(maxConcurrent: 4)
    for order in orders { line.add(.begin(order, board, token)) }
    line.finish()
    var code = ExitCode.success
    for await (_, result) in line.results {
      guard case .failure(let error) = result else { continue }
      if error is CancellationError {
        code = .interrupted
      } else if code == .success {
        code = .failure
      }
    }
    return code
  }
}

extension Downloading.Patience {
  /// For a server on this machine.
  fileprivate static let short: Downloading.Patience = {
    var patience = Downloading.Patience()
    patience.deadlines.headers = .seconds(5)
    patience.deadlines.idle = .seconds(1)
    return patience
  }()
}
