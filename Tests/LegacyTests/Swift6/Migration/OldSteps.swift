// SPDX-License-Identifier: MIT
// Copyright (c) 2026 Stepwise contributors

import Dispatch
import Foundation
import LegacyStepwise
import StepwiseTesting

/// The old code of Migration.md about steps, each piece with what is needed to see what it does.
@available(*, deprecated)
enum OldSteps {
  static func fetchAndResize(
    _ url: URL,
    fetch: @escaping @Sendable (URL) -> Data,
    show: @escaping @Sendable (Image) -> Void
  ) {
    let fetchAndResize = toStep { (url: URL) -> Image in
      try Image(fetch(url))
    }.then { image in
      show(image.scaled(by: 0.5))
    }
    fetchAndResize.start(url)
  }

  static func parse(_ text: String, telling seen: Recorder<String>) {
    let parse = toStep { (step: Step<String, Int>) in
      if let number = Int(step.input) {
        step.resolve(number)
      } else {
        step.error(Failure("not a number: \(step.input)"))
      }
    }
    parse.then { number in seen.record("\(number)") }.onError { error in seen.record("\(error)") }.start(text)
  }

  static func request(_ url: URL, in session: FakeSession, telling seen: Recorder<String>) {
    let request = toStep { (url: URL, handler: Handler<Data>) in
      session.dataTask(with: url) { data, _, error in
        if let data = data { handler.pass(data) } else { handler.fail(error ?? Failure("nothing")) }
      }.resume()
    }
    let chain = request.then { data in data.count }
    chain.then { count in seen.record("\(count)") }.onError { error in seen.record("\(error)") }.start(url)
  }

  static func smallOrLarge(_ data: Data, telling seen: Recorder<String>) {
    let small = toStep { (data: Data) in seen.record("small, \(data.count)") }
    let large = toStep { (data: Data) in seen.record("large, \(data.count)") }
    let chain = toStep { (step: Step<Data, Data>) in
      step.resolve(step.input, then: step.input.count > 100 ? large : small)
    }
    chain.start(data)
  }

  static func inQueue(_ queue: DispatchQueue, parse: @escaping @Sendable (Data) -> Bool, telling seen: Recorder<String>)
  {
    let load = toStep { (count: Int) -> Data in Data(count: count) }
    let chain = load.then("parse", inQueue: queue) { data in parse(data) }
    chain.then { isOnQueue in seen.record("\(isOnQueue)") }.start(1)
  }

  static func inMainQueue(stop: @escaping @Sendable () -> Void) {
    let chain = toStep { (number: Int) -> Int in number }
      .then(inQueue: .main) { number in
        stop()
      }
    chain.start(1)
  }

  static func appended(telling printed: Recorder<String>) {
    let load = toStep { (_: Int) -> Int in throw Failure("no") }
    let show = toStep { (number: Int) -> Int in number }.onError { error in printed.record("inner: \(error)") }
    let chain = load.then(show).onError { error in printed.record("outer: \(error)") }
    chain.finally { _ in printed.record("end") }.start(1)
  }

  static func logging(telling seen: Recorder<String>) {
    let output = DebugLog.output
    DebugLog.output = { line in if line.contains("logged") { seen.record(line) } }
    let chain = toStep(named: "logged") { (number: Int) -> Int in number }
    let ended = DispatchSemaphore(value: 0)
    chain.finally { _ in ended.signal() }
    StepDebugLoggingEnabled = true
    chain.start(1)
    ended.wait()
    StepDebugLoggingEnabled = false
    DebugLog.output = output
  }
}
