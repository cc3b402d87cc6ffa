// SPDX-License-Identifier: MIT
// Copyright (c) 2026 Stepwise contributors

#if os(Linux) || os(Android)
  import Foundation
  import StepwiseFiles

  /// The body of a request that libcurl reads, on the thread of the transport.
  final class CurlUpload {
    enum Read {
      /// This number of bytes; zero is the end.
      case bytes(Int)
      /// None are available yet.
      case wait
      case failure(any Error)
    }

    private enum Content {
      case bytes(Data)
      case file(OpenFile)
      case chunks(open: @Sendable () throws -> HTTPBody.Source)
    }

    /// A piece that was requested from the source and has not been read yet.
    private enum Piece {
      case none
      case some(Data)
      case end
      case failed(any Error)
    }

    /// The number of bytes, if it is known.
    let length: Int64?
    /// The number of bytes that libcurl has read.
    private(set) var sent: Int64 = 0
    private let content: Content
    /// Called with what the source has returned, by a task.
    private let onPiece: @Sendable (Result<Data?, any Error>, _ generation: Int) -> Void
    private var source: HTTPBody.Source?
    private var piece = Piece.none
    /// The task that requests the next piece, and the number of sources so far.
    private var pull: Task<Void, Never>?
    private var generation = 0

    init(
      _ body: HTTPBody.Content,
      onPiece: @escaping @Sendable (Result<Data?, any Error>, _ generation: Int) -> Void
    ) throws {
      self.onPiece = onPiece
      switch body {
      case .bytes(let data):
        content = .bytes(data)
        length = Int64(data.count)
      case .file(let file):
        let (open, length) = try UploadFile.open(file)
        content = .file(open)
        self.length = length
      case .chunks(let length, let open):
        content = .chunks(open: open)
        self.length = length
      }
    }

    func close() { pull?.cancel() }

    func read(into buffer: UnsafeMutableRawBufferPointer) -> Read {
      let result: Read
      switch content {
      case .bytes(let data):
        result = .bytes(data.dropFirst(Int(sent)).prefix(buffer.count).copyBytes(to: buffer))
      case .file(let file):
        let count = pread(file.descriptor, buffer.baseAddress, buffer.count, off_t(sent))
        result = count >= 0 ? .bytes(count) : .failure(POSIXError(POSIXError.Code(rawValue: errno) ?? .EIO))
      case .chunks(let open): result = readPiece(open, into: buffer)
      }
      guard case .bytes(let count) = result else { return result }
      sent += Int64(count)
      if count == 0, let length, sent < length { return .failure(Self.wrongLength) }
      return result
    }

    /// Moves back to the offset at which libcurl wants to restart; returns whether that is possible.
    func seek(to offset: Int64) -> Bool {
      switch content {
      case .bytes, .file:
        sent = offset
        return true
      case .chunks:
        guard offset == 0 else { return false }
        pull?.cancel()
        pull = nil
        (source, piece, sent) = (nil, .none, 0)
        generation += 1
        return true
      }
    }

    private func readPiece(
      _ open: () throws -> HTTPBody.Source,
      into buffer: UnsafeMutableRawBufferPointer
    ) -> Read {
      switch piece {
      case .none:
        do { try pullNext(open) } catch { return .failure(Self.failure(error)) }
        return .wait
      case .end: return .bytes(0)
      case .failed(let error): return .failure(Self.failure(error))
      case .some(let data):
        let room = min(buffer.count, length.map { Int(clamping: $0 - sent) } ?? .max)
        let count = data.prefix(room).copyBytes(to: buffer)
        piece = count < data.count ? .some(data.dropFirst(count)) : .none
        if case .none = piece {
          // The next piece is requested while this one is sent.
          do { try pullNext(open) } catch { piece = .failed(error) }
        }
        return .bytes(count)
      }
    }

    private func pullNext(_ open: () throws -> HTTPBody.Source) throws {
      guard pull == nil else { return }
      // Storing the closure again would wrap it once more for each piece.
      if source == nil { source = try open() }
      guard let source else { return }
      pull = Task { [onPiece, generation] in
        let result: Result<Data?, any Error>
        do {
          var data = try await source()
          while let found = data, found.isEmpty, !Task.isCancelled { data = try await source() }
          result = .success(data)
        } catch {
          result = .failure(error)
        }
        onPiece(result, generation)
      }
    }

    func receive(_ result: Result<Data?, any Error>, generation: Int) {
      guard generation == self.generation else { return }
      pull = nil
      switch result {
      case .success(let data?): piece = .some(data)
      case .success(nil): piece = .end
      case .failure(let error): piece = .failed(error)
      }
    }

    private static func failure(_ error: any Error) -> HTTPError {
      error as? HTTPError ?? .request(underlying: error)
    }

    private static var wrongLength: HTTPError { .refused(reason: "the body is shorter than announced") }
  }
#endif
