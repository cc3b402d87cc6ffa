// SPDX-License-Identifier: MIT
// Copyright (c) 2026 Stepwise contributors

#if Postgres
  import Foundation
  import Stepwise

  /// A child process that ends with this one, also while it is stopped.
  ///
  /// Foundation's `Process` learns of an end by a socket that closes, and the child's own children inherit it: after the end of a
  /// server's first process, `waitUntilExit` waits for all others.
  final class TestProcess: Sendable {
    let identifier: pid_t
    private let name: String
    /// A number is another process's once the child was waited for.
    private let isReaped = Lock(false)
    private let end = Once<Int32>()
    private let hasEnded = DispatchSemaphore(value: 0)

    /// Starts a program, as another user if this one is root, and under a program that prepares something as this user; the
    /// death signal is what Linux sends it when this process ends.
    init(
      _ command: [String],
      under prefix: [String] = [],
      user: String? = nil,
      deathSignal: String = "KILL",
      environment: [String: String] = [:]
    ) throws {
      name = command.first ?? ""
      var words = command
      #if os(Linux)
        let credentials = user.map { ["--reuid=\($0)", "--regid=\($0)", "--clear-groups"] } ?? []
        words = prefix + ["env", "-C", "/", "setpriv"] + credentials + ["--pdeathsig", deathSignal, "--"] + command
      #endif
      let variables = ProcessInfo.processInfo.environment.merging(environment) { $1 }.map { "\($0)=\($1)" }
      let started = Lock(Result<pid_t, Failure>.success(0))
      ParentThread.shared.run { [words] in
        let result = Self.spawn(words, variables)
        started.withLock { $0 = result }
      }
      identifier = try started.withLock { $0 }.get()
      Thread.detachNewThread { [self] in
        var (information, status) = (siginfo_t(), Int32(0))
        while waitid(P_PID, id_t(identifier), &information, WEXITED | WNOWAIT) < 0, errno == EINTR {}
        isReaped.withLock { isReaped in
          isReaped = true
          waitpid(identifier, &status, 0)
        }
        end.settle(status & 0x7F == 0 ? status >> 8 & 0xFF : -(status & 0x7F))
        hasEnded.signal()
      }
    }

    /// Runs a program to its end.
    static func run(_ command: [String], user: String? = nil, within limit: Duration = .seconds(60)) async throws {
      let process = try TestProcess(command, user: user)
      let code = try await process.ended(within: limit)
      guard code == 0 else { throw Failure(text: "\(command.joined(separator: " ")) ended with \(code)") }
    }

    var isRunning: Bool { end.settled == nil }

    /// Sends a signal, unless the process has ended.
    func signal(_ number: Int32) { isReaped.withLock { if !$0 { kill(identifier, number) } } }

    /// Sends a signal and blocks the thread until the process has ended, for a while at most.
    func finish(with signal: Int32) {
      self.signal(signal)
      _ = hasEnded.wait(timeout: .now() + 20)
    }

    /// Waits for the end and returns the exit code, or the negated number of the signal that caused it.
    func ended(within limit: Duration = .seconds(60)) async throws -> Int32 {
      try await end.value(of: "the end of process \(identifier), \(name)", within: limit)
    }

    private static func spawn(_ words: [String], _ variables: [String]) -> Result<pid_t, Failure> {
      #if canImport(Darwin)
        var actions: posix_spawn_file_actions_t?
      #else
        var actions = posix_spawn_file_actions_t()
      #endif
      posix_spawn_file_actions_init(&actions)
      defer { posix_spawn_file_actions_destroy(&actions) }
      for descriptor in Int32(0)...2 {
        posix_spawn_file_actions_addopen(&actions, descriptor, "/dev/null", O_RDWR, 0)
      }
      var (arguments, environment) = (words.map { strdup($0) } + [nil], variables.map { strdup($0) } + [nil])
      defer { for text in arguments + environment { free(text) } }
      var identifier = pid_t()
      let code = posix_spawnp(&identifier, words[0], &actions, nil, &arguments, &environment)
      return code == 0 ? .success(identifier) : .failure(Failure(text: "\(words) cannot be started (errno \(code))"))
    }
  }

  /// The thread that starts all children: the kernel takes the end of that thread for the parent's.
  private final class ParentThread: Sendable {
    static let shared = ParentThread()

    private let work = Lock<[@Sendable () -> Void]>([])
    private let hasWork = DispatchSemaphore(value: 0)

    private init() {
      Thread.detachNewThread { [self] in
        while true {
          hasWork.wait()
          let next = work.withLock { $0.removeFirst() }
          next()
        }
      }
    }

    func run(_ body: @escaping @Sendable () -> Void) {
      let isDone = DispatchSemaphore(value: 0)
      work.withLock { work in
        work.append {
          body()
          isDone.signal()
        }
      }
      hasWork.signal()
      isDone.wait()
    }
  }
#endif
