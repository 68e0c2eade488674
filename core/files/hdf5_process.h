#pragma once

// Private to hdf5_reader.cpp: the parent's side of the process that reads a file.

#include "core/base/task.h"
#include "core/files/hdf5_wire.h"

#include <sys/types.h>

namespace headwise::hdf5 {

/// The reading process, one per file. Once it fails, every later question returns the same Error.
class Process {
public:
    /// Starts the process and waits until it has opened the file.
    /// \param file descriptor, open for reading
    /// Errors: Io (it cannot be started), Cancelled, Unsupported, Corrupt.
    static Result<std::unique_ptr<Process>> start(const std::filesystem::path& path, int file,
                                                  const Task& task);

    Process(const Process&) = delete;
    Process& operator=(const Process&) = delete;
    ~Process(); ///< Kills the process.

    Result<std::string> ask(Question question, std::string_view path);
    /// \param asked the path, or encodedBlock()
    Result<Hdf5Array> askNumbers(Question question, std::string_view asked, std::string_view path);
    /// The error for an answer that cannot be decoded.
    Error garbled();

private:
    Process(std::filesystem::path path, std::size_t fileBytes, std::stop_token stop);

    Result<Done> launch(int file);
    int shareMemory();
    Result<Done> expect(Answer kind);
    Result<Done> send(const void* bytes, std::size_t size);
    Result<Done> receive(void* into, std::size_t size);
    Result<Frame> receiveFrame();
    Result<std::string> receivePayload(std::size_t size);
    Result<Done> receiveValues(void* into, std::size_t size);
    Result<Done> wait(short events);
    Error failure(const Frame& frame);
    Error died();
    Error end(Error error);
    int stop();

    std::filesystem::path m_path;
    std::size_t m_limit = 0; ///< Bytes of one answer.
    std::stop_token m_stop;
    pid_t m_pid = -1;
    int m_socket = -1;
    std::span<const std::byte> m_shared; ///< Two halves for values.
    bool m_isReady = false;
    std::optional<Error> m_error;
};

} // namespace headwise::hdf5
