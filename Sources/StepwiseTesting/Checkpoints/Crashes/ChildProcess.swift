// SPDX-License-Identifier: MIT
// Copyright (c) 2026 Stepwise contributors

#if os(Linux) || os(macOS)
  #if canImport(Darwin)
    import Darwin
  #elseif canImport(Glibc)
    import Glibc
  #elseif canImport(Musl)
    import Musl
  #endif

  /// A child process whose output goes to a file.
  struct ChildProcess {
    /// How a child ended.
    struct End: Sendable {
      /// Whether it was killed by SIGKILL.
      let isKilled: Bool
      /// Its exit code; or minus the signal that ended it.
      let code: Int32
      let output: String
    }

    private let process: pid_t
    private let output: String

    /// Starts a program, which is looked for where the shell does unless it is a path.
    init(_ program: String, _ arguments: [String], environment: [String: String] = [:], output: String) throws {
      self.output = output
      #if canImport(Darwin)
        var actions: posix_spawn_file_actions_t?
      #else
        var actions = posix_spawn_file_actions_t()
      #endif
      posix_spawn_file_actions_init(&actions)
      defer { posix_spawn_file_actions_destroy(&actions) }
      posix_spawn_file_actions_addopen(&actions, 1, output, O_WRONLY | O_CREAT | O_TRUNC, 0o666)
      posix_spawn_file_actions_adddup2(&actions, 1, 2)
      var words = ([program] + arguments).map { strdup($0) } + [nil]
      var variables = (Self.inherited + environment.map { "\($0)=\($1)" }).map { strdup($0) } + [nil]
      defer { for word in words + variables { free(word) } }
      var process = pid_t()
      let code = posix_spawnp(&process, program, &actions, nil, &words, &variables)
      guard code == 0 else { throw CrashHarnessError(reason: "\(program) cannot be started (errno \(code))") }
      self.process = process
    }

    /// Waits until the child has ended; kills it after a while, if asked to.
    func wait(killAfter delay: Duration? = nil) -> End {
      if let delay {
        let (seconds, attoseconds) = delay.components
        var time = timespec(tv_sec: Int(seconds), tv_nsec: Int(attoseconds / 1_000_000_000))
        var rest = timespec()
        while nanosleep(&time, &rest) != 0, errno == EINTR { time = rest }
        kill(process, SIGKILL)
      }
      var status: Int32 = 0
      while waitpid(process, &status, 0) < 0, errno == EINTR {}
      let signal = status & 0x7f
      return End(
        isKilled: signal == SIGKILL,
        code: signal == 0 ? (status >> 8) & 0xff : -signal,
        output: Self.content(of: output)
      )
    }

    /// The path from the root on, without links where it is there.
    static func absolute(_ path: String) -> String {
      if let real = realpath(path, nil) {
        defer { free(real) }
        return String(cString: real)
      }
      guard !path.hasPrefix("/"), let folder = getcwd(nil, 0) else { return path }
      defer { free(folder) }
      return String(cString: folder) + "/" + path
    }

    static func makeDirectory(_ path: String) throws {
      guard mkdir(path, 0o777) == 0 else { throw CrashHarnessError(reason: "\(path) cannot be made (errno \(errno))") }
    }

    static func content(of path: String) -> String {
      let descriptor = open(path, O_RDONLY | O_CLOEXEC)
      guard descriptor >= 0 else { return "" }
      defer { close(descriptor) }
      var bytes: [UInt8] = []
      var buffer = [UInt8](repeating: 0, count: 65_536)
      while true {
        let count = read(descriptor, &buffer, buffer.count)
        if count <= 0 { return String(decoding: bytes, as: UTF8.self) }
        bytes += buffer.prefix(count)
      }
    }

    static func write(_ text: String, to path: String) throws {
      let descriptor = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0o666)
      guard descriptor >= 0 else { throw CrashHarnessError(reason: "\(path) cannot be written (errno \(errno))") }
      defer { close(descriptor) }
      var text = text
      let count = text.withUTF8 { bytes in systemWrite(descriptor, bytes.baseAddress, bytes.count) }
      guard count == text.utf8.count else { throw CrashHarnessError(reason: "\(path) cannot be written") }
    }

    /// The variables that programs need to find each other and their libraries.
    private static var inherited: [String] {
      let names: [String] = [
        "PATH", "HOME", "TMPDIR", "LD_LIBRARY_PATH", "DYLD_LIBRARY_PATH", "DYLD_FRAMEWORK_PATH",
      ]
      return names.compactMap { name in
        guard let value = getenv(name) else { return nil }
        return name + "=" + String(cString: value)
      }
    }
  }

  private func systemWrite(_ descriptor: Int32, _ bytes: UnsafePointer<UInt8>?, _ count: Int) -> Int {
    write(descriptor, bytes, count)
  }
#endif
