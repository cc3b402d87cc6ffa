// SPDX-License-Identifier: MIT
// Copyright (c) 2026 Stepwise contributors

#if os(Linux) || os(Android)
  import CurlShim
  import Foundation

  /// The report of libcurl about a failed transfer, without the URLs in its text.
  struct CurlFailure {
    private let code: Int32
    private let words: String
    private let systemError: Int32
    private let proxyStatus: Int
    private let verifyResult: Int

    init(_ code: Int32, _ job: CurlJob) {
      self.init(
        code,
        words: job.handle.words,
        systemError: Int32(stepwise_curl_easy_get_long(job.handle.easy, CurlInfo.systemError)),
        proxyStatus: stepwise_curl_easy_get_long(job.handle.easy, CurlInfo.proxyConnectStatus),
        verifyResult: stepwise_curl_easy_get_long(job.handle.easy, CurlInfo.verifyResult)
      )
    }

    init(_ code: Int32, words: String, systemError: Int32 = 0, proxyStatus: Int = 0, verifyResult: Int = 0) {
      self.code = code
      self.words = words
      self.systemError = systemError
      self.proxyStatus = proxyStatus
      self.verifyResult = verifyResult
    }

    var error: HTTPError {
      if proxyStatus >= 400 { return .proxy(reason: "it answers \(proxyStatus)") }
      switch code {
      case 1, 3: return words.contains("HTTP/0.9") ? .protocolError(reason: "it has no status line") : .invalidURL
      case 5: return .proxy(reason: "its host is not known")
      case 6: return Network.isUp ? .hostNotFound : .offline
      case 7: return connecting
      case 8: return .protocolError(reason: "its head is malformed")
      case 16, 92, 95:
        return .protocolError(reason: "the frames of HTTP/2 are malformed, or the server gave the request up")
      case 18: return .connectionLost(reason: "the response is not as long as its headers say")
      case 28: return .connectionFailed(reason: "the host does not answer")
      case 52: return .connectionLost(reason: "the server closed it without a response")
      case 55: return .connectionLost(reason: "the server closed it while the request was sent")
      case 56: return receiving
      case 61: return .protocolError(reason: "its body cannot be decompressed")
      case 65: return .connectionLost(reason: "the body would have to be sent again, and can be read only once")
      case 77: return .refused(reason: "the file of certificate authorities cannot be read")
      case 97: return .proxy(reason: "it breaks off")
      case 35, 53, 54, 58, 59, 60, 64, 66, 80, 82, 83, 90, 91, 98: return .tls(security)
      default: return .protocolError(reason: "libcurl reports error \(code)")
      }
    }

    private var connecting: HTTPError {
      switch systemError {
      case ENETUNREACH, ENETDOWN: return .offline
      case EHOSTUNREACH: return .connectionFailed(reason: "the host cannot be reached")
      case ETIMEDOUT: return .connectionFailed(reason: "the host does not answer")
      case ECONNREFUSED, 0: return .connectionRefused
      default: return .connectionFailed(reason: String(cString: strerror(systemError)))
      }
    }

    /// libcurl uses one number for all errors in received data.
    private var receiving: HTTPError {
      let words = words.lowercased()
      if words.contains("proxy") { return .proxy(reason: "it breaks off") }
      if words.contains("alert") { return .tls(words.contains("certificate") ? .clientCertificate : .handshake) }
      let isBroken = ["reset", "closed", "eof", "recv failure", "broken pipe"].contains { words.contains($0) }
      if isBroken || systemError == ECONNRESET { return .connectionLost(reason: "the server closed it") }
      return .protocolError(reason: "its head or its chunks are malformed")
    }

    private var security: HTTPTLSFailure {
      let words = words.lowercased()
      switch code {
      case 90: return .pinMismatch
      case 58, 98: return .clientCertificate
      case 60:
        // The numbers are OpenSSL's; the texts are those of all libraries.
        if words.contains("expired") || words.contains("not yet valid") || [9, 10].contains(verifyResult) {
          return .expiredCertificate
        }
        let isNameWrong = ["subject name", "hostname", "host name", "does not match"].contains { words.contains($0) }
        return isNameWrong || verifyResult == 62 ? .wrongHost : .untrustedCertificate
      default: return words.contains("certificate required") ? .clientCertificate : .handshake
      }
    }
  }
#endif
