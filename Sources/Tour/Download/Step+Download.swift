// SPDX-License-Identifier: MIT
// Copyright (c) 2026 Stepwise contributors

import Foundation
import Stepwise

#if canImport(FoundationNetworking)
  import FoundationNetworking
#endif

extension Step<URL, [UInt8]> {
  /// Fetches a URL, and reports the progress.
  ///
  /// URLSession calls its delegate on its own thread; the resolver passes the result to the chain.
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
