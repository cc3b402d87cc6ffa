// SPDX-License-Identifier: MIT
// Copyright (c) 2026 Stepwise contributors

#if canImport(Darwin)
  import Darwin
#elseif canImport(Glibc)
  import Glibc
#elseif canImport(Musl)
  import Musl
#elseif canImport(Android)
  import Android
#endif

/// A path, and the id on whose behalf it is used: every failure names both, and the operation.
struct FilePlace: Sendable {
  let id: String
  let path: String

  func failure(_ operation: String, _ code: Int32 = errno) -> CheckpointError {
    .io(id: id, location: path, operation: operation, errno: code)
  }

  func damaged(_ reason: String) -> CheckpointError {
    .damaged(id: id, location: path, reason: reason)
  }

  /// Opens the file; a process that this one starts does not inherit it.
  func open(_ flags: Int32) throws(CheckpointError) -> OpenFile {
    // A link is followed to a directory only, and nothing waits for the other end of a pipe.
    let careful = flags & O_DIRECTORY == 0 ? flags | O_NOFOLLOW | O_NONBLOCK : flags
    let descriptor = retrying { systemOpen(path, careful | O_CLOEXEC) }
    guard descriptor >= 0 else { throw failure("open") }
    return OpenFile(descriptor, at: self)
  }

  /// Opens the file if it is there.
  func openIfThere(_ flags: Int32) throws(CheckpointError) -> OpenFile? {
    do {
      return try open(flags)
    } catch .io(_, _, _, ENOENT) {
      return nil
    } catch {
      throw error
    }
  }

  /// Gives the file another name, whose file it replaces.
  func rename(to other: FilePlace) throws(CheckpointError) {
    guard retrying({ systemRename(path, other.path) }) == 0 else { throw other.failure("rename") }
  }

  /// Removes the file; one that is not there is no error.
  func unlink() throws(CheckpointError) {
    guard retrying({ systemUnlink(path) }) != 0, errno != ENOENT else { return }
    let code = errno
    if let file = try? open(O_RDONLY), let status = try? file.status(), status.st_mode & S_IFMT == S_IFDIR {
      throw damaged("a directory is in its place, which only you can remove")
    }
    throw failure("unlink", code)
  }

  /// Makes the directory; one that is there is no error.
  func makeDirectory() throws(CheckpointError) {
    guard retrying({ mkdir(path, 0o777) }) == 0 || errno == EEXIST else { throw failure("mkdir") }
  }

  /// Makes sure that the names in the directory outlive a power failure.
  func syncDirectory() throws(CheckpointError) {
    try open(O_RDONLY | O_DIRECTORY).sync()
  }

  /// The names of the files in the directory.
  func names() throws(CheckpointError) -> [String] {
    guard let directory = opendir(path) else { throw failure("opendir") }
    defer { closedir(directory) }
    var names: [String] = []
    errno = 0
    while let entry = readdir(directory) {
      names.append(
        withUnsafeBytes(of: &entry.pointee.d_name) { bytes in String(decoding: bytes.prefix { $0 != 0 }, as: UTF8.self)
        }
      )
      errno = 0
    }
    guard errno == 0 else { throw failure("readdir") }
    return names
  }
}

/// Repeats an operation that a signal interrupted.
func retrying<Number: SignedInteger>(_ operation: () -> Number) -> Number {
  while true {
    let result = operation()
    if result >= 0 || errno != EINTR { return result }
  }
}

private func systemOpen(_ path: String, _ flags: Int32) -> Int32 { open(path, flags, 0o666) }
private func systemRename(_ old: String, _ new: String) -> Int32 { rename(old, new) }
private func systemUnlink(_ path: String) -> Int32 { unlink(path) }
