// SPDX-License-Identifier: MIT
// Copyright (c) 2026 Stepwise contributors

#if os(Linux) || os(Android)
  import CurlShim
  import Foundation

  /// The libcurl of the system.
  enum CurlLibrary {
    /// What is loaded: the file that this variable of the environment names, or the one that Foundation loads as well.
    static let variable = "STEPWISE_LIBCURL"

    /// Whether it can be used; the first access loads it, and says on standard error why it cannot be.
    static let isAvailable: Bool = {
      let name = ProcessInfo.processInfo.environment[variable] ?? "libcurl.so.4"
      guard let problem = stepwise_curl_load(name) else { return true }
      let line = "StepwiseHTTP: \(name): \(String(cString: problem)). Requests are refused; install libcurl.\n"
      FileHandle.standardError.write(Data(line.utf8))
      return false
    }()
  }

  /// The errors of failed transfers, without the URLs in libcurl's words.
  extension CurlJob {
    private func number(_ info: Int32) -> Int { Int(stepwise_curl_easy_get_number(handle.easy, info)) }

    /// Returns the error for one of libcurl's numbers.
    func error(_ code: Int32) -> HTTPError {
      // The maximum size of a header line in libcurl.
      let lineLimit = 100 * 1024
      let words = handle.words
      let proxyStatus = number(CurlInfo.proxyConnectStatus)
      if proxyStatus >= 400 { return .proxy(reason: "it answers \(proxyStatus)") }
      switch code {
      case 1, 3: return words.contains("HTTP/0.9") ? .protocolError(reason: "it has no status line") : .invalidURL
      case 5: return .proxy(reason: "its host is not known")
      case 6: return Network.isUp ? .hostNotFound : .offline
      case 7: return isProxy(words) ? .proxy(reason: connecting.description) : connecting
      case 8: return .protocolError(reason: "its head is malformed")
      case 27, 100: return .headersTooLarge(limit: lineLimit)
      case 16, 92, 95:
        return .protocolError(reason: "the frames of HTTP/2 are malformed, or the server cancelled the request")
      case 18: return TransferFailure.tooShort
      case 28:
        let hasLimit = transfer.request.deadlines?.connect != nil
        return hasLimit ? .timedOut(.connect) : .connectionFailed(reason: "the host does not answer")
      case 52: return TransferFailure.noAnswer
      case 55: return .connectionLost(reason: "the server closed it while the request was sent")
      case 56: return receiving(words.lowercased(), lineLimit: lineLimit)
      case 61: return .protocolError(reason: "its body has a transfer encoding that was not offered")
      case 65: return .connectionLost(reason: "the server closed it, and the request cannot be sent again")
      case 77: return .refused(reason: "the file of certificate authorities cannot be read")
      case 97: return .proxy(reason: "it breaks off")
      case 35, 53, 54, 58, 59, 60, 64, 66, 80, 82, 83, 90, 91, 98: return .tls(security(code, words.lowercased()))
      default: return .protocolError(reason: "libcurl reports error \(code)")
      }
    }

    /// Whether libcurl names another host or port than the URL does, which is then that of the proxy.
    private func isProxy(_ words: String) -> Bool {
      let url = transfer.request.url
      guard engine.loop.settings.mayHaveProxy, let start = words.range(of: "Failed to connect to ") else {
        return false
      }
      let parts = words[start.upperBound...].split(separator: " ")
      guard parts.count > 2, parts[1] == "port" else { return false }
      let port = url.port ?? (url.scheme == "https" ? 443 : 80)
      return parts[0].lowercased() != url.host?.lowercased().trimmingCharacters(in: CharacterSet(charactersIn: "[]"))
        || Int(parts[2].prefix { $0.isNumber }) != port
    }

    private var connecting: HTTPError {
      let systemError = Int32(number(CurlInfo.systemError))
      switch systemError {
      case ENETUNREACH, ENETDOWN: return .offline
      case EHOSTUNREACH: return .connectionFailed(reason: "the host cannot be reached")
      case ETIMEDOUT: return .connectionFailed(reason: "the host does not answer")
      case ECONNREFUSED, 0: return .connectionRefused
      default: return .connectionFailed(reason: String(cString: strerror(systemError)))
      }
    }

    /// libcurl uses one number for all errors in received data.
    private func receiving(_ words: String, lineLimit: Int) -> HTTPError {
      if words.contains("proxy") { return .proxy(reason: "it breaks off") }
      if words.contains("alert") { return .tls(words.contains("certificate") ? .clientCertificate : .handshake) }
      if words.contains("too large response headers") { return .headersTooLarge(limit: 3 * lineLimit) }
      let isBroken = ["reset", "closed", "eof", "recv failure", "broken pipe"].contains { words.contains($0) }
      if isBroken || number(CurlInfo.systemError) == Int(ECONNRESET) {
        return .connectionLost(reason: "the server closed it")
      }
      return .protocolError(reason: "its head or its chunks are malformed")
    }

    private func security(_ code: Int32, _ words: String) -> HTTPTLSFailure {
      switch code {
      case 90: return .pinMismatch
      case 58, 98: return .clientCertificate
      case 60:
        // The numbers are OpenSSL's; the texts are those of all libraries.
        let verifyResult = number(CurlInfo.verifyResult)
        if words.contains("expired") || words.contains("not yet valid") || [9, 10].contains(verifyResult) {
          return .expiredCertificate
        }
        let isNameWrong = ["subject name", "hostname", "host name", "does not match"].contains { words.contains($0) }
        return isNameWrong || verifyResult == 62 ? .wrongHost : .untrustedCertificate
      default: return words.contains("certificate required") ? .clientCertificate : .handshake
      }
    }
  }

  /// The functions that libcurl calls.
  enum CurlCallback {
    typealias Context = UnsafeMutableRawPointer?
    typealias Data = @convention(c) (UnsafeMutablePointer<CChar>?, Int, Int, Context) -> Int
    typealias Seek = @convention(c) (Context, Int64, Int32) -> Int32
    typealias Open = @convention(c) (Context, Int32, UnsafeMutableRawPointer?) -> Int32
    typealias Close = @convention(c) (Context, Int32) -> Int32
    typealias Use =
      @convention(c) (
        Context, UnsafePointer<CChar>?, UnsafePointer<CChar>?, _ serverPort: Int32, _ clientPort: Int32
      ) -> Int32
    typealias Socket = @convention(c) (_ easy: Context, Int32, _ what: Int32, Context, _ socket: Context) -> Int32
    typealias Timer = @convention(c) (_ multi: Context, _ milliseconds: Int, Context) -> Int32
  }

  enum CurlInfo {
    static let privateData: Int32 = 0x10_0000 + 21
    static let nameLookupTime: Int32 = 0x60_0000 + 51
    static let verifyResult: Int32 = 0x20_0000 + 13
    static let systemError: Int32 = 0x20_0000 + 25
    static let proxyConnectStatus: Int32 = 0x20_0000 + 22
  }

  enum CurlValue {
    /// What the callbacks return so that libcurl calls again after the transfer has been continued.
    static let pause = 0x1000_0001
    static let abort = 0x1000_0000
    static let pauseReceiving: Int32 = 1
    static let pauseSending: Int32 = 4
    static let seekDone: Int32 = 0
    static let seekImpossible: Int32 = 2
    static let timeout: Int32 = -1
  }

  /// The network of this machine.
  enum Network {
    /// Whether there is an interface other than the loopback that has an address.
    static var isUp: Bool {
      var first: UnsafeMutablePointer<ifaddrs>?
      guard getifaddrs(&first) == 0 else { return true }
      defer { freeifaddrs(first) }
      var entry = first
      while let interface = entry?.pointee {
        entry = interface.ifa_next
        guard let family = interface.ifa_addr?.pointee.sa_family else { continue }
        let isUp = interface.ifa_flags & UInt32(IFF_UP) != 0
        let isLoopback = interface.ifa_flags & UInt32(IFF_LOOPBACK) != 0
        if isUp, !isLoopback, family == sa_family_t(AF_INET) || family == sa_family_t(AF_INET6) { return true }
      }
      return false
    }
  }
#endif
