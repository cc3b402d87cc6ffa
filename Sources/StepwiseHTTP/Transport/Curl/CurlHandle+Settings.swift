// SPDX-License-Identifier: MIT
// Copyright (c) 2026 Stepwise contributors

#if os(Linux) || os(Android)
  import CurlShim
  import Foundation

  extension CurlHandle {
    func apply(_ settings: CurlSettings) throws {
      try apply(settings.tls)
      try apply(settings.proxy)
    }

    private func apply(_ tls: HTTPTLSSettings) throws {
      if let file = tls.certificateAuthorities {
        try set(CurlOption.caFile, file.path)
        // Disables the system's authorities, which would be trusted as well.
        _ = stepwise_curl_easy_set_string(easy, CurlOption.caFolder, nil)
      }
      if !tls.pinnedPublicKeys.isEmpty {
        let pins = tls.pinnedPublicKeys.sorted().map { "sha256//" + $0 }
        try set(CurlOption.pinnedPublicKey, pins.joined(separator: ";"))
      }
      if let certificate = tls.clientCertificate {
        try set(CurlOption.clientCertificateType, "P12")
        try set(CurlOption.clientCertificate, certificate.file.path)
        try set(CurlOption.keyPassword, certificate.password)
      }
    }

    private func apply(_ proxy: HTTPProxy) throws {
      switch proxy.kind {
      case .system: break
      case .none: try set(CurlOption.proxy, "")
      case .server(let url, let hosts):
        guard var parts = URLComponents(url: url, resolvingAgainstBaseURL: true) else { throw HTTPError.invalidURL }
        let (user, password) = (parts.user, parts.password)
        (parts.user, parts.password) = (nil, nil)
        try set(CurlOption.proxy, parts.string ?? "")
        // Set even if it is empty, because the environment's list applies to the environment's proxy.
        try set(CurlOption.noProxy, hosts.joined(separator: ","))
        if let user { try set(CurlOption.proxyUser, user) }
        if let password { try set(CurlOption.proxyPassword, password) }
      }
    }
  }
#endif
