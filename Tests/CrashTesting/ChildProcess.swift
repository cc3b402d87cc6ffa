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
      /// Whether it was killed because it exceeded the time limit.
      let isTimedOut: Bool
      /// Its exit code, or the negated number of the signal that ended it.
      let code: Int32
      let output: String
    }

    private let process: pid_t
    private let output: String

    /// Starts a program, which is searched for in `PATH` unless it is a path.
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
      var variables = Self.variables(environment).map { strdup($0) } + [nil]
      defer { for word in words + variables { free(word) } }
      var process = pid_t()
      let code = posix_spawnp(&process, program, &actions, nil, &words, &variables)
      guard code == 0 else { throw CrashHarnessError(reason: "\(program) cannot be started (errno \(code))") }
      self.process = process
    }

    /// Waits until the child has ended.
    ///
    /// - Parameters:
    ///   - delay: The delay before the planned kill; nil for no kill.
    ///   - limit: The time limit after which the child is killed.
    /// - Returns: How it ended.
    func wait(killAfter delay: Duration? = nil, limit: Duration) -> End {
      let clock = ContinuousClock()
      let start = clock.now
      let deadline = min(delay ?? limit, limit)
      var (status, pause): (Int32, Duration) = (0, .microseconds(100))
      while waitpid(process, &status, WNOHANG) == 0 {
        let rest = deadline - start.duration(to: clock.now)
        if rest <= .zero {
          kill(process, SIGKILL)
          while waitpid(process, &status, 0) < 0, errno == EINTR {}
          return self.end(status, isTimedOut: delay.map { $0 > limit } ?? true)
        }
        Self.sleep(min(pause, rest))
        pause = min(pause * 2, .milliseconds(5))
      }
      return self.end(status, isTimedOut: false)
    }

    private func end(_ status: Int32, isTimedOut: Bool) -> End {
      let signal = status & 0x7f
      return End(
        isKilled: signal == SIGKILL && !isTimedOut,
        isTimedOut: isTimedOut && signal == SIGKILL,
        code: signal == 0 ? (status >> 8) & 0xff : -signal,
        output: Self.content(of: output)
      )
    }

    private static func sleep(_ duration: Duration) {
      let (seconds, attoseconds) = duration.components
      var time = timespec(tv_sec: Int(seconds), tv_nsec: Int(attoseconds / 1_000_000_000))
      // A signal may end the wait early; the caller checks the time.
      nanosleep(&time, nil)
    }

    /// The absolute path, without links as far as it exists.
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

    /// Creates a directory for temporary files, whose path contains neither spaces nor colons.
    static func makeTemporaryDirectory() throws -> String {
      let folder = getenv("TMPDIR").map { String(cString: $0) } ?? ""
      let isUsable = !folder.isEmpty && !folder.contains { " :".contains($0) }
      var template = Array((absolute(isUsable ? folder : "/tmp") + "/crashes-XXXXXX").utf8CString)
      guard mkdtemp(&template) != nil else {
        throw CrashHarnessError(reason: "no temporary directory can be made (errno \(errno))")
      }
      return String(decoding: template.dropLast().map(UInt8.init(bitPattern:)), as: UTF8.self)
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

    /// These variables, and those that programs need to find each other and their libraries.
    private static func variables(_ environment: [String: String]) -> [String] {
      let names: [String] = [
        "PATH", "HOME", "TMPDIR", "LD_LIBRARY_PATH", "DYLD_LIBRARY_PATH", "DYLD_FRAMEWORK_PATH",
      ]
      var variables = environment
      for name in names where variables[name] == nil { variables[name] = getenv(name).map { String(cString: $0) } }
      return variables.map { "\($0)=\($1)" }
    }
  }

  private func systemWrite(_ descriptor: Int32, _ bytes: UnsafePointer<UInt8>?, _ count: Int) -> Int {
    write(descriptor, bytes, count)
  }
#endif
