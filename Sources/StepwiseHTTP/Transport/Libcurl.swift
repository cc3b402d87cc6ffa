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

    static var version: String { String(cString: stepwise_curl_version()) }
  }

  /// The report of libcurl about a failed transfer, without the URLs in its text.
  struct CurlFailure {
    private let code: Int32
    private let words: String
    private let systemError: Int32
    private let proxyStatus: Int
    private let verifyResult: Int
    /// Whether the head of the response was not complete.
    private let isInHead: Bool
    /// Whether the time to connect was limited.
    private let hasLimit: Bool
    /// The URL of a request that may go through a proxy.
    private let url: URL?

    /// The maximum size of a header line in libcurl.
    private static let lineLimit = 100 * 1024

    init(
      _ code: Int32,
      _ easy: UnsafeMutableRawPointer,
      words: String,
      request: HTTPRequest,
      hasHead: Bool,
      mayHaveProxy: Bool
    ) {
      self.code = code
      self.words = words
      systemError = Int32(stepwise_curl_easy_get_number(easy, CurlInfo.systemError))
      proxyStatus = Int(stepwise_curl_easy_get_number(easy, CurlInfo.proxyConnectStatus))
      verifyResult = Int(stepwise_curl_easy_get_number(easy, CurlInfo.verifyResult))
      isInHead = !hasHead
      hasLimit = request.deadlines?.connect != nil
      url = mayHaveProxy ? request.url : nil
    }

    var error: HTTPError {
      if proxyStatus >= 400 { return .proxy(reason: "it answers \(proxyStatus)") }
      switch code {
      case 1, 3: return words.contains("HTTP/0.9") ? .protocolError(reason: "it has no status line") : .invalidURL
      case 5: return .proxy(reason: "its host is not known")
      case 6: return Network.isUp ? .hostNotFound : .offline
      case 7: return isProxy ? .proxy(reason: connecting.description) : connecting
      case 8: return .protocolError(reason: "its head is malformed")
      case 27, 100:
        if isInHead { return .headersTooLarge(limit: Self.lineLimit) }
        return .protocolError(reason: "its body decompresses to more than libcurl can store")
      case 16, 92, 95:
        return .protocolError(reason: "the frames of HTTP/2 are malformed, or the server gave the request up")
      case 18: return .connectionLost(reason: "the response is not as long as its headers say")
      case 28: return hasLimit ? .timedOut(.connect) : .connectionFailed(reason: "the host does not answer")
      case 52: return .connectionLost(reason: "the server closed it without a response")
      case 55: return .connectionLost(reason: "the server closed it while the request was sent")
      case 56: return receiving
      case 61: return .protocolError(reason: "its body cannot be decompressed")
      case 65: return .connectionLost(reason: "the server closed it, and the request cannot be sent again")
      case 77: return .refused(reason: "the file of certificate authorities cannot be read")
      case 97: return .proxy(reason: "it breaks off")
      case 35, 53, 54, 58, 59, 60, 64, 66, 80, 82, 83, 90, 91, 98: return .tls(security)
      default: return .protocolError(reason: "libcurl reports error \(code)")
      }
    }

    /// Whether libcurl names another host or port than the URL does, which is then that of the proxy.
    private var isProxy: Bool {
      guard let url, let start = words.range(of: "Failed to connect to ") else { return false }
      let parts = words[start.upperBound...].split(separator: " ")
      guard parts.count > 2, parts[1] == "port" else { return false }
      let port = url.port ?? (url.scheme == "https" ? 443 : 80)
      return parts[0].lowercased() != url.host?.lowercased().trimmingCharacters(in: CharacterSet(charactersIn: "[]"))
        || Int(parts[2].prefix { $0.isNumber }) != port
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
      if words.contains("too large response headers") { return .headersTooLarge(limit: 3 * Self.lineLimit) }
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

  /// Numbers of libcurl's interface, which never change.
  enum CurlOption {
    static let writeData: Int32 = 10_001
    static let url: Int32 = 10_002
    static let proxy: Int32 = 10_004
    static let readData: Int32 = 10_009
    static let errorBuffer: Int32 = 10_010
    static let userAgent: Int32 = 10_018
    static let httpHeader: Int32 = 10_023
    static let clientCertificate: Int32 = 10_025
    static let keyPassword: Int32 = 10_026
    static let headerData: Int32 = 10_029
    static let customRequest: Int32 = 10_036
    static let caFile: Int32 = 10_065
    static let clientCertificateType: Int32 = 10_086
    static let caFolder: Int32 = 10_097
    static let acceptEncoding: Int32 = 10_102
    static let privateData: Int32 = 10_103
    static let openData: Int32 = 10_164
    static let seekData: Int32 = 10_168
    static let proxyUser: Int32 = 10_175
    static let proxyPassword: Int32 = 10_176
    static let noProxy: Int32 = 10_177
    static let closeData: Int32 = 10_209
    static let pinnedPublicKey: Int32 = 10_230
    static let useData: Int32 = 10_313
    static let protocols: Int32 = 10_318

    static let writeFunction: Int32 = 20_011
    static let readFunction: Int32 = 20_012
    static let headerFunction: Int32 = 20_079
    static let openFunction: Int32 = 20_163
    static let seekFunction: Int32 = 20_167
    static let closeFunction: Int32 = 20_208
    static let useFunction: Int32 = 20_312

    static let noBody: Int32 = 44
    static let freshConnect: Int32 = 74
    static let upload: Int32 = 46
    static let bufferSize: Int32 = 98
    static let noSignal: Int32 = 99
    static let connectTimeoutMilliseconds: Int32 = 156
    static let pathAsIs: Int32 = 234
    static let suppressConnectHeaders: Int32 = 265
    static let uploadBufferSize: Int32 = 280
    static let quickExit: Int32 = 322

    static let uploadSize: Int32 = 30_115

    /// Of the whole set of transfers.
    static let multiPipelining: Int32 = 3
    static let multiMaxHostConnections: Int32 = 7
    static let multiMaxConnects: Int32 = 6
    static let multiSocketFunction: Int32 = 20_001
    static let multiSocketData: Int32 = 10_002
    static let multiTimerFunction: Int32 = 20_004
    static let multiTimerData: Int32 = 10_005
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
