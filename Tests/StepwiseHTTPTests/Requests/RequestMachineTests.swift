// SPDX-License-Identifier: MIT
// Copyright (c) 2026 Stepwise contributors

import Foundation
import Testing

@testable import StepwiseHTTP

/// What can happen to a request, in tables.
@Suite(.timeLimit(.minutes(5))) struct RequestMachineTests {
  private static func machine(
    headers: Duration? = .seconds(60),
    idle: Duration? = .seconds(10),
    total: Duration? = nil
  ) -> RequestMachine {
    RequestMachine(HTTPDeadlines(headers: headers, idle: idle, total: total))
  }

  /// How it ended, in one word.
  private static func end(of machine: RequestMachine) -> String {
    switch machine.end {
    case nil: "open"
    case .success: "success"
    case .failure(let error): "\(error)"
    }
  }

  @Test func `A response whose body is read to the end succeeds`() throws {
    var machine = Self.machine()
    try machine.answer(isRedirect: false, at: .zero)
    for _ in 0..<2 {
      expect(machine.read(at: .zero), true)
      expect(machine.chunk(), true)
    }
    expect(machine.finish(.success(())), true)
    expect(machine.finish(.failure(CancellationError())), false)
    expect(machine.read(at: .zero), false)
    #expect(Self.end(of: machine) == "success")
  }

  @Test func `A response after the end is ignored`() throws {
    var machine = Self.machine()
    expect(machine.finish(.failure(CancellationError())), true)
    #expect(throws: CancellationError.self) { try machine.answer(isRedirect: true, at: .zero) }
  }

  @Test func `A piece after the end is not delivered`() throws {
    var machine = Self.machine()
    try machine.answer(isRedirect: false, at: .zero)
    _ = machine.read(at: .zero)
    _ = machine.finish(.failure(HTTPError.offline))
    expect(machine.chunk(), false)
    #expect(Self.end(of: machine) == "\(HTTPError.offline)")
  }

  @Test func `Ten redirects are followed, an eleventh fails`() throws {
    var machine = Self.machine()
    for _ in 0..<10 { try machine.answer(isRedirect: true, at: .zero) }
    #expect(throws: HTTPError.tooManyRedirects) { try machine.answer(isRedirect: true, at: .zero) }
  }

  @Test func `The deadline for the head moves with the body that is sent`() throws {
    var machine = Self.machine(idle: nil)
    try expect(machine.timer(at: .zero), .seconds(60))
    machine.progressed(at: .seconds(50))
    try expect(machine.timer(at: .seconds(60)), .seconds(110))
    #expect(throws: HTTPError.timedOut(.headers)) { try machine.timer(at: .seconds(110)) }
    _ = machine.finish(.failure(HTTPError.timedOut(.headers)))
    try expect(machine.timer(at: .seconds(200)), nil)
  }

  @Test func `The idle deadline counts only while the consumer waits`() throws {
    var machine = Self.machine()
    // Wakes in time for the idle deadline, which may begin at any moment.
    try expect(machine.timer(at: .zero), .seconds(10))
    try machine.answer(isRedirect: false, at: .seconds(8))
    // The consumer does something else for a minute.
    try expect(machine.timer(at: .seconds(68)), .seconds(78))
    _ = machine.read(at: .seconds(70))
    try expect(machine.timer(at: .seconds(78)), .seconds(80))
    _ = machine.chunk()
    _ = machine.read(at: .seconds(79))
    try expect(machine.timer(at: .seconds(80)), .seconds(89))
    #expect(throws: HTTPError.timedOut(.idle)) { try machine.timer(at: .seconds(89)) }
  }

  @Test func `The total deadline does not move`() throws {
    var machine = Self.machine(headers: nil, idle: nil, total: .seconds(5))
    try expect(machine.timer(at: .zero), .seconds(5))
    try machine.answer(isRedirect: true, at: .seconds(4))
    #expect(throws: HTTPError.timedOut(.total)) { try machine.timer(at: .seconds(5)) }
  }

  @Test func `Without deadlines there is no timer`() throws {
    let machine = Self.machine(headers: nil, idle: nil)
    try expect(machine.timer(at: .zero), nil)
  }

  @Test(arguments: 0..<40)
  func `In any order of events there is one end, and no event after it counts`(block: Int) throws {
    for seed in (block * 50)..<(block * 50 + 50) {
      var order = Xorshift(seed: UInt64(seed) &+ 1)
      var machine = Self.machine(total: .seconds(100))
      var (ends, now) = (0, Duration.zero)
      for _ in 0..<40 {
        let wasEnded = machine.isEnded
        let before = Self.end(of: machine)
        var counted = false
        now += .seconds(Int(order.next() % 8))
        switch order.next() % 6 {
        case 0: machine.progressed(at: now)
        case 1:
          do {
            try machine.answer(isRedirect: Bool.random(using: &order), at: now)
            counted = true
          } catch HTTPError.tooManyRedirects {
            if machine.finish(.failure(HTTPError.tooManyRedirects)) { ends += 1 }
          } catch {}
        case 2: counted = machine.read(at: now)
        case 3: counted = machine.chunk()
        case 4: if machine.finish(Bool.random(using: &order) ? .success(()) : .failure(HTTPError.offline)) { ends += 1 }
        default:
          do { _ = try machine.timer(at: now) } catch { if machine.finish(.failure(error)) { ends += 1 } }
        }
        #expect(ends == (machine.isEnded ? 1 : 0), "seed \(seed)")
        #expect(!wasEnded || machine.isEnded && !counted && before == Self.end(of: machine), "seed \(seed)")
      }
    }
  }
}

/// Compares what an event gave; the macro cannot evaluate one that changes the machine.
private func expect<Value: Equatable>(
  _ value: @autoclosure () throws -> Value,
  _ expected: Value,
  location: SourceLocation = #_sourceLocation
) rethrows {
  let value = try value()
  #expect(value == expected, sourceLocation: location)
}
