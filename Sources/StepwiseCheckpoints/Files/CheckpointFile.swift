// SPDX-License-Identifier: MIT
// Copyright (c) 2026 Stepwise contributors

import StepwiseFiles

#if canImport(Darwin)
  import Darwin
#elseif canImport(Glibc)
  import Glibc
#elseif canImport(Musl)
  import Musl
#elseif canImport(Android)
  import Android
#endif

/// The content of a checkpoint file, format 1 to 3.
///
/// Numbers are big-endian.
///
/// | bytes | what |
/// |---|---|
/// | 8 | `STEPWISE` |
/// | 4 | the format |
/// | 8 | the length of the file, from format 2 on without what was appended |
/// | 8 | CRC-64/XZ of these bytes without these 8 |
/// | 8 | the stage counter |
/// | 8 | the schema version |
/// | 8 | the checksum of the record |
/// | 4 + n | the length of the id, and the id |
/// | 4 + n | the length of the progression's name, and the name |
/// | 8 + n | the length of the first stage, and the first stage |
/// | 8 + n | the length of the last stage, and the last stage |
///
/// From format 2 on, entries were appended to the last stage, each in this form:
///
/// | bytes | what |
/// |---|---|
/// | 4 | the length of the entry |
/// | 4 | the same with all bits inverted |
/// | 8 | CRC-64/XZ of the stage counter after the entry, the length and the entry |
/// | n | the entry |
/// | 1 | 0xA5, from format 3 on: zeros at the end of the file were not written |
///
/// An entry that is incomplete at the end of the file was being written when the process or the machine died. It does not
/// count, and the next one replaces it. Every later format keeps the first four fields, so that damage can be
/// distinguished from a newer format.
enum CheckpointFile {
  static let format = 3
  static let magic = Array("STEPWISE".utf8)
  private static let prefixLength = 28

  /// Returns the bytes of a record.
  static func bytes(of record: CheckpointRecord, format: Int = 1) -> [UInt8] {
    let (id, name) = (Array(record.id.utf8), Array(record.progression.utf8))
    let length = prefixLength + 48 + id.count + name.count + record.first.count + record.stage.count
    var bytes = magic
    bytes.reserveCapacity(length)
    bytes += UInt32(format).bigEndianBytes
    bytes += UInt64(length).bigEndianBytes
    bytes += [UInt8](repeating: 0, count: 8)
    bytes += record.version.bigEndianBytes
    bytes += Int64(record.schemaVersion).bigEndianBytes
    bytes += record.checksum.bigEndianBytes
    for text in [id, name] {
      bytes += UInt32(text.count).bigEndianBytes
      bytes += text
    }
    for stage in [record.first, record.stage] {
      bytes += UInt64(stage.count).bigEndianBytes
      bytes += stage
    }
    var sum = CRC64()
    sum.update(bytes[..<20])
    sum.update(bytes[prefixLength...])
    bytes.replaceSubrange(20..<prefixLength, with: sum.value.bigEndianBytes)
    return bytes
  }

  /// Returns the bytes of an entry that is appended as the stage with a number.
  static func bytes(ofEntry entry: [UInt8], version: UInt64) -> [UInt8] {
    let length = UInt32(entry.count)
    var bytes: [UInt8] = []
    bytes.reserveCapacity(entryHeader + entry.count + 1)
    bytes += length.bigEndianBytes
    bytes += (~length).bigEndianBytes
    bytes += sum(ofEntry: entry, version: version).bigEndianBytes
    bytes += entry
    bytes.append(endMark)
    return bytes
  }

  private static let entryHeader = 16
  private static let endMark: UInt8 = 0xa5

  private static func sum(ofEntry entry: [UInt8], version: UInt64) -> UInt64 {
    var sum = CRC64()
    sum.update(version)
    sum.update(UInt64(entry.count))
    sum.update(entry)
    return sum.value
  }

  /// Reads a record.
  ///
  /// It allocates no more memory than the size of the file, whatever the file contains.
  static func record(in file: OpenFile, at path: CheckpointPath) throws(CheckpointError) -> CheckpointRecord {
    var reader = try Reader(file, at: path)
    let (format, expected) = try reader.prefix()
    guard format <= Self.format else {
      try reader.skip()
      try reader.finish(expected)
      throw .newerFormat(id: path.id?.text ?? "", location: path.file.path, format: format, known: Self.format)
    }
    var version = try reader.number(UInt64.self)
    let schemaVersion = try Int(reader.number(Int64.self))
    let checksum = try reader.number(UInt64.self)
    let id = try reader.text()
    let name = try reader.text()
    let first = try reader.bytes(UInt64.self)
    var stage = try reader.bytes(UInt64.self)
    try reader.finish(expected)
    var isAppended = false
    while format > 1, let entry = try reader.entry(version: version + 1, format: format) {
      version += 1
      isAppended = true
      stage += CheckpointEntries.bytes(of: entry)
    }
    var record = CheckpointRecord(
      id: id,
      progression: name,
      schemaVersion: schemaVersion,
      version: version,
      first: first,
      stage: stage
    )
    // What was appended has checksums of its own.
    if !isAppended { record.checksum = checksum }
    return record
  }

