// SPDX-License-Identifier: MIT
// Copyright (c) 2026 Stepwise contributors

import Foundation
import Stepwise
import StepwiseHTTP

extension Scene {
  /// Downloads that resume after any failure: the user's own, or those of a server that misbehaves.
  static let download = Scene(
    "download",
    "download files, whatever happens",
    parameters: ["[<url>...]", "[<option>...]"],
    details: [
      "-P <folder>        save files there",
      "--sha256 <hex>     save the only file if this is its checksum",
    ]
  ) { arguments in
    let order = try DownloadOrder(arguments)
    guard order.files.isEmpty else {
      let folder = try order.folder.map { try NewFolder($0) }
      defer { folder?.removeIfEmpty() }
      return try await download(order.files, deadlines: HTTPDeadlines(headers: .seconds(30), idle: .seconds(15)))
    }
    let server = try UnreliableServer()
    let folder = FileManager.default.temporaryDirectory.appendingPathComponent("stepwise-download-\(getuid())")
    try? FileManager.default.removeItem(at: folder)
    try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
    Console.writeError("A server on this machine drops connections, is busy, stalls, and lies about lengths.")
    return try await download(
      server.files(in: folder.path),
      deadlines: HTTPDeadlines(headers: .seconds(5), idle: .seconds(1))
    )
  }

  /// Downloads four files at a time, and says how each has ended.
  private static func download(_ files: [DownloadedFile], deadlines: HTTPDeadlines) async throws -> ExitCode {
    do {
      let successes = try await Chain("files") { (files: [DownloadedFile]) in files }
        .thenMap("download", maxConcurrent: 4) { file in try await file.download(deadlines: deadlines) }
        .run(files)
      return successes.allSatisfy(\.self) ? .success : .failure
    } catch is CancellationError {
      return .interrupted
    }
  }
}

/// The command line of the scene.
struct DownloadOrder: Sendable {
  private(set) var files: [DownloadedFile] = []
  /// The folder that files are saved in.
  private(set) var folder: String?

  /// - Throws: `Command.UsageError` for unknown, incomplete or contradictory options.
  init(_ arguments: [String]) throws(Command.UsageError) {
    var (addresses, sha256): ([String], String?) = ([], nil)
    var rest = arguments[...]
    while let argument = rest.popFirst() {
      switch argument {
      case "-P": folder = try Self.value(of: argument, &rest)
      case "--sha256": sha256 = try Self.value(of: argument, &rest)
      case _ where argument.hasPrefix("-"):
        throw Command.UsageError(description: "there is no option '\(argument)'; 'swift run Tour --help' lists them")
      default: addresses.append(argument)
      }
    }
    guard sha256 == nil || addresses.count == 1 else {
      throw Command.UsageError(description: "--sha256 goes with exactly one URL; there are \(addresses.count)")
    }
    for address in addresses {
      let name = Self.suggestedName(for: address)
      let path = folder.map { "\($0)/\(name)" } ?? name
      guard !files.contains(where: { $0.path == path }) else {
        throw Command.UsageError(description: "two URLs would be saved as '\(path)'")
      }
      files.append(DownloadedFile(address: address, path: path, sha256: sha256))
    }
  }

  private static func value(of option: String, _ rest: inout ArraySlice<String>) throws(Command.UsageError) -> String {
    guard let value = rest.popFirst(), !value.isEmpty else {
      throw Command.UsageError(description: "\(option) needs a value")
    }
    return value
  }

  /// Returns the file name that a URL suggests: the last part of its path, as far as it is valid.
  static func suggestedName(for address: String) -> String {
    let name = URL(string: address)?.lastPathComponent ?? ""
    let isUsable = !name.isEmpty && ![".", "..", "/"].contains(name) && !name.contains { $0 == "/" || $0 == "\0" }
    return isUsable ? name : "download"
  }
}
