// SPDX-License-Identifier: MIT
// Copyright (c) 2026 Stepwise contributors

#if os(Linux)
  import Foundation
  import Testing

  @testable import StepwiseHTTP

  /// A libcurl beside the one that Foundation has loaded.
  @Suite(.timeLimit(.minutes(5))) struct OtherLibraryTests {
    private static let compiler = ["/usr/bin/clang", "/usr/bin/cc", "/usr/bin/gcc"]
      .first { FileManager.default.isExecutableFile(atPath: $0) }

    /// It can be initialized only if it finds its own version, and serves nothing.
    private static let source = """
      static struct { int age; const char *text; unsigned number; } version = {0, "libcurl/9.9.9", 0x090909};
      void *curl_version_info(int age) { return &version; }
      int curl_global_init(long flags) { return curl_version_info(0) != (void *)&version; }
      void *curl_easy_init(void) { return 0; }
      void *curl_multi_init(void) { return 0; }
      #define OTHER(name) void *curl_##name(void) { return 0; }
      OTHER(easy_cleanup) OTHER(easy_reset) OTHER(easy_pause) OTHER(easy_setopt) OTHER(easy_getinfo)
      OTHER(slist_append) OTHER(slist_free_all) OTHER(multi_cleanup) OTHER(multi_timeout) OTHER(multi_add_handle)
      OTHER(multi_remove_handle) OTHER(multi_setopt) OTHER(multi_socket_action) OTHER(multi_info_read)
      OTHER(share_init) OTHER(share_cleanup) OTHER(share_setopt)
      """

    /// Its calls would reach the other version, whose structures differ.
    @Test(.enabled(if: compiler != nil))
    func `Another libcurl calls its own functions`() async throws {
      try await inFolder { folder in
        let (code, library) = (folder.appendingPathComponent("curl.c"), folder.appendingPathComponent("libcurl.so"))
        try Data((Self.source + "\n").utf8).write(to: code)
        let process = Process()
        process.executableURL = URL(filePath: try #require(Self.compiler))
        process.arguments = ["-w", "-shared", "-fPIC", "-o", library.path, code.path]
        try process.run()
        process.waitUntilExit()
        #expect(process.terminationStatus == 0)
        await #expect(processExitsWith: .success) { [path = library.path as String] in
          setenv("STEPWISE_LIBCURL", path, 1)
          #expect(CurlTransport() != nil)
        }
      }
    }

    @Test func `A library that is not libcurl is refused`() async {
      await #expect(processExitsWith: .success) {
        setenv("STEPWISE_LIBCURL", "libm.so.6", 1)
        #expect(CurlTransport() == nil)
        await #expect(throws: HTTPError.refused(reason: "")) { try await HTTP.get("http://127.0.0.1:1/") }
      }
    }
  }
#endif
