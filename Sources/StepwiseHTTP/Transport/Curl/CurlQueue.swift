// SPDX-License-Identifier: MIT
// Copyright (c) 2026 Stepwise contributors

#if os(Linux) || os(Android)
  import Foundation

  /// The transfers that wait until there are fewer connections to their host than allowed.
  ///
  /// libcurl has the same limit, but prepares a transfer completely before it finds that it must wait, and again.
  struct CurlQueue {
    private struct Host {
      var running = 0
      var waiting: ArraySlice<CurlTransfer> = []
    }

    private let limit: Int
    private var hosts: [String: Host] = [:]

    init(limit: Int) { self.limit = limit }

    /// Returns whether a transfer may start; otherwise it waits until `next(for:)` returns it.
    mutating func add(_ transfer: CurlTransfer, to host: String) -> Bool {
      var found = hosts[host, default: Host()]
      let isFree = found.running < limit
      if isFree { found.running += 1 } else { found.waiting.append(transfer) }
      hosts[host] = found
      return isFree
    }

    /// A transfer to a host has ended; returns the one that starts in its place.
    mutating func next(for host: String) -> CurlTransfer? {
      if let next = hosts[host]?.waiting.popFirst() { return next }
      hosts[host]?.running -= 1
      if hosts[host]?.running == 0 { hosts[host] = nil }
      return nil
    }

    /// Removes a cancelled transfer, if it waits.
    mutating func remove(_ transfer: CurlTransfer, from host: String) {
      hosts[host]?.waiting.removeAll { $0 === transfer }
    }

    /// The scheme, host and port of a URL, as it spells them.
    static func host(of url: URL) -> String {
      var text = url.absoluteString
      return text.withUTF8 { bytes in
        var slashes = 0
        let end = bytes.firstIndex { byte in
          if byte == UInt8(ascii: "/") { slashes += 1 }
          return slashes == 3
        }
        return String(decoding: bytes[..<(end ?? bytes.endIndex)], as: UTF8.self)
      }
    }
  }
#endif
