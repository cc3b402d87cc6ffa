// SPDX-License-Identifier: MIT
// Copyright (c) 2026 Stepwise contributors

/// What the command line of the downloader asks for.
struct DownloadOptions: Equatable {
  private(set) var orders: [DownloadOrder] = []

  /// Reads the arguments after `download`.
  ///
  /// - Throws: `Command.UsageError` for options that are unknown, incomplete, or make no sense together.
  init(_ arguments: [String]) throws(Command.UsageError) {
    var addresses: [String] = []
    var (path, digest): (String?, String?)
    var rest = arguments[...]
    while let argument = rest.popFirst() {
      switch argument {
      case "-o": path = try Self.value(of: argument, &rest)
      case "--sha256": digest = try Self.digest(Self.value(of: argument, &rest))
      case _ where argument.hasPrefix("-"):
        throw Command.UsageError(description: "there is no option '\(argument)'; 'swift run Tour --help' lists them")
      default: addresses.append(argument)
      }
    }
    guard path == nil && digest == nil || addresses.count == 1 else {
      throw Command.UsageError(description: "-o and --sha256 go with exactly one address; there are \(addresses.count)")
    }
    for address in addresses {
      let path = path ?? DownloadOrder.suggestedName(for: address)
      guard !orders.contains(where: { $0.path == path }) else {
        throw Command.UsageError(description: "two addresses would be saved as '\(path)'; download one of them with -o")
      }
      orders.append(DownloadOrder(address: address, path: path, digest: digest))
    }
  }

  private static func value(of option: String, _ rest: inout ArraySlice<String>) throws(Command.UsageError) -> String {
    guard let value = rest.popFirst(), !value.isEmpty else {
      throw Command.UsageError(description: "\(option) needs a value")
    }
    return value
  }

  private static func digest(_ text: String) throws(Command.UsageError) -> String {
    guard text.utf8.count == 64, text.allSatisfy(\.isHexDigit) else {
      throw Command.UsageError(description: "--sha256 needs 64 hexadecimal digits")
    }
    return text.lowercased()
  }
}
