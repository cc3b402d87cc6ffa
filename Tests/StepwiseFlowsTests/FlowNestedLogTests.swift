// SPDX-License-Identifier: MIT
// Copyright (c) 2026 Stepwise contributors

import Foundation
import Stepwise
import StepwiseFlows
import StepwiseTesting
import Testing

/// The answers of nested flows are part of the outer log.
@Suite(.timeLimit(.minutes(5)))
@MainActor
struct FlowNestedLogTests {
  struct Opaque: Sendable {
    let text: String
  }

  /// A flow: first, nested (a, b), last.
  @MainActor
  final class World {
    let scripted = ScriptedSteps()
    let first: FlowStep<Void, Int>
    let a: FlowStep<Date, Date>
    let b: FlowStep<String, String>
    let last: FlowStep<String, String>
    let nested: FlowStep<Int, Opaque>
    let flow: Flow<String>

    init(
      _ firstReply: Reply<Int> = .wait,
      _ aReply: Reply<Date> = .wait,
      _ bReply: Reply<String> = .wait,
      _ lastReply: Reply<String> = .wait,
      log: FlowLogging = .path
    ) {
      first = scripted.step("first", firstReply, .wait)
      let a = scripted.step("a", of: Date.self, aReply, .wait)
      let b = scripted.step("b", of: String.self, bReply, .wait)
      let last = scripted.step("last", of: String.self, lastReply, .wait)
      let nested = FlowStep<Int, Opaque>("nested") { number in
        Flow<Opaque>("inner", first: a, content: Date(timeIntervalSince1970: Double(number)))
          .on(a) { date, _ in .next(b, "\(date.timeIntervalSince1970)") }
          .on(b) { text, _ in text == "again" ? .next(b, "edited") : .finish(Opaque(text: text)) }
      }
      (self.a, self.b, self.last, self.nested) = (a, b, last, nested)
      flow = Flow<String>("outer", first: first, log: log)
        .on(first) { number, _ in .next(nested, number) }
        .on(nested) { opaque, _ in .next(last, opaque.text) }
    }

    func stored(_ log: FlowLog) throws -> FlowLog {
      try JSONDecoder().decode(FlowLog.self, from: JSONEncoder().encode(log))
    }
  }

  static let day = Date(timeIntervalSince1970: 86_400)

  private func log(_ world: World, presented count: Int) async -> FlowLog {
    let run = world.flow.start()
    await world.scripted.presented.elements(atLeast: count)
    let log = world.flow.answers
    run.cancel()
    _ = await run.outcome
    #expect(world.flow.answers.map(\.step) == log.map(\.step))
    #expect(world.flow.answers.last?.inside?.map(\.step) == log.last?.inside?.map(\.step))
    return log
  }

  // G128
  @Test(arguments: [false, true])
  func `A replay resumes inside a nested flow`(isStored: Bool) async throws {
    var log = await log(World(.complete(7), .complete(Self.day)), presented: 3)
    #expect(log.map(\.step) == ["first", "nested"])
    #expect(log.last?.inside?.map(\.step) == ["a"])
    #expect(log.last?.result == nil && log.last?.ending == nil)
    let again = World()
    if isStored { log = try again.stored(again.stored(log)) }
    let run = again.flow.start(replaying: log)
    await again.scripted.presented.elements(atLeast: 1)
    #expect(again.scripted.presented.elements == ["b 86400.0"])
    #expect(again.flow.path.map(\.name) == ["first", "nested"])
    again.scripted.handler(again.b)?.complete("done")
    await again.scripted.presented.elements(atLeast: 2)
    again.scripted.handler(again.last)?.complete("end")
    #expect(try await run.value == "end")
    #expect(again.scripted.presented.elements == ["b 86400.0", "last done"])
    #expect(again.flow.answers.map(\.step) == ["first", "nested", "last"])
    #expect(again.flow.answers[1].inside?.map(\.step) == ["a", "b"])
  }

  @Test(arguments: [false, true])
  func `A nested flow that has ended is replayed from its answers`(isStored: Bool) async throws {
    var log = await log(World(.complete(7), .complete(Self.day), .complete("done")), presented: 4)
    let again = World()
    if isStored { log = try again.stored(log) }
    let run = again.flow.start(replaying: log)
    await again.scripted.presented.elements(atLeast: 1)
    #expect(again.scripted.presented.elements == ["last done"])
    run.cancel()
    _ = await run.outcome
  }

