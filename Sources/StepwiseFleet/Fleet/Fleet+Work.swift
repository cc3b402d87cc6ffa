// SPDX-License-Identifier: MIT
// Copyright (c) 2026 Stepwise contributors

#if Postgres
  import Dispatch
  public import Stepwise

  #if canImport(Darwin)
    import Darwin
  #elseif canImport(Glibc)
    import Glibc
  #elseif canImport(Musl)
    import Musl
  #endif

  extension Fleet {
    /// Runs the fleet's jobs in this process until the token, or the calling Task, is cancelled.
    ///
    /// Then the worker drains: it claims no further job, each stage in progress may end within the drain limit and is
    /// saved, and the jobs return to the queue. Stages that take longer are cancelled. This returns when no stage runs
    /// here any more, so that a stage that ignores cancellation delays it.
    ///
    /// While the server cannot be reached, stages run on until the lease is over; then they are cancelled, and the
    /// worker registers again when it can.
    ///
    /// - Parameter token: The token that begins the drain.
    /// - Throws: ``PostgresError`` when the server cannot be reached at first, or refuses the tables or the end of the
    ///   registration.
    @concurrent public func work(until token: CancellationToken = CancellationToken()) async throws {
      let registrations = registrations.withLock { $0 }
      try await FleetWorker(self, registrations).run(until: token)
    }

    /// Returns a token that SIGTERM or SIGINT cancels, instead of ending the process.
    ///
    /// A signal that arrives after this has returned is not lost.
    ///
    /// - Returns: The token, to be passed to ``work(until:)``.
    public static func terminationToken() -> CancellationToken {
      let token = CancellationToken()
      for number in [SIGTERM, SIGINT] {
        #if canImport(Darwin)
          // On Linux the source handles the signal, so that no handler may be set.
          signal(number, SIG_IGN)
        #endif
        let source = DispatchSource.makeSignalSource(signal: number, queue: DispatchQueue(label: "stepwise.signals"))
        let isListening = DispatchSemaphore(value: 0)
        // The handler retains the source, which lives as long as the process.
        source.setEventHandler {
          withExtendedLifetime(source) { _ = token.cancel(reason: "The process received signal \(number).") }
        }
        source.setRegistrationHandler { isListening.signal() }
        source.resume()
        isListening.wait()
      }
      return token
    }
  }
#endif
