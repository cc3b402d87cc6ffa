// SPDX-License-Identifier: MIT
// Copyright (c) 2026 Stepwise contributors

#if os(Linux) || os(Android)
  import CurlShim
  import Foundation
  import Stepwise

  /// The inside of a transport's thread, which is the only user of its libcurl handles.
  final class CurlEngine {
    /// The number of handles that are reused for later transfers.
    private static let spareHandles = 32
    private static let lookUpLimit = 64

    let loop: CurlLoop
    let sockets: CurlSockets
    private let multi: UnsafeMutableRawPointer
    private var jobs: [ObjectIdentifier: CurlJob] = [:]
    private var queue: CurlQueue
    private var spares: [CurlHandle] = []
    /// Jobs whose consumers may have something to receive.
    private var touched: [CurlJob] = []
    private var isEnding = false
    /// Cancelled jobs whose host's name is still being looked up, each by a thread of libcurl that cannot be stopped.
    private var lookUps: [CurlJob] = []
    /// Transfers that wait until there are fewer of them.
    private var delayed: ArraySlice<CurlTransfer> = []
    /// The number of rounds of the thread.
    private var round = 0
    /// When to call libcurl next.
    private var alarm: ContinuousClock.Instant?

    /// Nil when the system has no descriptors or memory left.
    init?(_ loop: CurlLoop) {
      guard let sockets = CurlSockets(wakeup: loop.wakeup), let multi = stepwise_curl_multi_init() else { return nil }
      self.loop = loop
      self.sockets = sockets
      self.multi = multi
      let perHost = loop.settings.connectionsPerHost
      queue = CurlQueue(limit: perHost)
      // The queue has the same limit, by the host in the URL; libcurl's is by the connection, also to a proxy.
      _ = stepwise_curl_multi_set_long(multi, curlopt_multiMaxHostConnections, perHost)
      // Without this option libcurl keeps four connections for each running transfer.
      _ = stepwise_curl_multi_set_long(multi, curlopt_multiMaxConnects, max(64, perHost * 4))
      // Transfers that share a connection of HTTP/2, and wait for their consumers, receive each other's bytes (seen
      // with libcurl 7.88; compare curl #10525).
      _ = stepwise_curl_multi_set_long(multi, curlopt_multiPipelining, 0)
      let watch: CurlCallback.Socket = { _, descriptor, what, context, _ in
        CurlEngine.at(context)?.sockets.watch(descriptor, what)
        return 0
      }
      let schedule: CurlCallback.Timer = { _, milliseconds, context in
        CurlEngine.at(context)?.alarm = milliseconds < 0 ? nil : .now.advanced(by: .milliseconds(milliseconds))
        return 0
      }
      let context = Unmanaged.passUnretained(self).toOpaque()
      // Safety: a function of C is a pointer.
      for (option, value) in [
        (curlopt_multiSocketFunction, unsafeBitCast(watch, to: UnsafeMutableRawPointer.self)),
        (curlopt_multiTimerFunction, unsafeBitCast(schedule, to: UnsafeMutableRawPointer.self)),
        (curlopt_multiSocketData, context), (curlopt_multiTimerData, context),
      ] {
        _ = stepwise_curl_multi_set_pointer(multi, option, value)
      }
    }

    private static func at(_ context: UnsafeMutableRawPointer?) -> CurlEngine? {
      context.map { Unmanaged<CurlEngine>.fromOpaque($0).takeUnretainedValue() }
    }

    func run() {
      repeat {
        repeat { turn() } while isWorking
        // Others may have waited for the slot of a cancelled one.
        for job in lookUps { remove(job) }
      } while isWorking
      spares = []
      _ = stepwise_curl_multi_cleanup(multi)
    }

    private var isWorking: Bool { !isEnding || jobs.count > lookUps.count || !delayed.isEmpty }

    /// Performs commands, lets libcurl work, wakes consumers, and waits for the network or a command.
    private func turn() {
      round += 1
      endLookUps()
      for command in loop.takeCommands() { perform(command) }
      repeat { checkAlarm() } while complete()
      // Continuing a transfer may deliver what libcurl has stored.
      while !touched.isEmpty { deliver() }
      guard isWorking else { return }
      sockets.wait(loop.fallAsleep() ? patience : 0) { descriptor, events in
        _ = stepwise_curl_multi_act(multi, descriptor, events)
      }
    }

    /// How many milliseconds to wait for the network; negative for no limit.
    private var patience: Int32 {
      guard let alarm else { return -1 }
      let left = ContinuousClock.now.duration(to: alarm)
      // Rounded up, so that the loop does not wake up early for nothing.
      return left > .zero ? Int32(clamping: Int64((left / .milliseconds(1)).rounded(.up))) : 0
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
          cancel(job)
        } else if let index = delayed.firstIndex(where: { $0 === transfer }) {
          delayed.remove(at: index)
          startNext(to: transfer.host)
        } else {
          queue.remove(transfer, from: transfer.host)
        }
      case .receive(let transfer): jobs[ObjectIdentifier(transfer)]?.continueReceiving()
      case .upload(let transfer, let result):
        jobs[ObjectIdentifier(transfer)]?.upload?.receive(result)
        jobs[ObjectIdentifier(transfer)]?.continueSending()
      case .end: isEnding = true
      }
    }

    private func start(_ transfer: CurlTransfer) {
      guard !transfer.inbox.isEnded else { return }
      if queue.add(transfer, to: transfer.host), !begin(transfer) { startNext(to: transfer.host) }
    }

    /// Starts a waiting transfer in place of one that has ended.
    private func startNext(to host: String) {
      while let next = queue.next(for: host), !begin(next) {}
    }

    /// Ends a cancelled job, or lets it keep its slot until its host's name has been looked up.
    ///
    /// A job of this round has not started its look-up, and one that may use a proxy may wait for something else.
    private func cancel(_ job: CurlJob) {
      guard job.round < round, job.isLookingUp, !loop.settings.mayHaveProxy else { return remove(job) }
      job.isCancelled = true
      lookUps.append(job)
    }

    /// Ends the cancelled jobs whose look-up is over.
    private func endLookUps() {
      for job in lookUps where !job.isLookingUp { remove(job) }
    }

    /// Returns whether the transfer runs.
    private func begin(_ transfer: CurlTransfer) -> Bool {
      guard !transfer.inbox.isEnded else { return false }
      if lookUps.count >= Self.lookUpLimit {
        delayed.append(transfer)
        return true
      }
      transfer.request.onWait?(false)
      guard let handle = spares.popLast() ?? CurlHandle() else {
        transfer.fail(HTTPError.refused(reason: "the system has no memory left"))
        return false
      }
      do {
        let job = try CurlJob(transfer, handle: handle, engine: self)
        try handle.prepare(job)
        guard stepwise_curl_multi_add_handle(multi, handle.easy) == 0 else {
          throw HTTPError.refused(reason: "libcurl takes no further transfer")
        }
        job.round = round
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

    /// Ends transfers that are complete, and starts others in their place; returns whether there were any.
    private func complete() -> Bool {
      var (result, isAny): (Int32, Bool) = (0, false)
      while let easy = stepwise_curl_multi_completed(multi, &result) {
        isAny = true
        guard let job = CurlHandle.running(easy), !restart(job) else { continue }
        job.complete(result)
        remove(job)
      }
      return isAny
    }

    /// Wakes consumers.
    private func deliver() {
      for job in exchange(&touched, with: []) {
        job.isTouched = false
        if job.transfer.inbox.wake() { job.continueReceiving() }
      }
    }

    /// Starts a job again on a new connection, if it has refused its connection before it sent anything.
    private func restart(_ job: CurlJob) -> Bool {
      guard job.hasRefusedConnection else { return false }
      job.hasRefusedConnection = false
      _ = stepwise_curl_multi_remove_handle(multi, job.handle.easy)
      job.handle.requireNewConnection()
      return stepwise_curl_multi_add_handle(multi, job.handle.easy) == 0
    }

    private func remove(_ job: CurlJob) {
      _ = stepwise_curl_multi_remove_handle(multi, job.handle.easy)
      jobs[ObjectIdentifier(job.transfer)] = nil
      if job.isCancelled { lookUps.removeAll { $0 === job } }
      job.close()
      recycle(job.handle)
      startNext(to: job.transfer.host)
      while lookUps.count < Self.lookUpLimit, let next = delayed.popFirst() {
        if !begin(next) { startNext(to: next.host) }
      }
    }

    private func recycle(_ handle: CurlHandle) {
      handle.release()
      if spares.count < Self.spareHandles { spares.append(handle) }
    }
  }

  /// One transfer on the thread of its transport.
  final class CurlJob {
    let transfer: CurlTransfer
    let handle: CurlHandle
    unowned let engine: CurlEngine
    let upload: CurlUpload?
    var isTouched = false
    /// The round in which it began.
    var round = 0
    /// Whether it remains only until the look-up of its host's name is over.
    var isCancelled = false
    /// The sockets that libcurl has opened for it, of which it may have closed some.
    private var opened: [Int32] = []
    /// The socket of its connection.
    var connection: Int32?
    /// Whether it has refused a connection on which something had arrived before its request.
    var hasRefusedConnection = false
    private var parser: HTTPHeadParser
    /// Whether the body has a content encoding that was not offered.
    private var refusesBody = false
    /// What ended the transfer from one of the callbacks.
    private var failure: (any Error)?
    /// Which directions wait for the consumer or for the source of the body.
    private var pauses: Int32 = 0

    init(_ transfer: CurlTransfer, handle: CurlHandle, engine: CurlEngine) throws {
      self.transfer = transfer
      self.handle = handle
      self.engine = engine
      parser = HTTPHeadParser(limit: transfer.request.headerLimit)
      isIdempotent = transfer.request.isIdempotent
      upload = try transfer.request.body.map { body in
        try CurlUpload(body.content) { [loop = engine.loop] result in
          loop.send(.upload(transfer, result))
        }
      }
    }

    /// Closes what the transfer has opened itself; the handle may be another transfer's from now on.
    func close() {
      pauses = 0
      upload?.close()
    }

    func receiveHeader(_ bytes: UnsafeRawBufferPointer) -> Int {
      switch parser.take(bytes) {
      case .more: break
      case .head(let head): receive(head)
      case .tooLarge:
        failure = HTTPError.headersTooLarge(limit: transfer.request.headerLimit)
        return 0
      }
      return bytes.count
    }

    /// libcurl has opened a connection for this job.
    func open(_ descriptor: Int32) {
      engine.sockets.add(descriptor, for: ObjectIdentifier(self))
      opened.append(descriptor)
    }

    /// Returns whether the request may be sent on the connection that libcurl has chosen.
    ///
    /// libcurl would take what has arrived on an idle connection for the response, and pass all later ones to the wrong
    /// requests. It cannot be seen before: libcurl also stops waiting for connections that transfers are reading from.
    func allows(_ ends: Int) -> Bool {
      let found = engine.sockets.connection(ends, of: ObjectIdentifier(self), opened: opened)
      guard let (descriptor, isReused) = found else { return true }
      connection = descriptor
      hasRefusedConnection = isReused && stepwise_curl_has_input(handle.easy, descriptor) != 0
      return !hasRefusedConnection
    }

    private func receive(_ head: HTTPResponseHead) {
      refusesBody = head.hasUnknownEncoding
      if parser.isHTTP2, let connection { engine.sockets.recordHTTP2(connection) }
      transfer.inbox.update { $0.receive(head) }
      engine.touch(self)
    }

    func receiveBody(_ bytes: UnsafeRawBufferPointer) -> Int {
      guard !refusesBody else { return 0 }
      let isTaken = transfer.inbox.update { $0.offer(bytes) }
      engine.touch(self)
      if isTaken { return bytes.count }
      pauses |= CurlValue.pauseReceiving
      return CurlValue.pause
    }

    /// Whether the name of the host is being looked up.
    var isLookingUp: Bool { stepwise_curl_easy_get_number(handle.easy, CurlInfo.nameLookupTime) == 0 }

    func continueReceiving() { resume(CurlValue.pauseReceiving) }

    func continueSending() { resume(CurlValue.pauseSending) }

    private func resume(_ direction: Int32) {
      guard pauses & direction != 0 else { return }
      pauses &= ~direction
      _ = stepwise_curl_easy_pause(handle.easy, pauses)
    }

    func send(_ buffer: UnsafeMutableRawBufferPointer) -> Int {
      switch upload?.read(into: buffer) ?? .bytes(0) {
      case .bytes(let count):
        if count > 0, let upload { transfer.request.onBytesSent?(upload.sent) }
        return count
      case .wait:
        pauses |= CurlValue.pauseSending
        return CurlValue.pause
      case .failure(let error):
        failure = error
        return CurlValue.abort
      }
    }

    /// Whether the request may be sent again on another connection.
    let isIdempotent: Bool

    func seek(to offset: Int64, from origin: Int32) -> Int32 {
      guard origin == SEEK_SET, isIdempotent, upload?.seek(to: offset) ?? true else { return CurlValue.seekImpossible }
      return CurlValue.seekDone
    }

    func complete(_ code: Int32) {
      // libcurl takes a head that ends early for a response.
      if refusesBody, code != 0, failure == nil {
        failure = HTTPError.protocolError(reason: "its body has a content encoding that was not offered")
      }
      let end = parser.isCut ? TransferFailure.cutHead : nil
      let error: (any Error)? = if code == 0 { end } else { failure ?? self.error(code) }
      transfer.inbox.update { $0.complete(error) }
      engine.touch(self)
    }
  }
#endif
