// SPDX-License-Identifier: MIT
// Copyright (c) 2026 Stepwise contributors

#if Postgres
  import StepwiseCheckpoints
  @testable import StepwiseFleet
  import Testing

  /// Which runs are parked, and which slots they have.
  @Suite struct ParkingTests {
    @Test
    func `A run is parked while all of its steps in progress wait`() {
      var waits = DurableWaits()
      let wait = DurableWait(end: nil, signals: ["approval"])
      var needsSlot = [waits.begin("order"), waits.begin("order/a"), waits.begin("order/ab")]
      var isParked = [waits.wait(wait, at: "order/a")]
      isParked.append(waits.end("order/ab"))
      #expect(isParked == [false, true])
      needsSlot.append(waits.begin("order/c"))
      waits.unparked()
      isParked = [waits.end("order/c"), waits.isParked]
      #expect(isParked == [true, true])
      needsSlot.append(waits.resume("order/a"))
      #expect(needsSlot == [false, false, false, true, true])
      waits.unparked()
      isParked = [waits.end("order/a"), waits.end("order")]
      #expect(isParked == [false, false])
    }

    @Test(arguments: [true, false])
    func `A wait whose work was cancelled before it parks no run`(isEarly: Bool) {
      var waits = DurableWaits()
      let wait = DurableWait(end: nil, signals: ["approval"])
      _ = waits.called("order")
      _ = waits.begin("order")
      var isParked = [waits.wait(wait, at: "order", isCancelled: isEarly)]
      if !isEarly { waits.cancel("order") }
      waits.refused()
      #expect(waits.stopping == nil)
      _ = waits.resume("order")
      waits.unparked()
      isParked.append(waits.wait(wait, at: "order"))
      #expect(isParked == [!isEarly, true])
    }

    // G290
    @Test
    func `A run that stops while its code is to receive an end waits for nothing`() {
      var waits = DurableWaits()
      let wait = DurableWait(end: nil, signals: ["other"])
      for key in ["order/go", "order/other"] {
        _ = waits.called(key)
        _ = waits.begin(key)
      }
      _ = waits.wait(wait, at: "order/other")
      let isParked = waits.end("order/go")
      #expect(isParked)
      #expect(waits.suspending == [])
      _ = waits.delivered("order/go")
      #expect(waits.suspending == [wait])
    }

    @Test
    func `A signal is received once, until the step that has received it fails`() {
      var waits = DurableWaits()
      var isReceived = [waits.receive(7, at: "a"), waits.receive(7, at: "b"), waits.receive(8, at: "b")]
      let consumed = [waits.consume(in: "a"), waits.consume(in: "a")]
      isReceived.append(waits.receive(7, at: "c"))
      #expect(isReceived == [true, false, true, true])
      #expect(consumed == [[7], []])
    }

    private func machine(slots: Int, jobs: Range<Int64>) -> WorkerMachine {
      var machine = WorkerMachine(slots: slots, parkLimit: 2)
      machine.registered(1)
      _ = machine.claimed(jobs.map { (fence: $0, id: "\($0)", isCancellationRequested: false) }, by: 1)
      return machine
    }

    @Test
    func `Parked jobs take no slot, and get one back before further claims`() {
      var machine = machine(slots: 2, jobs: 0..<2)
      #expect(machine.claimable() == nil)
      var isParked = [machine.park(0), machine.park(0)]
      #expect(isParked == [true, false])
      #expect(machine.claimable()?.count == 1)
      isParked = [machine.park(1)]
      _ = machine.claimed([2, 3, 4].map { (fence: $0, id: "\($0)", isCancellationRequested: false) }, by: 1)
      // The limit for parked jobs.
      isParked.append(machine.park(2))
      #expect(isParked == [true, false])
      let hasSlot = [machine.unpark(1), machine.unpark(0)]
      #expect(hasSlot == [false, false])
      var admitted = [machine.admitted()]
      machine.ended(2)
      machine.ended(3)
      #expect(machine.claimable() == nil)
      admitted.append(machine.admitted())
      machine.ended(1)
      admitted.append(machine.admitted())
      #expect(admitted == [[], [1], [0]])
      machine.ended(0)
      machine.ended(4)
      #expect(machine.isEmpty)
      #expect(machine.claimable()?.count == 2)
    }

    @Test
    func `A job takes no slot while its end is stored`() {
      var machine = machine(slots: 1, jobs: 0..<1)
      for fence in Int64(1)...5 {
        #expect(machine.claimable() == nil)
        machine.ending(fence - 1)
        machine.ending(fence - 1)
        #expect(machine.claimable()?.count == (fence == 5 ? nil : 1))
        _ = machine.claimed([(fence: fence, id: "\(fence)", isCancellationRequested: false)], by: 1)
      }
      for fence in Int64(0)...5 { machine.ended(fence) }
      #expect(machine.isEmpty)
      #expect(machine.claimable()?.count == 1)
    }

    @Test func `A cancellation reaches the attempt that runs, not the one whose end is stored`() {
      var machine = machine(slots: 1, jobs: 0..<1)
      machine.ending(0)
      var cancelled = [machine.cancellationRequested(of: "0")]
      _ = machine.claimed([(fence: 1, id: "0", isCancellationRequested: false)], by: 1)
      cancelled.append(machine.cancellationRequested(of: "0"))
      #expect(cancelled == [nil, 1])
    }

    @Test(arguments: [true, false]
    )
    func `A worker that drains or lost its lease parks no job`(drains: Bool) {
      var machine = machine(slots: 1, jobs: 0..<2)
      var isParked = [machine.park(0)]
      let hasSlot = machine.unpark(0)
      #expect(!hasSlot)
      if drains { machine.drain() } else { _ = machine.lost() }
      isParked.append(machine.park(1))
      #expect(isParked == [true, false])
      let admitted = machine.admitted()
      #expect(admitted == [0])
    }
  }
#endif
