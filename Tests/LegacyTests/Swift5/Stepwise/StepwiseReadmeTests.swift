// SPDX-License-Identifier: MIT
// Copyright (c) 2026 Stepwise contributors

import Dispatch
import Foundation
import LegacyStepwise
import StepwiseTesting
import Testing

/// The samples of the README of Stepwise, edition 1.
///
/// Edits that hold for all of them: `println` is `print`, which records here; `init(contentsOfURL:)` of `NSData` is
/// `init(contentsOf:)`, and takes a `URL`; `NSOutputStream` is `OutputStream`.
@Suite(.timeLimit(.minutes(5)))
struct StepwiseReadmeTests {
  let printed = Recorder<String>()
  let states = Recorder<String>()

  func print(_ text: String) { printed.record(text) }

  // Edits: the address is that of a file. What a user does with the image is to record it.
  @available(*, deprecated)
  @Test func `An image is fetched and resized`() async throws {
    let file = FileManager.default.temporaryDirectory.appendingPathComponent("lime-cat-\(UUID()).jpg")
    try Data([64, 48]).write(to: file)
    defer { try? FileManager.default.removeItem(at: file) }
    let images = Recorder<UIImage>()

    let fetchAndResizeImageSteps = toStep { (step: Step<NSURL, UIImage>) in
      // This is the url we pass into the step chain
      let url = step.input

      // Fetch the image data. Obviously we'd be using Alamofire or something irl.
      if let imageData = NSData(contentsOf: url as URL) {
        // Create the image
        // swift-format-ignore: NeverForceUnwrap
        let image = UIImage(data: imageData)!

        // Pass it to the next step
        step.resolve(image)
      } else {
        // Oh no! Something went wrong!
        step.error(NSError(domain: "com.my.domain", code: -1, userInfo: nil))
      }
    }.then { (step: Step<UIImage, UIImage>) in
      // Grab the fetched image
      let image = step.input

      // Resize it
      let targetSize = CGSize(width: image.size.width / 2.0, height: image.size.height / 2.0)
      UIGraphicsBeginImageContextWithOptions(targetSize, true, 0.0)
      image.drawInRect(CGRect(origin: CGPoint(x: 0, y: 0), size: targetSize))
      let resizedImage = UIGraphicsGetImageFromCurrentImageContext()
      UIGraphicsEndImageContext()

      // Return it
      step.resolve(resizedImage)
    }.then { (step: Step<UIImage, Void>) in
      // Get fetched, resized image
      let image = step.input

      // Do something with image here.
      // Set it to a shared variable, pass it to another step, etc.
      images.record(image)
      step.resolve()
    }

    // Having set up the chain of steps, pass in a URL to get fetching.
    let importantImageURL = NSURL(fileURLWithPath: file.path)
    fetchAndResizeImageSteps.start(importantImageURL)

    #expect(await images.elements(atLeast: 1).map(\.size) == [CGSize(width: 32, height: 24)])
  }

  // The text: "If it fails the step results in an error and calls step.error()."
  @available(*, deprecated)
  @Test func `A missing image is an error`() async {
    let errors = Recorder<Int>()
    toStep { (step: Step<NSURL, NSData>) in
      if let data = NSData(contentsOf: step.input as URL) {
        step.resolve(data)
      } else {
        step.error(NSError(domain: "com.my.domain", code: -1, userInfo: nil))
      }
    }.onError { (error: NSError) in
      errors.record(error.code)
    }.start(NSURL(fileURLWithPath: "/nowhere/lime-cat.jpg"))

    #expect(await errors.elements(atLeast: 1) == [-1])
  }

  // Edits: `countElements(step.input)` is `step.input.count`. The last handler is the test's.
  @available(*, deprecated)
  @Test func `The error of a step is printed`() async {
    // prints "ERROR: Error in step 1!"
    toStep { (step: Step<Void, String>) in
      step.error(
        NSError(domain: "com.my.domain", code: -1, userInfo: [NSLocalizedDescriptionKey: "Error in step 1!"])
      )
    }.then { (step: Step<String, Int>) in
      // This never executes.
      print("I never execute!")
      step.resolve(step.input.count)
    }.onError { error in
      print("ERROR: \(error.localizedDescription)")
    }.finally { _ in states.record("end") }.start()

    await states.elements(atLeast: 1)
    #expect(printed.elements == ["ERROR: Error in step 1!"])
  }

  // Edits: the step has a queue, which is suspended, so that the step has not begun when the next line cancels. The recording
  // is the test's.
  @available(*, deprecated)
  @Test func `A chain is cancelled before its step executes`() async {
    let queue = DispatchQueue(label: "suspended")
    queue.suspend()
    let willCancelStep = toStep(queue) { (step: Step<Void, String>) in
      // Will never execute.
      printed.record("executed")
      step.resolve("some result")
    }
    willCancelStep.finally { state in
      if case .Canceled(let token) = state { states.record(token.reason ?? "no reason") }
    }

    willCancelStep.start()

    // Grab the step's token and cancel it.
    let token = willCancelStep.cancellationToken
    token.cancel(reason: "Canceling for a really good reason.")
    queue.resume()

    #expect(await states.elements(atLeast: 1) == ["Canceling for a really good reason."])
    #expect(printed.elements == [])
  }
}