  /// Reads only the id, which may be wrong if the file is damaged.
  static func id(in file: OpenFile, at path: CheckpointPath) throws(CheckpointError) -> CheckpointID {
    var reader = try Reader(file, at: path)
    _ = try reader.prefix()
    for _ in 0..<3 { _ = try reader.number(UInt64.self) }
    return try CheckpointID(reader.text())
  }

  /// Reads a file from its start, and never more than remains.
  private struct Reader {
    let file: OpenFile
    let path: CheckpointPath
    /// What is left to read of the first part of the file.
    var left: Int
    /// What was appended to it.
    var appended = 0
    var sum = CRC64()
    /// What was read from the file and not taken yet.
    var buffer: ArraySlice<UInt8> = []

    init(_ file: OpenFile, at path: CheckpointPath) throws(CheckpointError) {
      let status = try path.naming { () throws(FileFailure) in try file.status() }
      switch status.st_mode & S_IFMT {
      case S_IFREG: break
      case S_IFDIR: throw path.damaged("it is a directory")
      default: throw path.damaged("it is not a regular file")
      }
      self.file = file
      self.path = path
      left = Int(status.st_size)
    }

    /// Returns the format and the checksum of a file with the right length.
    mutating func prefix() throws(CheckpointError) -> (format: Int, sum: UInt64) {
      let size = left
      guard try take(8) == CheckpointFile.magic else { throw path.damaged("it does not start with STEPWISE") }
      let format = try number(UInt32.self)
      let length = try number(UInt64.self)
      guard length == UInt64(size) || format > 1 && length < UInt64(size) && length > 28 else {
        throw path.damaged("it has \(size) bytes, and \(length) were written")
      }
      appended = size - Int(length)
      left -= appended
      let checked = sum
      let expected = try number(UInt64.self)
      sum = checked
      guard format > 0 else { throw path.damaged("its format is 0") }
      return (Int(format), expected)
    }

    mutating func number<Number: FixedWidthInteger>(_ type: Number.Type) throws(CheckpointError) -> Number {
      Number(bigEndianBytes: try take(Number.bitWidth / 8))
    }

    mutating func bytes<Length: FixedWidthInteger>(_ type: Length.Type) throws(CheckpointError) -> [UInt8] {
      let length = try number(Length.self)
      guard let count = Int(exactly: length) else { throw path.damaged("it contains an impossible length") }
      return try take(count)
    }

    mutating func text() throws(CheckpointError) -> String {
      guard let text = String(validating: try bytes(UInt32.self), as: UTF8.self) else {
        throw path.damaged("it contains a name that is not UTF-8")
      }
      return text
    }

    /// Reads the next entry; nil at the end, and for one that was not written completely.
    mutating func entry(version: UInt64, format: Int) throws(CheckpointError) -> [UInt8]? {
      let rest = appended
      (left, appended) = (rest, 0)
      guard rest >= CheckpointFile.entryHeader else { return nil }
      let header = try take(CheckpointFile.entryHeader)
      let length = UInt32(bigEndianBytes: header[..<4])
      guard ~length == UInt32(bigEndianBytes: header[4..<8]) else {
        // After a power failure, a file may have its new length, and zeros in place of the new content.
        if header.last == 0, try isZero() { return nil }
        throw path.damaged("the length of an entry does not match its copy")
      }
      let markLength = format > 2 ? 1 : 0
      guard Int(length) + markLength <= left else { return nil }
      let entry = try take(Int(length))
      let mark = try take(markLength).first
      let isIntact = CheckpointFile.sum(ofEntry: entry, version: version) == UInt64(bigEndianBytes: header[8...])
      guard isIntact, mark ?? CheckpointFile.endMark == CheckpointFile.endMark else {
        if left == 0, mark ?? entry.last == 0 { return nil }
        throw path.damaged("the checksum of an entry does not match its content")
      }
      (left, appended) = (0, left)
      return entry
    }

    /// Whether only zeros are left.
    private mutating func isZero() throws(CheckpointError) -> Bool {
      while left > 0 {
        if try take(min(left, 65_536)).contains(where: { $0 != 0 }) { return false }
      }
      return true
    }

    /// Skips the rest.
    mutating func skip() throws(CheckpointError) {
      while left > 0 { _ = try take(min(left, 65_536)) }
    }

    mutating func finish(_ expected: UInt64) throws(CheckpointError) {
      guard left == 0 else { throw path.damaged("it has \(left) extra bytes") }
      guard sum.value == expected else { throw path.damaged("its checksum does not match its content") }
    }

    private mutating func take(_ count: Int) throws(CheckpointError) -> [UInt8] {
      guard count <= left else { throw path.damaged("it is truncated") }
      if buffer.count < count {
        // A small file is read at once.
        let more = max(count - buffer.count, min(left - buffer.count, 16_384))
        buffer = buffer + (try path.naming { () throws(FileFailure) in try file.read(more) })[...]
      }
      guard buffer.count >= count else { throw path.damaged("it is truncated") }
      let bytes = Array(buffer.prefix(count))
      buffer.removeFirst(count)
      left -= count
      sum.update(bytes)
      return bytes
    }
  }
}
