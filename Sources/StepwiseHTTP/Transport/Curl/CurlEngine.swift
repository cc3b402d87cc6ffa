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
    private static let eventCapacity = 64

    let loop: CurlLoop
    private let wakeup: Int32
    private let poll: Int32
    private let multi: UnsafeMutableRawPointer?
    private var jobs: [ObjectIdentifier: CurlJob] = [:]
    private var spares: [UnsafeMutableRawPointer] = []
    /// Jobs whose consumers may have something to receive.
    private var touched: [CurlJob] = []
    private var isEnding = false
    /// When to call libcurl next.
    private var alarm: ContinuousClock.Instant?

    init(_ loop: CurlLoop, wakeup: Int32) {
      self.loop = loop
      self.wakeup = wakeup
      poll = stepwise_poll_create()
      multi = stepwise_curl_multi_init()
    }

    func run() {
      guard let multi, poll >= 0, wakeup >= 0, stepwise_poll_watch(poll, wakeup, 1) == 0 else { return refuseAll() }
      let context = Unmanaged.passUnretained(self).toOpaque()
      stepwise_curl_multi_set_callbacks(
        multi,
        { _, descriptor, what, context, _ in
          CurlEngine.at(context)?.watch(descriptor, what)
          return 0
        },
        { _, milliseconds, context in
          CurlEngine.at(context)?.alarm = milliseconds < 0 ? nil : .now.advanced(by: .milliseconds(milliseconds))
          return 0
        },
        context
      )
      let perHost = Int(loop.settings.connectionsPerHost)
      _ = stepwise_curl_multi_set_long(multi, CurlOption.multiMaxHostConnections, perHost)
      // Without this option libcurl keeps four connections for each running transfer.
      _ = stepwise_curl_multi_set_long(multi, CurlOption.multiMaxConnects, max(64, perHost * 4))
      // Transfers that share a connection of HTTP/2, and wait for their consumers, receive each other's bytes (seen with
      // libcurl 7.88; compare curl #10525).
      _ = stepwise_curl_multi_set_long(multi, CurlOption.multiPipelining, 0)
      repeat { turn(multi) } while !isEnding || !jobs.isEmpty
      for easy in spares { stepwise_curl_easy_cleanup(easy) }
      stepwise_curl_multi_cleanup(multi)
      stepwise_close(poll)
    }

    private static func at(_ context: UnsafeMutableRawPointer?) -> CurlEngine? {
      context.map { Unmanaged<CurlEngine>.fromOpaque($0).takeUnretainedValue() }
    }

    /// Refuses all transfers when the system has no descriptors or memory left.
    private func refuseAll() {
      for case .start(let transfer) in loop.takeCommands() {
        transfer.fail(HTTPError.refused(reason: "the system has no descriptors left"))
      }
      loop.lose()
      for case .start(let transfer) in loop.takeCommands() {
        transfer.fail(HTTPError.refused(reason: "the system has no descriptors left"))
      }
      if let multi { stepwise_curl_multi_cleanup(multi) }
      if poll >= 0 { stepwise_close(poll) }
    }

    private func watch(_ descriptor: Int32, _ what: Int32) {
      // libcurl's numbers are those of the shim: 1 to read, 2 to write, 3 for both; 4 is the end.
      _ = stepwise_poll_watch(poll, descriptor, what == 4 ? 0 : what)
    }

    private func turn(_ multi: UnsafeMutableRawPointer) {
      for command in loop.takeCommands() { perform(command, multi) }
      checkAlarm(multi)
      deliver(multi)
      guard !isEnding || !jobs.isEmpty, loop.fallAsleep() else { return }
      withUnsafeTemporaryAllocation(of: stepwise_poll_event.self, capacity: Self.eventCapacity) { events in
        guard let base = events.baseAddress else { return }
        let count = Int(stepwise_poll_wait(poll, base, Int32(Self.eventCapacity), patience))
        loop.wakeUp()
        for event in events.prefix(count) {
          if event.descriptor == wakeup {
            stepwise_wakeup_receive(wakeup)
          } else {
            _ = stepwise_curl_multi_act(multi, event.descriptor, event.events)
          }
        }
      }
      deliver(multi)
    }

    /// How many milliseconds to wait for the network; negative for no limit.
    private var patience: Int32 {
      guard let alarm else { return -1 }
      let left = ContinuousClock.now.duration(to: alarm)
      guard left > .zero else { return 0 }
      // Rounded up, so that the loop does not wake up early for nothing.
      return Int32(clamping: Int64((left / .milliseconds(1)).rounded(.up)))
    }

    private func checkAlarm(_ multi: UnsafeMutableRawPointer) {
      guard let due = alarm, due <= .now else { return }
      alarm = nil
      _ = stepwise_curl_multi_act(multi, CurlValue.timeout, 0)
    }

    private func perform(_ command: CurlLoop.Command, _ multi: UnsafeMutableRawPointer) {
      switch command {
      case .start(let transfer): start(transfer, multi)
      case .cancel(let transfer): if let job = jobs[ObjectIdentifier(transfer)] { remove(job, multi) }
      case .receive(let transfer): jobs[ObjectIdentifier(transfer)]?.continueReceiving()
      case .upload(let transfer, let generation, let result):
        jobs[ObjectIdentifier(transfer)]?.upload?.receive(result, generation: generation)
        jobs[ObjectIdentifier(transfer)]?.continueSending()
      case .end: isEnding = true
      }
    }

    private func start(_ transfer: CurlTransfer, _ multi: UnsafeMutableRawPointer) {
      guard !transfer.inbox.isEnded else { return }
      guard let easy = spares.popLast() ?? stepwise_curl_easy_init() else {
        return transfer.fail(HTTPError.refused(reason: "the system has no memory left"))
      }
      let job = CurlJob(transfer, easy: easy, engine: self)
      do {
        try job.prepare()
      } catch {
        recycle(easy)
        return transfer.fail(error)
      }
      jobs[ObjectIdentifier(transfer)] = job
      if stepwise_curl_multi_add(multi, easy) != 0 {
        jobs[ObjectIdentifier(transfer)] = nil
        recycle(easy)
        transfer.fail(HTTPError.refused(reason: "libcurl takes no further transfer"))
      }
    }

    /// Records that there may be something for the consumer of a job, which is woken at the end of the round.
    func touch(_ job: CurlJob) {
      guard !job.isTouched else { return }
      job.isTouched = true
      touched.append(job)
    }

    /// Ends transfers that are complete, and wakes consumers.
    private func deliver(_ multi: UnsafeMutableRawPointer) {
      var result: Int32 = 0
      while let easy = stepwise_curl_multi_completed(multi, &result) {
        guard let context = stepwise_curl_easy_get_pointer(easy, CurlInfo.privateData) else { continue }
        let job = Unmanaged<CurlJob>.fromOpaque(context).takeUnretainedValue()
        job.complete(result)
        remove(job, multi)
      }
      for job in exchange(&touched, with: []) {
        job.isTouched = false
        if job.transfer.inbox.wake() { job.continueReceiving() }
      }
    }

    private func remove(_ job: CurlJob, _ multi: UnsafeMutableRawPointer) {
      _ = stepwise_curl_multi_remove(multi, job.easy)
      jobs[ObjectIdentifier(job.transfer)] = nil
      job.close()
      recycle(job.easy)
    }

    private func recycle(_ easy: UnsafeMutableRawPointer) {
      guard spares.count < Self.spareHandles else { return stepwise_curl_easy_cleanup(easy) }
      stepwise_curl_easy_reset(easy)
      spares.append(easy)
    }
  }
#endif
