// SPDX-License-Identifier: MIT
// Copyright (c) 2026 Stepwise contributors

#if os(Linux)
  import Foundation
  import Loopback
  import Stepwise
  import StepwiseTesting
  import Testing

  @testable import StepwiseHTTP

  /// What the thread of a transport owns: descriptors and transfers.
  @Suite(.timeLimit(.minutes(5))) struct CurlEngineTests {
    @Test(arguments: ["", "Connection: close\r\n"], [nil, 100])
    func `A refused upload does not wait for its source`(field: String, length: Int64?) async throws {
      let waits = DispatchSemaphore(value: 0)
      let server = try RawServer { head in
        if head.hasPrefix("PUT") { waits.wait() }
        let text = "HTTP/1.1 413 Too Large\r\nContent-Length: 3\r\n\(field)\r\nbig"
        return RawServer.Answer(text, end: field.isEmpty ? .hold : .close)
      }
      let client = HTTPClient(baseURL: try server.url(), session: HTTPSession())
      let body = HTTPBody(
        content: .chunks(length: length) {
          {
            waits.signal()
            try await Task.sleep(for: .seconds(3_600))
            return nil
          }
        },
        type: ""
      )
      let response = try await client.put(body: body)
      #expect(response.status == 413 && response.text == "big")
      #expect(try await client.get().text == "big")
      #expect(server.requests.count == 2)
    }

    @Test func `A child process inherits no socket of a transport`() async {
      await #expect(processExitsWith: .success) {
        func inherited() -> Set<Int32> { Set((0..<256).filter { fcntl($0, F_GETFD) & FD_CLOEXEC == 0 }) }
        let server = try serve { _ in .text("ok") }
        let url = try server.url()
        let before = inherited()
        #expect(try await HTTP.get(url).status == 200)
        #expect(inherited().isSubset(of: before))
      }
    }

    @Test func `A transport that has ended retains no transfer`() async {
      await #expect(processExitsWith: .success) {
        let (entered, gate, returned) = (Recorder<Bool>(), Once<Void>(), Recorder<Bool>())
        let (server, port) = (try serve { _ in .text("ok") }, try DeadPort())
        let url = try port.url
        // From here on the transport alone creates descriptors to wait with.
        _ = try await HTTP.get(server.url())
        let before = pollDescriptors()
        let transport = try #require(CurlTransport())
        let body = HTTPBody(
          content: .chunks(length: nil) {
            {
              entered.record(true)
              await gate.valueIgnoringCancellation()
              returned.record(true)
              return nil
            }
          },
          type: ""
        )
        weak var transfer: CurlTransfer?
        do {
          let new = try #require(transport.transfer(HTTPRequest(method: "PUT", url: url, body: body)) as? CurlTransfer)
          transfer = new
          let head = Task { try await new.head() }
          await entered.elements(atLeast: 1)
          new.cancel()
          await #expect(throws: CancellationError.self) { try await head.value }
        }
        let during = pollDescriptors()
        #expect(during == before + 1, "\(during) after \(before)")
        transport.invalidate()
        #expect(await becomesTrue { pollDescriptors() == before })
        gate.settle(())
        await returned.elements(atLeast: 1)
        #expect(await becomesTrue { transfer == nil })
      }
    }

    @Test func `Requests recover from a full table of descriptors`() async throws {
      let server = try serve { _ in .text("ok") }
      let url = try server.url()
      await #expect(processExitsWith: .success) { [url = url as URL] in
        LoopbackServer.bypassProxy()
        let (early, late) = (HTTPSession(proxy: .none), HTTPSession(proxy: .none))
        #expect(try await HTTPClient(baseURL: url, session: early).get().status == 200)
        var limit = rlimit(rlim_cur: 200, rlim_max: 200)
        setrlimit(__rlimit_resource_t(RLIMIT_NOFILE.rawValue), &limit)
        var descriptors: [Int32] = []
        while case let new = open("/dev/null", O_RDONLY | O_CLOEXEC), new >= 0 { descriptors.append(new) }
        let other = try #require(URL(string: "http://127.0.0.2:\(url.port ?? 0)/"))
        for (address, session) in [(url, HTTPSession(proxy: .none)), (url, late), (other, early)] {
          let error = await #expect(throws: HTTPError.self) {
            try await HTTPClient(baseURL: address, session: session).get()
          }
          let text = String(describing: error)
          #expect(text.contains("descriptors") || text.contains("open files"), "\(text)")
        }
        for descriptor in descriptors { close(descriptor) }
        for session in [early, late] {
          #expect(try await HTTPClient(baseURL: url, session: session).get().status == 200)
        }
      }
    }

    /// A child process that is just starting may share the connection.
    @Test(.enabled(if: isMeasurable))
    func `A closed connection that remains open elsewhere wakes no thread`() async {
      await #expect(processExitsWith: .success) {
        let port = try DeadPort()
        let url = try port.url
        let request = Task { try await HTTP.get(url) }
        let connection = try #require(await onThread { port.waitForConnection() })
        _ = await onThread { connection.receive() }
        let copies = (0..<256).filter { peerPort($0) == port.port }.map { dup($0) }
        #expect(copies.count == 1)
        request.cancel()
        await #expect(throws: CancellationError.self) { try await request.value }
        // Another request, so that the first one's connection is closed.
        let other = try serve { _ in .text("ok") }
        #expect(try await HTTP.get(other.url()).status == 200)
        connection.close()
        var used: [Duration] = []
        while used.count < 10, used.last.map({ $0 > .milliseconds(20) }) ?? true {
          let before = processorTime()
          try? await ContinuousClock().pause(.seconds(1))
          used.append(processorTime() - before)
        }
        #expect(used.last.map { $0 <= .milliseconds(20) } == true, "\(used) of a second each")
      }
    }
  }

  /// How many descriptors of this process wait for others; each thread of a transport has one.
  private func pollDescriptors() -> Int {
    let (files, folder) = (FileManager.default, "/proc/self/fd")
    let names = (try? files.contentsOfDirectory(atPath: folder)) ?? []
    return names.count { (try? files.destinationOfSymbolicLink(atPath: "\(folder)/\($0)")) == "anon_inode:[eventpoll]" }
  }

  /// The port at the other end of a connection; nil for other descriptors.
  private func peerPort(_ descriptor: Int32) -> UInt16? {
    var address = sockaddr_in()
    var size = socklen_t(MemoryLayout<sockaddr_in>.size)
    let result = withUnsafeMutablePointer(to: &address) { address in
      address.withMemoryRebound(to: sockaddr.self, capacity: 1) { getpeername(descriptor, $0, &size) }
    }
    return result == 0 && address.sin_family == sa_family_t(AF_INET) ? UInt16(bigEndian: address.sin_port) : nil
  }
#endif
