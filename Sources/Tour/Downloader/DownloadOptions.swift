// SPDX-License-Identifier: MIT
// Copyright (c) 2026 Stepwise contributors

import Foundation
import StepwiseHTTP

/// The command line of the downloader.
struct DownloadOptions: Sendable {
  private(set) var orders: [DownloadOrder] = []
  private(set) var manner = DownloadManner()
  /// Whether only failures are reported.
  private(set) var isQuiet = false
  /// Whether the only file goes to standard output.
  private(set) var goesToOutput = false
  /// The folder that files without a path of their own are saved in.
  private(set) var folder: String?

  /// Their lines in `--help`.
  static let help = [
    "-o <file>          save the only file there; - writes it to standard output",
    "-P <folder>        save files there",
    "-i <file>          read URLs from a file, one a line; - is standard input",
    "-u <user>:<pass>   log in with Basic authentication",
    "-H '<name>: <v>'   send a header field; may be repeated",
    "--sha256 <hex>     save the only file if this is its checksum",
    "--segments <n>     download n parts of a file at the same time",
    "--limit-rate <n>   at most so many bytes a second; k, M and G are powers of 1024",
    "--timeout <s>      try again after so many seconds without a byte",
    "-q                 report failures only",
  ]

  private var addresses: [String] = []

  /// Reads the arguments after `download`.
  ///
  /// - Parameters:
  ///   - arguments: The arguments.
  ///   - read: Returns the text of a file of URLs.
  /// - Throws: `Command.UsageError` for unknown, incomplete or contradictory options; what `read` throws.
  init(_ arguments: [String], reading read: (String) throws -> String = Self.text) throws {
    var (path, digest): (String?, String?)
    var rest = arguments[...]
    while let argument = rest.popFirst() {
      switch argument {
      case "-o": path = try Self.value(of: argument, &rest)
      case "-P": folder = try Self.value(of: argument, &rest)
      case "-i": addresses += Self.addresses(in: try read(Self.value(of: argument, &rest)))
      case "-u": manner.credentials = try Self.credentials(Self.value(of: argument, &rest))
      case "-H": try addHeader(Self.value(of: argument, &rest))
      case "-q": isQuiet = true
      case "--sha256": digest = try Self.digest(Self.value(of: argument, &rest))
      case "--segments": manner.segments = try Self.segments(Self.value(of: argument, &rest))
      case "--limit-rate": manner.rateLimit = try Self.rateLimit(Self.value(of: argument, &rest))
      case "--timeout": manner.timeout = try Self.timeout(Self.value(of: argument, &rest))
      case _ where argument.hasPrefix("-"):
        throw Command.UsageError(description: "there is no option '\(argument)'; 'swift run Tour --help' lists them")
      default: addresses.append(argument)
      }
    }
    guard path == nil && digest == nil || addresses.count == 1 else {
      throw Command.UsageError(description: "-o and --sha256 go with exactly one URL; there are \(addresses.count)")
    }
    guard !arguments.contains("-i") || !addresses.isEmpty else {
      throw Command.UsageError(description: "there is no URL in the file of -i")
    }
    goesToOutput = path == "-"
    try addOrders(path: path, digest: digest)
  }

  private mutating func addOrders(path: String?, digest: String?) throws(Command.UsageError) {
    for address in addresses {
      let name = path ?? DownloadOrder.suggestedName(for: address)
      let path = folder.map { name.hasPrefix("/") ? name : "\($0)/\(name)" } ?? name
      guard !orders.contains(where: { $0.path == path }) else {
        throw Command.UsageError(description: "two URLs would be saved as '\(path)'; download one of them with -o")
      }
      orders.append(DownloadOrder(address: try separate(address), path: path, digest: digest))
    }
  }

  /// Removes the credentials from a URL, which is written to a checkpoint.
  private mutating func separate(_ address: String) throws(Command.UsageError) -> String {
    guard var parts = URLComponents(string: address), let user = parts.user else { return address }
    let found = HTTPCredentials.basic(user: user, password: parts.password ?? "")
    guard manner.credentials == nil || manner.credentials == found else {
      throw Command.UsageError(description: "there are two logins; give one, with -u")
    }
    manner.credentials = found
    (parts.user, parts.password) = (nil, nil)
    return parts.string ?? address
  }

  private mutating func addHeader(_ text: String) throws(Command.UsageError) {
    let parts = text.split(separator: ":", maxSplits: 1, omittingEmptySubsequences: false)
    guard parts.count == 2, !parts[0].isEmpty else {
      throw Command.UsageError(description: "-H needs '<name>: <value>'")
    }
    manner.headers.add(String(parts[0]), String(parts[1]))
  }
}

extension DownloadOptions {
  private static func value(of option: String, _ rest: inout ArraySlice<String>) throws(Command.UsageError) -> String {
    guard let value = rest.popFirst(), !value.isEmpty else {
      throw Command.UsageError(description: "\(option) needs a value")
    }
    return value
  }

  /// The text of a file, or of standard input.
  private static func text(_ path: String) throws -> String {
    guard path == "-" else { return String(decoding: try WholeFile.read(path), as: UTF8.self) }
    return String(decoding: try FileHandle.standardInput.readToEnd() ?? Data(), as: UTF8.self)
  }

  /// Returns one URL per line; empty lines, and those that start with `#`, are skipped.
  private static func addresses(in text: String) -> [String] {
    text.split(whereSeparator: \.isNewline)
      .map { $0.trimmingCharacters(in: .whitespaces) }
      .filter { !$0.isEmpty && !$0.hasPrefix("#") }
  }

  private static func credentials(_ text: String) throws(Command.UsageError) -> HTTPCredentials {
    let parts = text.split(separator: ":", maxSplits: 1, omittingEmptySubsequences: false)
    guard parts.count == 2, !parts[0].isEmpty else {
      throw Command.UsageError(description: "-u needs <user>:<password>")
    }
    return .basic(user: String(parts[0]), password: String(parts[1]))
  }

  private static func digest(_ text: String) throws(Command.UsageError) -> String {
    guard text.utf8.count == 64, text.allSatisfy(\.isHexDigit) else {
      throw Command.UsageError(description: "--sha256 needs 64 hexadecimal digits")
    }
    return text.lowercased()
  }

  private static func segments(_ text: String) throws(Command.UsageError) -> Int {
    guard let count = Int(text), 1...16 ~= count else {
      throw Command.UsageError(description: "--segments needs a number from 1 to 16")
    }
    return count
  }

  private static func timeout(_ text: String) throws(Command.UsageError) -> Duration {
    guard let seconds = Double(text), (0.001...1_000_000).contains(seconds) else {
      throw Command.UsageError(description: "--timeout needs a number of seconds")
    }
    return .seconds(seconds)
  }

  private static func rateLimit(_ text: String) throws(Command.UsageError) -> RateLimit {
    guard let rate = RateLimit.bytesPerSecond(text) else {
      throw Command.UsageError(description: "--limit-rate needs a number of bytes a second, such as 500, 64k or 1.5M")
    }
    return RateLimit(bytesPerSecond: rate)
  }
}