  @Test func `The contents of a nested flow are replayed`() async throws {
    let world = World(.complete(7), .complete(Self.day), .complete("again"))
    let log = await log(world, presented: 4)
    #expect(world.scripted.presented.elements.last == "b edited")
    let again = World()
    let run = again.flow.start(replaying: log)
    await again.scripted.presented.elements(atLeast: 1)
    #expect(again.scripted.presented.elements == ["b edited"])
    again.scripted.handler(again.b)?.back()
    await again.scripted.presented.elements(atLeast: 2)
    #expect(again.scripted.presented.elements.last?.hasPrefix("a 1970-01-01") == true)
    run.cancel()
    _ = await run.outcome
  }

  @Test func `A log written by hand lists the answers in order`() async throws {
    let world = World()
    let answers: FlowLog = [
      .answer(world.first, 7), .answer(world.a, Self.day), .answer(world.b, "x"), .answer(world.last, "end"),
    ]
    #expect(try await world.flow.replay(answers: answers) == "end")
    #expect(world.scripted.presented.elements.isEmpty)
    let run = world.flow.start(replaying: FlowLog(Array(answers.prefix(2))))
    await world.scripted.presented.elements(atLeast: 1)
    #expect(world.scripted.presented.elements == ["b 86400.0"])
    run.cancel()
    _ = await run.outcome
  }

  @Test func `An answer of the nested step itself is taken as it is`() async throws {
    let world = World()
    let run = world.flow.start(replaying: [.answer(world.first, 7), .answer(world.nested, Opaque(text: "as it is"))])
    await world.scripted.presented.elements(atLeast: 1)
    #expect(world.scripted.presented.elements == ["last as it is"])
    run.cancel()
    _ = await run.outcome
  }

  @Test
  func `A nested log that does not fit fails the replay`() async throws {
    let world = World()
    let lenient = world.flow.on(world.nested, ended: { _, _ in .finish("swallowed") })
    let wrong: FlowLog = [.answer(world.first, 7), .answer(world.b, "x")]
    await #expect(throws: FlowError.wrongStep) { try await lenient.replay(answers: wrong) }
    let stranger = world.scripted.step("stranger", .complete(1))
    await #expect(throws: FlowError.unknownStep) {
      try await lenient.replay(answers: [.answer(world.first, 7), .answer(stranger, 1)])
    }
    let full: FlowLog = [
      .answer(world.first, 7), .answer(world.a, Self.day), .answer(world.b, "x"), .answer(world.b, "x"),
    ]
    await #expect(throws: FlowError.unknownStep) { try await lenient.replay(answers: full) }
    #expect(world.scripted.presented.elements.isEmpty)
  }

  @Test(arguments: [Reply<String>.drop, .cancel("later")])
  func `A nested flow that fails is resumed where it failed`(reply: Reply<String>) async throws {
    let world = World(.complete(7), .complete(Self.day), reply)
    _ = try? await world.flow.run()
    let again = World()
    let run = again.flow.start(replaying: world.flow.answers)
    await again.scripted.presented.elements(atLeast: 1)
    #expect(again.scripted.presented.elements == ["b 86400.0"])
    run.cancel()
    _ = await run.outcome
  }

  @Test func `With log all, a nested flow that failed fails again`() async throws {
    let world = World(.complete(7), .complete(Self.day), .cancel("later"), log: .all)
    #expect(await world.flow.start().outcome.summary == "cancelled later")
    let again = World()
    #expect(await again.flow.start(replaying: world.flow.answers).outcome.summary == "cancelled later")
    #expect(again.scripted.presented.elements.isEmpty)
  }

  @Test
  func `A replay into a nested flow shows the screens behind`() async throws {
    final class Screen {
      let name: String
      let back: @MainActor () -> Void
      init(_ name: String, _ handler: FlowStepHandler<Void, Int>) {
        self.name = name
        back = { handler.back() }
      }
    }
    let navigator = InMemoryNavigator<Screen>()
    let made = Recorder<String>()
    func step(_ name: String) -> FlowStep<Void, Int> {
      FlowStep(name, .push, on: navigator) { handler in
        made.record(name)
        return Screen(name, handler)
      }
    }
    let (first, a, b) = (step("first"), step("a"), step("b"))
    let inner = Flow<Int>("inner", first: a).on(a) { _, _ in .next(b) }
    let nested = FlowStep(flow: inner)
    let flow = Flow<Int>("outer", first: first).on(first) { _, _ in .next(nested) }
    let run = flow.start(replaying: [.answer(first, 1), .answer(a, 1)])
    await made.elements(atLeast: 3)
    #expect(navigator.stack.map(\.name) == ["first", "a", "b"])
    for count in 4...5 {
      navigator.visible?.back()
      await made.elements(atLeast: count)
    }
    #expect(navigator.stack.map(\.name) == ["first"])
    run.cancel()
    _ = await run.outcome
  }
}
