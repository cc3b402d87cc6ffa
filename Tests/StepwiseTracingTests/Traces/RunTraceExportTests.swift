// SPDX-License-Identifier: MIT
// Copyright (c) 2026 Stepwise contributors

import Foundation
import Stepwise
import StepwiseTesting
import Testing

@testable import StepwiseTracing

#if canImport(FoundationXML)
  import FoundationXML
#endif

/// The formats of a trace, read by the parsers of others and compared word for word.
@Suite(.timeLimit(.minutes(5)))
struct RunTraceExportTests {
  private let clock = ManualClock()

  /// A trace with everything that the formats have to escape, nest and place.
  private func sample() async -> RunTrace {
    let tally = Tally()
    let clock = clock
    let chain = Chain("a \"quoted\" <name> & a\nbreak", undo: { (_: Int) in }) { (number: Int) in
      clock.advance(by: .milliseconds(10))
      return number
    }
    .appending(
      Chain("flaky") { (number: Int) in
        clock.advance(by: .microseconds(1_500))
        if tally.increment() == 1 { throw Fault(1) }
        return number
      }
      .retry(RetryPolicy(maxAttempts: 2, backoff: .none)).named("inner")
    )
    .then("fail") { (_: Int) throws -> Int in throw Fault(2) }
    .named("outer")
    return await trace(clock: clock) { try await chain.run(1) }.trace
  }

  private func object(_ text: String) throws -> [String: Any] {
    try #require(try JSONSerialization.jsonObject(with: Data(text.utf8)) as? [String: Any])
  }

