// SPDX-License-Identifier: MIT
// Copyright (c) 2026 Stepwise contributors

#if os(Linux) || os(Android)
  import CurlShim
  import Foundation

  /// The inside of a transport's thread, which is the only user of its libcurl handles.
  ///
  /// It waits for the network, for the time that libcurl requests, and for commands.
  final class CurlEngine {
    /// The number of handles that are reused for later transfers.
    private static let spareHandles = 32

    let loop: CurlLoop
    let sockets: CurlSockets
    private let multi: UnsafeMutableRawPointer
    private var jobs: [ObjectIdentifier: CurlJob] = [:]
    private var queue: CurlQueue
    private var spares: [CurlHandle] = []
    /// Jobs whose consumers may have something to receive.
    private var touched: [CurlJob] = []
    private var isEnding = false
    /// When to call libcurl next.
    private var alarm: ContinuousClock.Instant?

    /// Nil when the system has no descriptors or memory left.
    init?(_ loop: CurlLoop, wakeup: Int32) {
      guard let sockets = CurlSockets(wakeup: wakeup), let multi = stepwise_curl_multi_init() else { return nil }
      self.loop = loop
      self.sockets = sockets
      self.multi = multi
      queue = CurlQueue(limit: loop.settings.connectionsPerHost)
    }

    func run() {
      let context = Unmanaged.passUnretained(self).toOpaque()
      stepwise_curl_multi_set_callbacks(
        multi,
        { _, descriptor, what, context, _ in
          CurlEngine.at(context)?.sockets.watch(descriptor, what)
          return 0
        },
        { _, milliseconds, context in
          CurlEngine.at(context)?.alarm = milliseconds < 0 ? nil : .now.advanced(by: .milliseconds(milliseconds))
          return 0
        },
        context
      )
      // The queue has the same limit, by the host in the URL; libcurl's is by the connection, also to a proxy.
      let perHost = loop.settings.connectionsPerHost
      _ = stepwise_curl_multi_set_long(multi, CurlOption.multiMaxHostConnections, perHost)
      // Without this option libcurl keeps four connections for each running transfer.
      _ = stepwise_curl_multi_set_long(multi, CurlOption.multiMaxConnects, max(64, perHost * 4))
      // Transfers that share a connection of HTTP/2, and wait for their consumers, receive each other's bytes (seen
      // with libcurl 7.88; compare curl #10525).
      _ = stepwise_curl_multi_set_long(multi, CurlOption.multiPipelining, 0)
      repeat { turn() } while !isEnding || !jobs.isEmpty
      spares = []
      stepwise_curl_multi_cleanup(multi)
    }

    private static func at(_ context: UnsafeMutableRawPointer?) -> CurlEngine? {
      context.map { Unmanaged<CurlEngine>.fromOpaque($0).takeUnretainedValue() }
    }

    private func turn() {
      for command in loop.takeCommands() { perform(command) }
      checkAlarm()
      deliver()
      guard !isEnding || !jobs.isEmpty, loop.fallAsleep() else { return }
      sockets.wait(patience, wakened: loop.wakeUp) { descriptor, events in
        _ = stepwise_curl_multi_act(multi, descriptor, events)
      }
      deliver()
    }

    /// How many milliseconds to wait for the network; negative for no limit.
    private var patience: Int32 {
      guard let alarm else { return -1 }
      let left = ContinuousClock.now.duration(to: alarm)
      guard left > .zero else { return 0 }
      // Rounded up, so that the loop does not wake up early for nothing.
      return Int32(clamping: Int64((left / .milliseconds(1)).rounded(.up)))
    }

    private func checkAlarm() {
      guard let due = alarm, due <= .now else { return }
      alarm = nil
      _ = stepwise_curl_multi_act(multi, CurlValue.timeout, 0)
    }

    private func perform(_ command: CurlLoop.Command) {
      switch command {
      case .start(let transfer): start(transfer)
      case .cancel(let transfer):
        if let job = jobs[ObjectIdentifier(transfer)] {
          remove(job)
        } else {
          queue.remove(transfer, from: transfer.host)
        }
      case .receive(let transfer): jobs[ObjectIdentifier(transfer)]?.continueReceiving()
      case .upload(let transfer, let generation, let result):
        jobs[ObjectIdentifier(transfer)]?.upload?.receive(result, generation: generation)
        jobs[ObjectIdentifier(transfer)]?.continueSending()
      case .end: isEnding = true
      }
    }

    private func start(_ transfer: CurlTransfer) {
      guard !transfer.inbox.isEnded, queue.add(transfer, to: transfer.host), !begin(transfer) else { return }
      startNext(to: transfer.host)
    }

    /// Starts a waiting transfer in place of one that has ended.
    private func startNext(to host: String) {
      while let next = queue.next(for: host), !begin(next) {}
    }

    /// Returns whether the transfer runs.
    private func begin(_ transfer: CurlTransfer) -> Bool {
      guard !transfer.inbox.isEnded else { return false }
      guard let handle = spares.popLast() ?? CurlHandle() else {
        transfer.fail(HTTPError.refused(reason: "the system has no memory left"))
        return false
      }
      do {
        let job = try CurlJob(transfer, handle: handle, engine: self)
        do {
          try handle.prepare(job)
          guard stepwise_curl_multi_add(multi, handle.easy) == 0 else {
            throw HTTPError.refused(reason: "libcurl takes no further transfer")
          }
        } catch {
          job.close()
          throw error
        }
        jobs[ObjectIdentifier(transfer)] = job
        return true
      } catch {
        recycle(handle)
        transfer.fail(error)
        return false
      }
    }

    /// Records that there may be something for the consumer of a job, which is woken at the end of the round.
    func touch(_ job: CurlJob) {
      guard !job.isTouched else { return }
      job.isTouched = true
      touched.append(job)
    }

    /// Ends transfers that are complete, and wakes consumers.
    private func deliver() {
      var result: Int32 = 0
      while let easy = stepwise_curl_multi_completed(multi, &result) {
        guard let job = CurlHandle.at(stepwise_curl_easy_get_pointer(easy, CurlInfo.privateData))?.job else { continue }
        job.complete(result)
        remove(job)
      }
      for job in exchange(&touched, with: []) {
        job.isTouched = false
        if job.transfer.inbox.wake() { job.continueReceiving() }
      }
    }

    private func remove(_ job: CurlJob) {
      _ = stepwise_curl_multi_remove(multi, job.handle.easy)
      jobs[ObjectIdentifier(job.transfer)] = nil
      job.close()
      recycle(job.handle)
      startNext(to: job.transfer.host)
    }

    private func recycle(_ handle: CurlHandle) {
      handle.release()
      if spares.count < Self.spareHandles { spares.append(handle) }
    }
  }
#endif
