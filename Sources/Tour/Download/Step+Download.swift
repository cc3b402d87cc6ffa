// SPDX-License-Identifier: MIT
// Copyright (c) 2026 Stepwise contributors

import Foundation
import Stepwise

#if canImport(FoundationNetworking)
  import FoundationNetworking
#endif

extension Step<URL, [UInt8]> {
  /// Fetches what is behind an address, and reports how much of it is there.
  ///
  /// URLSession tells its delegate, on a thread of its own; the resolver brings that back to the chain.
  static var download: Step {
    .callback("download") { url, resolver in
      var request = URLRequest(url: url)
      request.timeoutInterval = Download.patience
      let delegate = Download(from: url, resolver)
      let session = URLSession(configuration: .ephemeral, delegate: delegate, delegateQueue: nil)
      let task = session.dataTask(with: request)
      resolver.onCancel { _ in task.cancel() }
      task.resume()
      session.finishTasksAndInvalidate()  // or else it would keep its delegate for ever
    }
  }
}
