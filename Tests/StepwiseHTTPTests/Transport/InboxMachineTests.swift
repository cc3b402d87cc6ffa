// SPDX-License-Identifier: MIT
// Copyright (c) 2026 Stepwise contributors

import Foundation
import Testing

@testable import StepwiseHTTP

/// What has arrived of a response and was not taken yet.
@Suite(.timeLimit(.minutes(5))) struct InboxMachineTests {
  private static let head = HTTPResponseHead(status: 200)

  private static func open(capacity: Int = 10) -> InboxMachine {
    var machine = InboxMachine(capacity: capacity)
    machine.receive(head)
    _ = machine.take()
    return machine
  }

  /// What is taken, in one word.
  private static func take(from machine: inout InboxMachine) -> String {
    guard let (part, releases) = machine.take() else { return "wait" }
    let word =
      switch part {
      case .success(.head(let head)): "head \(head.status)"
      case .success(.chunk(let data?)): String(decoding: data, as: UTF8.self)
      case .success(.chunk(nil)): "end"
      case .failure(is CancellationError): "cancelled"
      case .failure: "failed"
      }
    return releases ? word + ", released" : word
  }

  private static func offer(_ text: String, to machine: inout InboxMachine) -> Bool {
    Data(text.utf8).withUnsafeBytes { machine.offer($0) }
  }

  @Test func `The consumer receives the head, the bytes so far, and the end`() {
    var machine = InboxMachine(capacity: 10)
    var taken = [Self.take(from: &machine)]
    machine.receive(Self.head)
    machine.receive(HTTPResponseHead(status: 500))
    taken.append(Self.take(from: &machine))
    taken.append(Self.take(from: &machine))
    _ = Self.offer("ab", to: &machine)
    machine.receive(Data("c".utf8))
    machine.complete(nil)
    machine.complete(HTTPError.offline)
    for _ in 0..<3 { taken.append(Self.take(from: &machine)) }
    #expect(taken == ["wait", "head 200", "wait", "abc", "end", "end"])
  }

  @Test func `Bytes beyond the capacity are refused until others are consumed`() {
    var machine = Self.open()
    var offers = ["0123456", "789", "x"].map { Self.offer($0, to: &machine) }
    let taken = Self.take(from: &machine)
    offers.append(Self.offer("x", to: &machine))
    #expect(offers == [true, true, false, true])
    #expect(taken == "0123456789, released")
    #expect(Self.take(from: &machine) == "x")
  }

  @Test func `A piece larger than the capacity is taken when there is no other`() {
    var machine = Self.open(capacity: 2)
    let offered = Self.offer("0123456789", to: &machine)
    #expect(offered)
  }

  @Test func `Bytes that cannot be refused are kept, and the network pauses`() {
    var machine = Self.open()
    let waits = ["012345678", "9", "x"].map { text in
      machine.receive(Data(text.utf8))
      return machine.isHeld
    }
    #expect(waits == [false, true, true])
    #expect(Self.take(from: &machine) == "0123456789x, released")
  }

  @Test func `What came before a failure is taken before it`() {
    var machine = Self.open()
    _ = Self.offer("ab", to: &machine)
    machine.complete(HTTPError.offline)
    let late = Self.offer("c", to: &machine)
    #expect(late)
    #expect(Self.take(from: &machine) == "ab")
    #expect(Self.take(from: &machine) == "failed")
  }

  @Test func `An end without a head is a failure`() {
    var machine = InboxMachine(capacity: 10)
    machine.complete(nil)
    #expect(Self.take(from: &machine) == "failed")
  }

  @Test func `A cancellation takes effect before what has arrived`() {
    var machine = Self.open()
    _ = Self.offer("ab", to: &machine)
    let cancels = [machine.cancel(), machine.cancel()]
    machine.complete(nil)
    #expect(cancels == [true, false])
    #expect(Self.take(from: &machine) == "cancelled")
    #expect(Self.take(from: &machine) == "cancelled")
  }

  @Test func `A cancellation takes effect before a head that has arrived`() {
    var machine = InboxMachine(capacity: 10)
    machine.receive(Self.head)
    let wasOpen = machine.cancel()
    machine.receive(Self.head)
    #expect(wasOpen)
    #expect(Self.take(from: &machine) == "cancelled")
  }

  @Test func `A cancellation after everything was taken changes nothing`() {
    var machine = Self.open()
    machine.complete(nil)
    let cancelled = machine.cancel()
    #expect(!cancelled)
    #expect(Self.take(from: &machine) == "end")
  }
}
