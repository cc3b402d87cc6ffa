// SPDX-License-Identifier: MIT
// Copyright (c) 2026 Stepwise contributors

import Foundation
import LegacyStepwise
import StepwiseTesting
import Testing

/// The sample of the README of Stepwise, edition 1, that writes to a stream.
///
/// It is not among those for Swift 6, which refuses that two closures and the code around them share a stream: `StepwiseShared`
/// in `Races` has the line and what to write.
@Suite(.timeLimit(.minutes(5)))
struct StepwiseStreamTests {
  let errors = Recorder<String>()
  let states = Recorder<String>()

  // Edits: the two things that the sample assumes are parameters; `bytes` of `NSData` is an untyped pointer, which is bound.
  // The recordings are the test's.
  @available(*, deprecated)
  @Test(arguments: [true, false]) func `The stream is closed whatever happens`(exists: Bool) async throws {
    let file = FileManager.default.temporaryDirectory.appendingPathComponent("some-data-\(UUID())")
    if exists { try Data("some data".utf8).write(to: file) }
    defer { try? FileManager.default.removeItem(at: file) }
    let outputStream: OutputStream = OutputStream(toMemory: ())
    outputStream.open()
    let someDataURL: NSURL = NSURL(fileURLWithPath: file.path)

    toStep { (step: Step<Void, NSData>) in
      if let someData = NSData(contentsOf: someDataURL as URL) {
        step.resolve(someData)
      } else {
        step.error(NSError(domain: "com.my.domain.fetch-data", code: -1, userInfo: nil))
      }
    }.then { (step: Step<NSData, Void>) in
      // Write our data
      let data = step.input
      var bytes = data.bytes.assumingMemoryBound(to: UInt8.self)
      var bytesRemaining = data.length

      while bytesRemaining > 0 {
        let written = outputStream.write(bytes, maxLength: bytesRemaining)
        if written == -1 {
          step.error(NSError(domain: "com.my.domain.write-data", code: -1, userInfo: nil))
          return
        }

        bytesRemaining -= written
        bytes += written
      }

      step.resolve()
    }.onError { error in
      // Handle error here...
      errors.record((error as NSError).domain)
    }.finally { resultState in
      // Close the stream here
      outputStream.close()
      states.record("\(resultState.resolved) \(outputStream.streamStatus == .closed)")
    }.start()

    #expect(await states.elements(atLeast: 1) == ["\(exists) true"])
    #expect(errors.elements == (exists ? [] : ["com.my.domain.fetch-data"]))
    let written = outputStream.property(forKey: .dataWrittenToMemoryStreamKey) as? Data
    #expect(written == (exists ? Data("some data".utf8) : Data()))
  }
}
