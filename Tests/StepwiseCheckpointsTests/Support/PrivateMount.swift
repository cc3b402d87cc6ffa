// SPDX-License-Identifier: MIT
// Copyright (c) 2026 Stepwise contributors

#if os(Linux)
  import Foundation

  /// Something that is mounted for one program alone.
  enum PrivateMount {
    /// The directory as it is, read-only.
    case readOnly(String)
    /// An empty file system in memory, of a megabyte and few files.
    case megabyte(String)

    /// Whether this process may mount anything; tests that need it are skipped where it may not.
    static let isPossible = {
      guard let directory = try? TemporaryDirectory() else { return false }
      return (try? PrivateMount.readOnly(directory.url.path).run("/bin/true", [])).flatMap(\.self) != nil
    }()

    /// Runs a program, and returns what it writes; nil when it cannot be run.
    func run(_ program: String, _ arguments: [String]) throws -> String? {
      let process = Process()
      let output = Pipe()
      process.executableURL = URL(fileURLWithPath: "/bin/sh")
      let (mount, directory) =
        switch self {
        case .readOnly(let directory): (#"mount --bind "$1" "$1" && mount -o remount,bind,ro "$1""#, directory)
        case .megabyte(let directory): (#"mount -t tmpfs -o size=1m,nr_inodes=64 none "$1""#, directory)
        }
      let share = #"unshare --user --mount --map-root-user sh -c "$0" sh "$@""#
      process.arguments = ["-c", share, mount + #" || exit 99; shift; exec "$@""#, directory, program] + arguments
      process.standardOutput = output
      process.standardError = FileHandle.nullDevice
      try process.run()
      let text = String(decoding: output.fileHandleForReading.readDataToEndOfFile(), as: UTF8.self)
      process.waitUntilExit()
      return process.terminationStatus == 0 ? text : nil
    }
  }
#endif
