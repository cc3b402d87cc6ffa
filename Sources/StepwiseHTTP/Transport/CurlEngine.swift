// SPDX-License-Identifier: MIT
// Copyright (c) 2026 Stepwise contributors

#if os(Linux) || os(Android)
  import CurlShim
  import Foundation
  import Stepwise

  /// The thread of a transport, as other threads see it: they send it commands.
  final class CurlLoop: Sendable {
    /// What the thread does next; there is no engine when the system has no memory or descriptors left.
    typealias Command = @Sendable (CurlEngine?) -> Void

    private struct State {
      var commands: [Command] = []
      /// The descriptor that wakes the thread, while it waits for the network.
      var wakeup: Int32?
      var hasThread = false
      var isEnding = false
    }

    let settings: CurlSettings
    private let state = Lock(State())

    init(settings: CurlSettings) { self.settings = settings }

    /// Makes the thread perform a command; returns false when it would start a transfer and the thread is ending.
    @discardableResult
    func send(startsTransfer: Bool = false, _ command: @escaping Command) -> Bool {
      let (isSent, begins) = state.withLock { state in
        if startsTransfer, state.isEnding { return (false, false) }
        let begins = startsTransfer && !exchange(&state.hasThread, with: true)
        // Without a thread no work has started that the command could concern.
        if state.hasThread { state.commands.append(command) }
        // Within the lock, because the thread may close it once it is awake.
        if let wakeup = state.wakeup.take() { eventfd_write(wakeup, 1) }
        return (true, begins)
      }
      if begins {
        let thread = Thread { self.runThread() }
        thread.name = "StepwiseHTTP"
        thread.start()
      }
      return isSent
    }

    /// Ends the thread once the transfers that have started are complete.
    func end() {
      state.withLock { $0.isEnding = true }
      send { engine in engine?.isEnding = true }
    }

    private func runThread() {
      CurlEngine(self)?.run()
      let commands = state.withLock { state in
        state.hasThread = false
        return exchange(&state.commands, with: [])
      }
      // An engine has performed those that start transfers; without one, the next transfer tries again.
      for command in commands { command(nil) }
    }

    /// Removes and returns the commands, in order; the thread is awake.
    func takeCommands() -> [Command] {
      state.withLock { state in
        state.wakeup = nil
        return exchange(&state.commands, with: [])
      }
    }

    /// Returns whether the thread may wait for the network, because there are no commands; the descriptor wakes it.
    func fallAsleep(until wakeup: Int32) -> Bool {
      state.withLock { state in
        if state.commands.isEmpty { state.wakeup = wakeup }
        return state.commands.isEmpty
      }
    }
  }

  /// The inside of a transport's thread, which is the only user of its libcurl handles.
  final class CurlEngine {
    /// The number of handles that are reused for later transfers.
    ///
    /// From 7.83 to 8.0, libcurl reads a first header line that begins with a space as the continuation of the last line
    /// on the same handle, and frees the memory of that line twice (curl #11101).
    private static let spareHandles = (0x07_53_00..<0x08_01_00).contains(stepwise_curl_version()) ? 0 : 32

    /// The transfers to a host.
    ///
    /// libcurl has the same limit, but prepares a transfer completely before it finds that it must wait, and again.
    private struct Host {
      var running = 0
      /// How many of these are cancelled, and wait for the look-up of the host's name.
      var lookUps = 0
      /// Those that wait until fewer run.
      var waiting: [CurlTransfer] = []
    }

    /// From how many cancelled look-ups on a name that is not known to be found waits.
    private static let lookUpLimit = 64

    let loop: CurlLoop
    let sockets: CurlSockets
    private let multi: UnsafeMutableRawPointer
    /// What the handles share: the sessions of TLS.
    let share: UnsafeMutableRawPointer?
    private(set) var jobs: [ObjectIdentifier: CurlJob] = [:]
    private var hosts: [String: Host] = [:]
    private let connectionsPerHost: Int
    private var spares: [CurlHandle] = []
    /// Jobs whose consumers may have something to receive.
    private var touched: [CurlJob] = []
    var isEnding = false
    /// The number of cancelled jobs whose host's name is still being looked up, each by a thread of libcurl that cannot be
    /// stopped.
    private var lookUps = 0
    /// Some of the hosts that there were connections to.
    private var found: Set<String> = []

    /// Nil when the system has no descriptors or memory left.
    init?(_ loop: CurlLoop) {
      guard let sockets = CurlSockets(), let multi = stepwise_curl_multi_create() else { return nil }
      self.loop = loop
      self.sockets = sockets
      self.multi = multi
      share = stepwise_curl_share_sessions()
      connectionsPerHost = min(max(1, loop.settings.connectionsPerHost), 65_536)
      // The engine has the same limit, by the host in the URL; libcurl's is by the connection, also to a proxy.
      stepwise_curl_multi_set_number(multi, curlopt_multiMaxHostConnections, connectionsPerHost)
      // Without this option libcurl keeps four connections for each running transfer.
      stepwise_curl_multi_set_number(multi, curlopt_multiMaxConnects, max(64, connectionsPerHost * 4))
      // Transfers that share a connection of HTTP/2, and wait for their consumers, receive each other's bytes (seen
      // with libcurl 7.88; compare curl #10525).
      stepwise_curl_multi_set_number(multi, curlopt_multiPipelining, 0)
      stepwise_curl_multi_watch(multi, Unmanaged.passUnretained(sockets).toOpaque()) { _, socket, what, context, _ in
        context.map { Unmanaged<CurlSockets>.fromOpaque($0).takeUnretainedValue() }?.watch(socket, what)
        return 0
      }
    }

    func run() {
      repeat { turn() } while isWorking
      for job in jobs.values { remove(job) }
      spares = []
      _ = stepwise_curl_multi_cleanup(multi)
      if let share { _ = stepwise_curl_share_cleanup(share) }
    }

    private var isWorking: Bool { !isEnding || jobs.count > lookUps || hosts.values.contains { !$0.waiting.isEmpty } }

    /// Performs commands, lets libcurl work, wakes consumers, and waits for the network or a command.
    private func turn() {
      for command in loop.takeCommands() { command(self) }
      repeat {
        if patience == 0 { _ = stepwise_curl_multi_act(multi, -1, 0) }
      } while complete()
      // Continuing a transfer may deliver what libcurl has stored.
      while !touched.isEmpty { deliver() }
      guard isWorking else { return }
      sockets.wait(loop.fallAsleep(until: sockets.wakeup) ? patience : 0) { descriptor, events in
        _ = stepwise_curl_multi_act(multi, descriptor, events)
      }
    }

    /// How many milliseconds to wait for the network at most, as libcurl wants; negative for no limit.
    private var patience: Int32 {
      var milliseconds = -1
      _ = stepwise_curl_multi_timeout(multi, &milliseconds)
      return Int32(clamping: milliseconds)
    }

    func start(_ transfer: CurlTransfer) {
      guard !transfer.inbox.isEnded else { return }
      hosts[transfer.host, default: Host()].waiting.append(transfer)
      startWaiting(for: transfer.host)
      // The deadlines count the wait for a name server.
      guard let host = hosts[transfer.host], host.waiting.last === transfer, host.lookUps == 0, mayLookUp(transfer)
      else { return }
      transfer.request.onWait?(true)
    }

    /// Returns whether there is no limit on look-ups in the way of a transfer.
    private func mayLookUp(_ transfer: CurlTransfer) -> Bool {
      lookUps < Self.lookUpLimit || transfer.hasAddress || found.contains(transfer.host)
    }

    /// Starts the transfers that wait for a host, as far as the limits allow.
    private func startWaiting(for name: String) {
      guard let index = hosts.index(forKey: name) else { return }
      while hosts.values[index].running < connectionsPerHost, let next = hosts.values[index].waiting.first,
        mayLookUp(next)
      {
        if begin(hosts.values[index].waiting.removeFirst()) { hosts.values[index].running += 1 }
      }
      if hosts.values[index].running == 0, hosts.values[index].waiting.isEmpty { hosts.remove(at: index) }
    }

    /// Ends a transfer, or lets its job keep its slot until its host's name has been looked up, after which it fails.
    ///
    /// So a name has as many look-ups at once as its host may have connections. They delay no host that was found before.
    /// One that may use a proxy may wait for something else.
    func cancel(_ transfer: CurlTransfer) {
      guard let job = jobs[ObjectIdentifier(transfer)] else {
        hosts[transfer.host]?.waiting.removeAll { $0 === transfer }
        return
      }
      guard job.isLookingUp, !loop.settings.mayHaveProxy else { return remove(job) }
      job.isCancelled = true
      lookUps += 1
      hosts[transfer.host]?.lookUps += 1
      // From here on the deadlines count, as the wait is for a name server.
      for (name, host) in hosts where name == transfer.host || lookUps == Self.lookUpLimit && !found.contains(name) {
        for waiting in host.waiting { waiting.request.onWait?(false) }
      }
    }

    /// Returns whether the transfer runs.
    private func begin(_ transfer: CurlTransfer) -> Bool {
      guard !transfer.inbox.isEnded else { return false }
      transfer.request.onWait?(false)
      do {
        let handle = try spares.popLast() ?? CurlHandle(self)
        let job = try CurlJob(transfer, handle: handle, engine: self)
        try handle.prepare(job)
        guard stepwise_curl_multi_add_handle(multi, handle.easy) == 0 else {
          throw HTTPError.refused(reason: "libcurl takes no further transfer")
        }
        handle.job = job
        jobs[ObjectIdentifier(transfer)] = job
        return true
      } catch {
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
        let context = stepwise_curl_easy_get_pointer(easy, curlinfo_privateData)
        guard let job = CurlHandle.job(context), !restart(job, after: result) else { continue }
        job.complete(result)
        remove(job)
      }
      return isAny
    }

    /// Wakes consumers.
    private func deliver() {
      for job in exchange(&touched, with: []) {
        job.isTouched = false
        if job.upload?.isRefused == true { job.resume(CurlValue.pauseSending) }
        if job.transfer.inbox.wake() { job.resume(CurlValue.pauseReceiving) }
      }
    }

    /// Starts a job again on a new connection, if it may.
    private func restart(_ job: CurlJob, after result: Int32) -> Bool {
      guard job.mayRestart(after: result) else { return false }
      _ = stepwise_curl_multi_remove_handle(multi, job.handle.easy)
      // A new one: the old one may believe that the body was sent, and counts how often it has sent a request again.
      guard let handle = try? CurlHandle(self), (try? handle.prepare(job)) != nil,
        (try? handle.set(curlopt_freshConnect, 1)) != nil, stepwise_curl_multi_add_handle(multi, handle.easy) == 0
      else { return false }
      job.handle.job = nil
      job.handle = handle
      handle.job = job
      return true
    }

    private func remove(_ job: CurlJob) {
      let handle = job.handle
      _ = stepwise_curl_multi_remove_handle(multi, handle.easy)
      jobs[ObjectIdentifier(job.transfer)] = nil
      job.close()
      handle.job = nil
      // A handle gives up after it has sent five requests again, over all its transfers.
      if spares.count < Self.spareHandles, !job.mayBeRepeated || (try? handle.reset(self)) != nil {
        spares.append(handle)
      }
      hosts[job.transfer.host]?.running -= 1
      if job.hasConnection {
        if found.count > 1_000 { found = [] }
        found.insert(job.transfer.host)
      }
      if job.isCancelled {
        lookUps -= 1
        hosts[job.transfer.host]?.lookUps -= 1
      }
      // Where there were too many look-ups, transfers to any host wait.
      for host in job.isCancelled ? Array(hosts.keys) : [job.transfer.host] { startWaiting(for: host) }
    }
  }

  /// The sockets of a transport's connections, and what its thread waits for.
  ///
  /// `curl_multi_perform` and `curl_multi_poll` look at every transfer in each round, also at those that only wait: beside
  /// a thousand of them a small request takes 29 ms with libcurl 7.88, and 0.3 ms this way.
  ///
  /// libcurl forgets the socket of a connection after each transfer and watches it again for the next one. The system
  /// keeps watching it here until it closes, or until it has something that no transfer waits for, which saves two
  /// calls per request.
  final class CurlSockets {
    private struct Socket {
      /// What the system watches it for; 0 for nothing.
      var watched: Int32 = 0
      /// What libcurl wants to wait for.
      var wanted: Int32 = 0
      /// The job for which libcurl has opened the connection; nil for other descriptors.
      var opener: ObjectIdentifier?
      /// The hash of the connection's two ends, once a transfer has used it.
      var ends: Int?

      mutating func watch(_ what: Int32, by poll: Int32, _ descriptor: Int32) {
        // EPOLLIN is 1, EPOLLOUT is 4; their types depend on the C library.
        var event = epoll_event(events: UInt32(what & 1 | (what & 2) << 1), data: epoll_data(fd: descriptor))
        let operation = what == 0 ? EPOLL_CTL_DEL : watched == 0 ? EPOLL_CTL_ADD : EPOLL_CTL_MOD
        if epoll_ctl(poll, operation, descriptor, &event) != 0, errno == ENOENT, operation == EPOLL_CTL_MOD {
          // A descriptor that was closed is forgotten already, and its number may be another's.
          epoll_ctl(poll, EPOLL_CTL_ADD, descriptor, &event)
        }
        watched = what
      }
    }

    private static let eventCapacity = 64

    /// Wakes the thread when it is written to.
    let wakeup = eventfd(0, O_CLOEXEC | O_NONBLOCK)
    private let poll = epoll_create1(O_CLOEXEC)
    private var sockets: [Int32: Socket] = [:]
    private var connections: [Int: Int32] = [:]

    /// Nil when the system has no descriptors left.
    init?() {
      // EPOLLIN with EPOLLET: it wakes the thread with each write, and is never read.
      var event = epoll_event(events: 1 | 1 << 31, data: epoll_data(fd: wakeup))
      guard epoll_ctl(poll, EPOLL_CTL_ADD, wakeup, &event) == 0 else { return nil }
    }

    deinit { for descriptor in [wakeup, poll] where descriptor >= 0 { close(descriptor) } }

    /// libcurl has opened a connection for a job.
    func add(_ descriptor: Int32, for job: ObjectIdentifier) { sockets[descriptor] = Socket(opener: job) }

    /// Returns the connection that libcurl has chosen for a job, if it was used for HTTP/1 before.
    func reused(_ ends: Int, by job: ObjectIdentifier, opened: [Int32]) -> Int32? {
      guard let new = opened.last(where: { sockets[$0]?.opener == job }) else { return connections[ends] }
      connections[ends] = new
      sockets[new]?.ends = ends
      return nil
    }

    /// A connection speaks HTTP/2, in which each response names its request.
    func recordHTTP2(_ ends: Int) { connections[ends] = nil }

    /// libcurl closes a descriptor, whose number the system uses again.
    func remove(_ descriptor: Int32) {
      guard var socket = sockets.removeValue(forKey: descriptor) else { return }
      // Where a child process shares it, closing does not end this.
      if socket.watched != 0 { socket.watch(0, by: poll, descriptor) }
      if let ends = socket.ends, connections[ends] == descriptor { connections[ends] = nil }
    }

    /// Waits for a descriptor as libcurl wants: 1 to read, 2 to write, 3 for both, 4 for nothing any more.
    func watch(_ descriptor: Int32, _ what: Int32) {
      var socket = sockets[descriptor, default: Socket()]
      socket.wanted = what == 4 ? 0 : what
      if socket.opener == nil || socket.wanted != 0 && socket.wanted != socket.watched {
        socket.watch(socket.wanted, by: poll, descriptor)
      }
      sockets[descriptor] = socket.opener == nil && socket.wanted == 0 ? nil : socket
    }

    /// Waits for the network; calls the closure for each descriptor that libcurl waits for.
    ///
    /// - Parameters:
    ///   - milliseconds: How long to wait; negative for no limit.
    ///   - act: Called with a descriptor and its state: readable (1), writable (2), broken (4).
    func wait(_ milliseconds: Int32, act: (_ descriptor: Int32, _ events: Int32) -> Void) {
      withUnsafeTemporaryAllocation(of: epoll_event.self, capacity: Self.eventCapacity) { events in
        let count = epoll_wait(poll, events.baseAddress, Int32(Self.eventCapacity), milliseconds)
        // Fewer than none when a signal has ended the wait.
        for event in events.prefix(max(0, Int(count))) {
          let (descriptor, state) = (event.data.fd, Int32(bitPattern: event.events))
          if let wanted = sockets[descriptor]?.wanted, wanted != 0 {
            // EPOLLERR is 8, EPOLLHUP is 16.
            act(descriptor, state & 1 | (state & 4) >> 1 | (state & 24 == 0 ? 0 : 4))
          } else {
            sockets[descriptor]?.watch(0, by: poll, descriptor)
          }
        }
      }
    }
  }
#endif
