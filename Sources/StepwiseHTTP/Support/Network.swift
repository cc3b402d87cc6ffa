// SPDX-License-Identifier: MIT
// Copyright (c) 2026 Stepwise contributors

#if os(Linux) || os(Android)
  import Foundation

  /// The network of this machine.
  enum Network {
    /// Whether there is an interface other than the loopback that has an address.
    static var isUp: Bool {
      var first: UnsafeMutablePointer<ifaddrs>?
      guard getifaddrs(&first) == 0 else { return true }
      defer { freeifaddrs(first) }
      var entry = first
      while let interface = entry?.pointee {
        entry = interface.ifa_next
        guard let family = interface.ifa_addr?.pointee.sa_family else { continue }
        let isUp = interface.ifa_flags & UInt32(IFF_UP) != 0
        let isLoopback = interface.ifa_flags & UInt32(IFF_LOOPBACK) != 0
        if isUp, !isLoopback, family == sa_family_t(AF_INET) || family == sa_family_t(AF_INET6) { return true }
      }
      return false
    }
  }
#endif
