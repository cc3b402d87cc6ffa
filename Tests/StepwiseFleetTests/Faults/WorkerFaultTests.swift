// SPDX-License-Identifier: MIT
// Copyright (c) 2026 Stepwise contributors

#if Postgres
  import FleetWorkerChild
  import Foundation
  import Stepwise
  @testable import StepwiseFleet
  import Testing

  @Suite(.serialized, .timeLimit(.minutes(5)), .enabled(if: server != nil, "STEPWISE_POSTGRES names no server"))
  struct WorkerFaultTests {
    let test = TestFleet()

    /// What the last stage of an undisturbed run has.
    private func undisturbed(_ work: CrashWork) async throws -> UInt64 {
      var work = work
      work.journal = "/dev/null"
      while work.result == nil { work = try await work.next() }
      return try #require(work.result)
    }

    @Test
    func `A killed worker's jobs are done elsewhere, each with its result`() async throws {
      let fleet = test.fleet()
      let workers = WorkerProcesses(server ?? "", schema: test.schema, lease: 1, slots: 2)
      let work = workers.work()
      try await fleet.enqueue((0..<400).map { (id: "\($0)", progression: work) })
      for _ in 0..<4 { try workers.launch() }
      var (kills, total) = (0, 400)
      try await waitUntil("200 workers are killed; there are \(kills)", within: .seconds(300)) {
        // Workers that have nothing to do are not worth a kill.
        if try await fleet.counts()[.done] == total {
          try await fleet.enqueue((0..<100).map { (id: "\(total + $0)", progression: work) })
          total += 100
        }
        // The table has dead workers in it until their leases are over.
        if let victim = try await fleet.busyWorkers().filter(workers.isAlive).randomElement(),
          try await workers.kill(victim)
        {
          kills += 1
          try workers.launch()
        }
        return kills == 200
      }
      try await fleet.waitUntilDone(total)
      #expect(try await fleet.counts() == [.done: total])
      let result = try await undisturbed(work)
      for id in stride(from: 0, to: 400, by: 7) {
        #expect(try await fleet.result(of: "\(id)", as: CrashWork.self) == result)
      }
      let executions = try workers.executions()
      #expect(executions.count == total * 5)
      let repeats = executions.values.reduce(0) { $0 + $1 - 1 }
      #expect(repeats <= kills * 2)
      // The row of a job has its first stage and its last one.
      #expect(try await fleet.database.run("SELECT count(*) FROM @.stages").first?.integer(0) == Int64(total * 4))
    }

    @Test
    func `A worker that wakes after its lease writes over nothing`() async throws {
      let fleet = test.fleet()
      let workers = WorkerProcesses(server ?? "", schema: test.schema, lease: 1, slots: 4)
      let work = workers.work(last: 4, rounds: 300_000)
      try await fleet.enqueue((0..<60).map { (id: "\($0)", progression: work) })
      try workers.launch()
      var stops = 0
      try await waitUntil("5 workers are stopped, or all jobs are done; \(stops) were stopped") {
        if try await fleet.counts()[.done] == 60 { return true }
        guard let victim = try await fleet.busyWorkers().first(where: workers.isAlive) else { return false }
        workers.signal(victim, SIGSTOP)
        stops += 1
        let held = try await fleet.database.run(
          "SELECT j.id, j.fence FROM @.jobs j JOIN @.workers w ON w.id = j.worker WHERE j.state = 'running' AND w.name = $1",
          [.text("\(victim)")]
        )
        let replacement = try workers.launch()
        for row in held {
          let moved = "SELECT fence > $2 OR state IN ('done', 'failed') FROM @.jobs WHERE id = $1"
          let parameters: [PostgresValue] = [.text(row.text(0) ?? ""), .integer(row.integer(1) ?? 0)]
          try await waitUntil("job \(row.text(0) ?? "") of a stopped worker moves on") {
            try await fleet.database.run(moved, parameters).first?.isTrue(0) == true
          }
        }
        workers.signal(victim, SIGCONT)
        // The woken one continues beside the other, and registers again.
        if stops < 5 { try await workers.kill(replacement) }
        return stops == 5
      }
      #expect(stops > 0)
      try await fleet.waitUntilDone(60)
      let result = try await undisturbed(work)
      for id in 0..<60 { #expect(try await fleet.result(of: "\(id)", as: CrashWork.self) == result) }
      #expect(try await fleet.database.run("SELECT count(*) FROM @.stages").first?.integer(0) == 120)
    }

    @Test(arguments: [3_600, -3_600])
    func `A worker's clock may be an hour ahead or behind`(offset: Int) async throws {
      let library = try await shiftedClock(by: offset)
      defer { try? FileManager.default.removeItem(atPath: library) }
      let fleet = test.fleet()
      // On a busy machine a worker may not be scheduled for longer than a short lease, and then a stage is repeated.
      let workers = WorkerProcesses(server ?? "", schema: test.schema, lease: 60, slots: 2)
      let work = workers.work()
      try await fleet.enqueue((0..<100).map { (id: "\($0)", progression: work) })
      try await fleet.enqueue(work, id: "late", options: FleetOptions(start: .after(.seconds(1_800))))
      try workers.launch(environment: ["LD_PRELOAD": library])
      try workers.launch()
      try await fleet.waitUntilDone(100)
      #expect(try await fleet.status(of: "late")?.state == .scheduled)
      #expect(try workers.executions().values.allSatisfy { $0 == 1 })
    }

    /// A library that moves the clock of a process that preloads it.
    private func shiftedClock(by seconds: Int) async throws -> String {
      let base = NSTemporaryDirectory() + "stepwise-clock-\(UUID().uuidString)"
      let source = """
        #define _GNU_SOURCE
        #include <sys/syscall.h>
        #include <time.h>
        #include <unistd.h>
        #include <sys/time.h>
        int clock_gettime(clockid_t clock, struct timespec *time) {
          int result = syscall(SYS_clock_gettime, clock, time);
          if (clock == CLOCK_REALTIME) time->tv_sec += \(seconds);
          return result;
        }
        int gettimeofday(struct timeval *time, void *zone) {
          struct timespec now;
          clock_gettime(CLOCK_REALTIME, &now);
          time->tv_sec = now.tv_sec;
          time->tv_usec = now.tv_nsec / 1000;
          return 0;
        }
        time_t time(time_t *result) {
          struct timespec now;
          clock_gettime(CLOCK_REALTIME, &now);
          if (result) *result = now.tv_sec;
          return now.tv_sec;
        }
        """
      try source.write(toFile: base + ".c", atomically: true, encoding: .utf8)
      defer { try? FileManager.default.removeItem(atPath: base + ".c") }
      try await TestProcess.run(["clang", "-shared", "-fPIC", "-o", base + ".so", base + ".c"])
      return base + ".so"
    }

    @Test
    func `10,000 jobs are cancelled while they run or wait, and none continues`() async throws {
      let work = Work.script { _, _, _ in try await untilCancelled() }
      let worker = test.fleet(slots: 300)
      worker.register(Work.self)
      let ids = (0..<10_000).map { "\($0)" }
      try await worker.enqueue(ids.map { (id: $0, progression: work) })
      try await test.withWorkers([worker]) { () async throws in
        try await waitUntil("300 jobs run") { try await worker.counts()[.running] ?? 0 >= 300 }
        // In parts, so that slots that become free are filled in between.
        for start in stride(from: 0, to: 10_000, by: 1_000) {
          #expect(try await worker.cancel(Array(ids[start..<start + 1_000])) == 1_000)
        }
        try await waitUntil("10,000 jobs are cancelled") { try await worker.counts()[.cancelled] == 10_000 }
      }
      #expect(try await worker.counts() == [.cancelled: 10_000])
    }
  }
#endif