  /// The fields of the Trace Event Format for complete, instant and metadata events, and their types.
  @Test func `Each event of the Chrome trace has the fields of its phase`() async throws {
    let trace = try object(await sample().chromeTrace)
    #expect(trace["displayTimeUnit"] as? String == "ms")
    let events = try #require(trace["traceEvents"] as? [[String: Any]])
    for event in events {
      #expect(event["name"] is String)
      #expect(event["pid"] as? Int == 1)
      #expect((event["tid"] as? Int ?? 0) >= 1)
      switch event["ph"] as? String {
      case "X":
        #expect(Set(event.keys) == ["name", "cat", "ph", "ts", "dur", "pid", "tid", "args"])
        #expect((event["ts"] as? Double ?? -1) >= 0)
        #expect((event["dur"] as? Double ?? -1) >= 0)
        #expect(["run", "step"].contains(event["cat"] as? String))
      case "i":
        #expect(Set(event.keys) == ["name", "cat", "ph", "s", "ts", "pid", "tid"])
        #expect(event["s"] as? String == "t")
      case "M":
        #expect(Set(event.keys) == ["name", "ph", "pid", "tid", "args"])
        #expect(event["name"] as? String == "thread_name")
      default: Issue.record("unknown phase in \(event)")
      }
    }
    let flaky = events.filter { $0["name"] as? String == "flaky" }
    #expect(flaky.map { $0["ts"] as? Double } == [10_000, 11_500])
    #expect(flaky.map { $0["dur"] as? Double } == [1_500, 1_500])
    #expect((flaky[1]["args"] as? [String: Any])?["attempt"] as? Int == 2)
    #expect(
      events.contains { $0["ph"] as? String == "i" && $0["name"] as? String == "attempt 1 failed: Fault(number: 1)" }
    )
  }

  @Test func `Events on one thread of the Chrome trace are nested`() async throws {
    let (left, right) = (Turnstile(), Turnstile())
    let clock = clock
    let branch = { (own: Turnstile, other: Turnstile) in
      Chain("branch") { (number: Int) in
        own.open()
        await other.passWhateverHappens()
        clock.advance(by: .milliseconds(10))
        return number
      }
    }
    let chain = Chain<Int, (Int, Int)>.zip(branch(left, right), branch(right, left))
    let traced = await trace(clock: clock) { try await chain.run(1) }
    let events = try #require(try object(traced.trace.chromeTrace)["traceEvents"] as? [[String: Any]])
    var threads: [Int: [(start: Double, end: Double)]] = [:]
    for event in events where event["ph"] as? String == "X" {
      let (start, length) = (event["ts"] as? Double ?? 0, event["dur"] as? Double ?? 0)
      threads[event["tid"] as? Int ?? 0, default: []].append((start, start + length))
    }
    #expect(threads.count == 2)
    for spans in threads.values {
      for (one, two) in spans.enumerated().flatMap({ index, one in spans.dropFirst(index + 1).map { (one, $0) } }) {
        let isApart = one.end <= two.start || two.end <= one.start
        let isNested = (one.start <= two.start && two.end <= one.end) || (two.start <= one.start && one.end <= two.end)
        #expect(isApart || isNested, "\(one) \(two)")
      }
    }
  }

  @Test func `The picture is well-formed for any names`() async {
    let names = ["a<b>&\"c'", "\u{0}\u{1}\u{B}", "\u{FFFE}]]>", String(repeating: "long ", count: 100), "😀é"]
    var chain = Chain("first") { (number: Int) in number }
    for name in names { chain = chain.then(name) { $0 } }
    let svg = await trace { [chain] in try await chain.run(1) }.trace.svg
    let parser = XMLParser(data: Data(svg.utf8))
    #expect(parser.parse(), "\(String(describing: parser.parserError))")
    #expect(svg.contains("long long long long long long…<") || svg.contains("long long long long long …<"))
    #expect(svg.contains("prefers-color-scheme: dark"))
  }

  @Test func `The picture is stable and has a row for each span`() async {
    let svg = await sample().svg
    let names = svg.split(separator: "\n").filter {
      $0.contains("<text") && !$0.contains("class=\"end\"") && !$0.contains("dim")
    }
    .map { $0.split(separator: ">")[1].split(separator: "<")[0] }
    #expect(names == ["outer", "a &quot;quoted&quot; &lt;name&gt; &amp; a break", "inner", "flaky", "flaky", "fail"])
    let remark =
      ##"<tspan class="failed" fill="#cf222e">failed</tspan><tspan class="more dim" fill="#59636e">: Fault(number: 2)"##
    #expect(svg.contains(remark))
    #expect(svg.contains("<rect class=\"succeeded undone\" x=\"16\""))
    #expect(svg.contains("<title>attempt 1 failed: Fault(number: 1) at 11.5 ms</title>"))
  }

  /// Programs that know no CSS variables ignore the style, and fill with black what says nothing else.
  @Test func `Every element of the picture has a plain colour`() async {
    let svg = await sample().svg
    let plain = /fill="#[0-9a-f]{6}"/
    for line in svg.split(separator: "\n") {
      for element in line.matches(of: /<(text|tspan|rect|circle) [^>]*>/) {
        #expect(element.0.contains(plain), "\(element.0)")
      }
      if line.hasPrefix("<line") { #expect(line.contains(/stroke="#[0-9a-f]{6}"/), "\(line)") }
    }
  }

  @Test(arguments: [Character("\u{202A}"), "\u{202E}", "\u{2066}", "\u{2069}"])
  func `Direction overrides are escaped`(override: Character) async throws {
    let clock = clock
    let chain = Chain("pay\(override)eno", undo: { (_: Int) in }) { (number: Int) in
      clock.advance(by: .milliseconds(10))
      return number
    }
    .then("fail") { (_: Int) throws -> Int in throw Refusal(description: "no\(override)") }.named("all\(override)")
    let trace = await trace(clock: clock) { try await chain.run(1) }.trace
    let code = try #require(override.unicodeScalars.first)
    let escape = "\\u{" + String(code.value, radix: 16, uppercase: true) + "}"
    for text in [trace.text, trace.svg] {
      #expect(!text.contains(override))
      for name in ["pay\(escape)eno", "all\(escape)", "no\(escape)", "undid pay\(escape)eno"] {
        #expect(text.contains(name), "\(text)")
      }
    }
    let events = try #require(try object(trace.chromeTrace)["traceEvents"] as? [[String: Any]])
    #expect(events.contains { $0["name"] as? String == "pay\(escape)eno" })
    #expect(events.contains { ($0["args"] as? [String: Any])?["detail"] as? String == "no\(escape)" })
    #expect(!trace.chromeTrace.contains(override))
  }

  private struct Refusal: Error, CustomStringConvertible {
    let description: String
  }

  @Test func `Durations have three digits`() {
    let times: [(Duration, String)] = [
      (.zero, "0 ns"), (.nanoseconds(999), "999 ns"), (.nanoseconds(1_500), "1.5 µs"),
      (.microseconds(12_345), "12.3 ms"),
      (.milliseconds(999), "999 ms"), (.milliseconds(1_050), "1.05 s"), (.seconds(59), "59 s"),
      (.seconds(61), "1 min 1 s"),
      (.seconds(7_384), "123 min 4 s"), (.seconds(-1), "0 ns"),
    ]
    for (time, text) in times { #expect(time.brief == text) }
  }
}
