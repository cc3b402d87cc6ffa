// SPDX-License-Identifier: MIT
// Copyright (c) 2026 Stepwise contributors

import Loopback

#if canImport(Darwin)
  import Darwin
#elseif canImport(Glibc)
  import Glibc
#elseif canImport(Musl)
  import Musl
#endif

/// The program: runs the scene that the command line names.
@main
struct TourProgram {
  static func main() async {
    signal(SIGPIPE, SIG_IGN)  // who reads the output may end before the work does: swift run Tour | head -1
    LoopbackServer.bypassProxy()
    let code = await Command.execute(Array(CommandLine.arguments.dropFirst()))
    exit(code.rawValue)
  }
}
