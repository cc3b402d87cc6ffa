// SPDX-License-Identifier: MIT
// Copyright (c) 2026 Stepwise contributors

import Foundation
import Loopback
import StepwiseTesting
import Testing

@testable import StepwiseHTTP

/// The number of requests in flight.
///
/// It counts those of the whole process, so it is looked at in a process of its own.
@Suite(.timeLimit(.minutes(5))) struct HTTPActivityTests {
  @Test func `Requests in flight are counted and end at zero`() async {
    await #expect(processExitsWith: .success) {
      let (gate, requested) = (DispatchSemaphore(value: 0), Recorder<Bool>())
      let server = try serve { request in
        requested.record(true)
        if request.path == "/fail" { return .silent }
        gate.wait()
        return .text("done")
      }
      let (url, failing) = (try server.url(), try server.url("/fail"))
      let seen = [Recorder<Int>(), Recorder<Int>()]
      for recorder in seen { Task { for await number in HTTP.activity { recorder.record(number) } } }
      for recorder in seen { await recorder.elements(atLeast: 1) }
      #expect(HTTPActivity.current == 0)

      let requests = (0..<3).map { _ in Task { try await HTTP.get(url) } }
      await requested.elements(atLeast: 3)
      #expect(HTTPActivity.current == 3)
      var iterator = HTTP.activity.makeAsyncIterator()
      #expect(await iterator.next() == 3)

      requests[0].cancel()
      _ = await requests[0].result
      #expect(HTTPActivity.current == 2)
      for _ in 0..<3 { gate.signal() }
      for request in requests { _ = await request.result }
      #expect(HTTPActivity.current == 0)

      _ = try? await HTTP.get(failing)
      _ = try? await HTTP.get(url, deadlines: HTTPDeadlines(headers: .milliseconds(20)))
      _ = try? await HTTP.get("ftp://example.org/")
      _ = try? await HTTP.get(url, body: .bytes(Data()))
      #expect(HTTPActivity.current == 0)
      for recorder in seen {
        while recorder.elements.last != 0 { await recorder.elements(atLeast: recorder.elements.count + 1) }
        #expect(recorder.elements.first == 0)
      }
    }
  }

  @Test func `A consumer ends with its task`() async {
    let watch = Task { for await _ in HTTP.activity {} }
    watch.cancel()
    await watch.value
  }
}
