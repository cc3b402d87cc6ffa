// SPDX-License-Identifier: MIT
// Copyright (c) 2026 Stepwise contributors

#if os(Linux) || os(macOS)
  /// A library that is loaded before the C library and kills its process at a chosen call to the file system.
  struct KillShim {
    private let library: String

    /// Compiles the library.
    init(in directory: String) throws {
      #if os(Linux)
        guard !directory.contains(where: { " :".contains($0) }) else {
          throw CrashHarnessError(
            reason: """
              the path of the workspaces, \(directory), has a space or a colon, at which LD_PRELOAD would cut it off; give \
              workspaces without them, or none
              """
          )
        }
        library = directory + "/kill-shim.so"
        let source = directory + "/kill-shim.c"
        try ChildProcess.write(Self.source, to: source)
        var output = ""
        for compiler in ["clang", "cc"] {
          let arguments = ["-shared", "-fPIC", "-O1", "-o", library, source, "-ldl"]
          guard let child = try? ChildProcess(compiler, arguments, output: directory + "/compiler-output") else {
            continue
          }
          let end = child.wait(limit: .seconds(300))
          if end.code == 0 { return }
          output += end.output
        }
        throw CrashHarnessError(reason: "the library that kills cannot be compiled: \(output)")
      #else
        throw CrashHarnessError(reason: "a child can only be killed at each call on Linux")
      #endif
    }

    /// Returns the variables that select where the library kills.
    ///
    /// - Parameters:
    ///   - call: The call before which the process is killed; the first one is 1, and 0 kills nothing.
    ///   - torn: Whether half of a write is performed first.
    ///   - directory: Only calls that concern a file in this directory count.
    /// - Returns: The variables of the child.
    func environment(call: Int, torn: Bool, under directory: String) -> [String: String] {
      ["LD_PRELOAD": library, "KILL_AT": "\(call)", "KILL_TORN": torn ? "1" : "0", "KILL_UNDER": directory]
    }

    private static let source = """
      #define _GNU_SOURCE
      #include <dlfcn.h>
      #include <fcntl.h>
      #include <signal.h>
      #include <stdarg.h>
      #include <stdatomic.h>
      #include <stdio.h>
      #include <stdlib.h>
      #include <string.h>
      #include <sys/file.h>
      #include <sys/stat.h>
      #include <sys/types.h>
      #include <unistd.h>

      static atomic_long calls;

      #define NEXT(name) ((__typeof__(&name))dlsym(RTLD_NEXT, #name))

      static void note(const char *name, const char *path) {
        const char *log = getenv("KILL_LOG");
        if (!log) return;
        char line[4200];
        int length = snprintf(line, sizeof line, "%s %s\\n", name, path);
        int file = NEXT(open)(log, O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC, 0666);
        if (file < 0) return;
        NEXT(write)(file, line, length);
        NEXT(close)(file);
      }

      // Whether this call is the one to kill at.
      static int is_last(const char *name, const char *path) {
        const char *under = getenv("KILL_UNDER"), *at = getenv("KILL_AT");
        if (!path || !under || !at || strncmp(path, under, strlen(under)) != 0) return 0;
        note(name, path);
        return atomic_fetch_add(&calls, 1) + 1 == atol(at);
      }

      static void die(void) {
        kill(getpid(), SIGKILL);
        for (;;) pause();
      }

      static void path_call(const char *name, const char *path) { if (is_last(name, path)) die(); }

      static int is_last_of(const char *name, int file) {
        char link[64], path[4096];
        snprintf(link, sizeof link, "/proc/self/fd/%d", file);
        ssize_t length = readlink(link, path, sizeof path - 1);
        if (length < 0) return 0;
        path[length] = 0;
        return is_last(name, path);
      }

      static void file_call(const char *name, int file) { if (is_last_of(name, file)) die(); }

      int open(const char *path, int flags, ...) {
        va_list list;
        va_start(list, flags);
        int mode = va_arg(list, int);
        va_end(list);
        path_call("open", path);
        return NEXT(open)(path, flags, mode);
      }

      int open64(const char *path, int flags, ...) {
        va_list list;
        va_start(list, flags);
        int mode = va_arg(list, int);
        va_end(list);
        path_call("open", path);
        return NEXT(open64)(path, flags, mode);
      }

      ssize_t write(int file, const void *bytes, size_t count) {
        if (is_last_of("write", file)) {
          const char *torn = getenv("KILL_TORN");
          if (torn && *torn == '1') NEXT(write)(file, bytes, count / 2);
          die();
        }
        return NEXT(write)(file, bytes, count);
      }

      ssize_t pwrite(int file, const void *bytes, size_t count, off_t offset) {
        if (is_last_of("pwrite", file)) {
          const char *torn = getenv("KILL_TORN");
          if (torn && *torn == '1') NEXT(pwrite)(file, bytes, count / 2, offset);
          die();
        }
        return NEXT(pwrite)(file, bytes, count, offset);
      }

      ssize_t read(int file, void *bytes, size_t count) { file_call("read", file); return NEXT(read)(file, bytes, count); }
      int fsync(int file) { file_call("fsync", file); return NEXT(fsync)(file); }
      int flock(int file, int operation) { file_call("flock", file); return NEXT(flock)(file, operation); }
      int fstat(int file, struct stat *status) { file_call("fstat", file); return NEXT(fstat)(file, status); }
      int close(int file) { file_call("close", file); return NEXT(close)(file); }
      int unlink(const char *path) { path_call("unlink", path); return NEXT(unlink)(path); }
      int mkdir(const char *path, mode_t mode) { path_call("mkdir", path); return NEXT(mkdir)(path, mode); }
      int rename(const char *old, const char *new) { path_call("rename", new); return NEXT(rename)(old, new); }

      """
  }
#endif
