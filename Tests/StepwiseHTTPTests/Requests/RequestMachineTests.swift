// SPDX-License-Identifier: MIT
// Copyright (c) 2026 Stepwise contributors

import Foundation
import Testing

@testable import StepwiseHTTP

/// What can happen to a request, in tables.
@Suite(.timeLimit(.minutes(5))) struct RequestMachineTests {
  private static let ok = ResponseHead(status: 200, headers: [:])
  private static let redirect = ResponseHead(status: 302, headers: ["Location": "/next"])

  private static func machine(
    headers: Duration? = .seconds(60),
    idle: Duration? = .seconds(10),
    total: Duration? = nil
  ) throws -> RequestMachine {
    let url = try #require(URL(string: "http://example.org/"))
    return RequestMachine(
      try OutgoingRequest("GET", url),
      limits: .init(headers: headers, idle: idle, total: total)
    )
  }

  private static func started() throws -> RequestMachine {
    var machine = try machine()
    expect(machine.start() == nil, false)
    expect(machine.hold(0), true)
    expect(machine.release(0), false)
    return machine
  }

  @Test func succeedsWithWhatCame() throws {
    var machine = try Self.started()
    guard case .receive = machine.answer(0, Self.ok, at: .zero) else { return #expect(Bool(false)) }
    expect(machine.chunk(0, Data("ab".utf8), keeping: true, at: .zero) != nil, true)
    expect(machine.chunk(0, Data("c".utf8), keeping: true, at: .zero) != nil, true)
    guard case .succeed(let head, let body, let url) = machine.complete(0, failure: nil, at: .zero) else {
      return #expect(Bool(false))
    }
    #expect(head.status == 200 && body == Data("abc".utf8) && url.absoluteString == "http://example.org/")
    expect(machine.stop(), .nothing)
  }

  @Test func cancelledBeforeTheStartSendsNothing() throws {
    var machine = try Self.machine()
    expect(machine.stop(), .end(cancelsTask: true))
    expect(machine.start() == nil, true)
    expect(machine.hold(0), false)
  }

  @Test func cancelledBeforeTheTaskIsResumedDoesNotResumeIt() throws {
    var machine = try Self.machine()
    _ = machine.start()
    expect(machine.stop(), .end(cancelsTask: true))
    expect(machine.hold(0), false)
    expect(machine.release(0), false)
  }

  /// URLSession on Linux traps when a task is cancelled while it waits for its delegate's answer to a redirect.
  @Test func cancelledWhileTwoHoldTheTaskIsCancelledByTheLast() throws {
    var machine = try Self.machine()
    _ = machine.start()
    expect(machine.hold(0), true)
    expect(machine.hold(0), true)
    expect(machine.stop(), .end(cancelsTask: false))
    expect(machine.release(0), false)
    expect(machine.release(0), true)
  }

  /// URLSession on Linux may crash when a task is cancelled while it is resumed.
  @Test func cancelledDuringResumeIsCancelledAfterIt() throws {
    var machine = try Self.machine()
    _ = machine.start()
    expect(machine.hold(0), true)
    expect(machine.stop(), .end(cancelsTask: false))
    expect(machine.release(0), true)
    expect(machine.release(0), false)
  }

  @Test func aFastAnswerDuringResumeIsNotCancelledAfterIt() throws {
    var machine = try Self.machine()
    _ = machine.start()
    expect(machine.hold(0), true)
    _ = machine.answer(0, Self.redirect, at: .zero)
    guard case .follow = machine.complete(0, failure: nil, at: .zero) else { return #expect(Bool(false)) }
    expect(machine.hold(1), true)
    expect(machine.release(0), false)
    expect(machine.stop(), .end(cancelsTask: false))
    expect(machine.release(1), true)
  }

  @Test func theBodyOfARedirectIsOfNoInterest() throws {
    var machine = try Self.started()
    guard case .skip = machine.answer(0, Self.redirect, at: .zero) else { return #expect(Bool(false)) }
    expect(machine.chunk(0, Data("ab".utf8), keeping: true, at: .zero) == nil, true)
    guard case .follow(let next) = machine.complete(0, failure: nil, at: .zero) else { return #expect(Bool(false)) }
    #expect(next.url.path == "/next")
    #expect(machine.hop == 1)
  }

  @Test func eventsOfAnEarlierHopChangeNothing() throws {
    var machine = try Self.started()
    _ = machine.answer(0, Self.redirect, at: .zero)
    _ = machine.complete(0, failure: nil, at: .zero)
    guard case .ignore = machine.answer(0, Self.ok, at: .zero) else { return #expect(Bool(false)) }
    expect(machine.chunk(0, Data("x".utf8), keeping: true, at: .zero) == nil, true)
    guard case .ignore = machine.complete(0, failure: HTTPError.offline, at: .zero) else { return #expect(Bool(false)) }
    #expect(!machine.isEnded)
  }

  @Test func tenRedirectsAreFollowedAndNotEleven() throws {
    var machine = try Self.started()
    for hop in 0..<10 {
      guard case .skip = machine.answer(hop, Self.redirect, at: .zero) else { return #expect(Bool(false), "\(hop)") }
      guard case .follow = machine.complete(hop, failure: nil, at: .zero) else { return #expect(Bool(false), "\(hop)") }
    }
    guard case .fail(.tooManyRedirects, true) = machine.answer(10, Self.redirect, at: .zero) else {
      return #expect(Bool(false))
    }
    #expect(machine.isEnded)
  }

  @Test func anEndWithoutAnAnswerIsAFailure() throws {
    var machine = try Self.started()
    guard case .fail(let error) = machine.complete(0, failure: nil, at: .zero) else { return #expect(Bool(false)) }
    #expect(error as? HTTPError == .request(underlying: CancellationError()))
  }

  @Test func theDeadlineForTheHeadMovesWithTheBodyThatIsSent() throws {
    var machine = try Self.machine(idle: nil)
    _ = machine.start()
    expect(machine.timer(at: .zero), .sleep(until: .seconds(60)))
    machine.sent(0, at: .seconds(50))
    expect(machine.timer(at: .seconds(60)), .sleep(until: .seconds(110)))
    expect(machine.timer(at: .seconds(110)), .timeOut(cancelsTask: true))
    expect(machine.timer(at: .seconds(200)), .stop)
  }

  @Test func theIdleDeadlineMovesWithEachPiece() throws {
    var machine = try Self.machine()
    _ = machine.start()
    // Wakes in time for the idle deadline, which may begin at any moment.
    expect(machine.timer(at: .zero), .sleep(until: .seconds(10)))
    _ = machine.answer(0, Self.ok, at: .seconds(8))
    expect(machine.timer(at: .seconds(10)), .sleep(until: .seconds(18)))
    _ = machine.chunk(0, Data("x".utf8), keeping: true, at: .seconds(17))
    expect(machine.timer(at: .seconds(18)), .sleep(until: .seconds(27)))
    expect(machine.timer(at: .seconds(27)), .timeOut(cancelsTask: true))
  }

  @Test func theTotalDeadlineStands() throws {
    var machine = try Self.machine(headers: nil, idle: nil, total: .seconds(5))
    _ = machine.start()
    expect(machine.timer(at: .zero), .sleep(until: .seconds(5)))
    _ = machine.answer(0, Self.redirect, at: .seconds(4))
    _ = machine.complete(0, failure: nil, at: .seconds(4))
    expect(machine.timer(at: .seconds(5)), .timeOut(cancelsTask: true))
  }

  @Test func withoutDeadlinesThereIsNoTimer() throws {
    var machine = try Self.machine(headers: nil, idle: nil)
    _ = machine.start()
    expect(machine.timer(at: .zero), .stop)
  }

  /// In any order of events: one end, no event after it counts, and no task is cancelled while it is resumed, or twice.
  @Test(arguments: 0..<40) func keepsItsPromisesInAnyOrder(block: Int) throws {
    for seed in (block * 50)..<(block * 50 + 50) {
      var order = Xorshift(seed: UInt64(seed) &+ 1)
      var machine = try Self.machine(total: .seconds(100))
      var (ends, cancels) = (0, 0)
      var now = Duration.zero
      var held: [Int] = []
      for _ in 0..<40 {
        let hop = Int(order.next() % 3)
        let wasEnded = machine.isEnded
        now += .seconds(Int(order.next() % 8))
        func end(_ cancelsTask: Bool) {
          ends += 1
          if cancelsTask { cancels += 1 }
          #expect(!cancelsTask || !held.contains(machine.hop), "seed \(seed)")
        }
        switch order.next() % 9 {
        case 0: _ = machine.start()
        case 1:
          let current = machine.hop
          if machine.hold(current) { held.append(current) }
        case 2:
          if !held.isEmpty, machine.release(held.removeFirst()) {
            cancels += 1
            #expect(!held.contains(machine.hop), "seed \(seed)")
          }
        case 3: machine.sent(hop, at: now)
        case 4:
          if case .fail(_, let cancelsTask) = machine.answer(
            hop,
            Bool.random(using: &order) ? Self.ok : Self.redirect,
            at: now
          ) {
            end(cancelsTask)
          }
        case 5: _ = machine.chunk(hop, Data("x".utf8), keeping: true, at: now)
        case 6:
          switch machine.complete(hop, failure: hop == 2 ? HTTPError.offline : nil, at: now) {
          case .succeed, .fail: ends += 1
          case .ignore, .follow: break
          }
        case 7: if case .end(let cancelsTask) = machine.stop() { end(cancelsTask) }
        default: if case .timeOut(let cancelsTask) = machine.timer(at: now) { end(cancelsTask) }
        }
        #expect(ends == (machine.isEnded ? 1 : 0), "seed \(seed)")
        #expect(!wasEnded || machine.isEnded, "seed \(seed)")
        #expect(cancels <= 1, "seed \(seed)")
      }
    }
  }
}

/// Compares what an event gave; the macro cannot evaluate one that changes the machine.
private func expect<Value: Equatable>(_ value: Value, _ expected: Value, location: SourceLocation = #_sourceLocation) {
  #expect(value == expected, sourceLocation: location)
}
