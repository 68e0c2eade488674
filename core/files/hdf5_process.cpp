#include "core/files/hdf5_process.h"

#include "core/base/memory.h"
#include "core/files/hdf5_program.h"

#include <algorithm>
#include <array>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstring>
#include <fcntl.h>
#include <new>
#include <poll.h>
#include <spawn.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>
#include <utility>

extern char** environ;

namespace headwise::hdf5 {
namespace {

// Descriptors of the new process besides the standard ones.
constexpr int programNumber = STDERR_FILENO + 1;
constexpr int sharedNumber = programNumber + 1;
constexpr int pollMilliseconds = 50;
// allows for a slow disk; a busy processor reaches its own limit long before
constexpr std::chrono::seconds mostSilence{60};
constexpr std::size_t stepBytes = std::size_t(1) << 20;
constexpr std::size_t largeBytes = std::size_t(64) << 20;

/// A descriptor that is closed with the object.
class Descriptor {
public:
    explicit Descriptor(int number)
        : m_number(number)
    {
    }
    Descriptor(const Descriptor&) = delete;
    Descriptor& operator=(const Descriptor&) = delete;
    ~Descriptor()
    {
        if (m_number >= 0)
            close(m_number);
    }
    int get() const { return m_number; }
    int release() { return std::exchange(m_number, -1); }

private:
    int m_number;
};

/// Returns a copy with a number that the new process does not use.
int aboveStandard(int number)
{
    return number < 0 ? -1 : fcntl(number, F_DUPFD_CLOEXEC, sharedNumber + 1);
}

/// Returns the child program as an unnamed file, created once. An installation can therefore neither lack it nor have
/// another version of it.
int programFile()
{
    static const int file = [] {
        const Descriptor made(memfd_create("headwise-hdf5", MFD_CLOEXEC | MFD_ALLOW_SEALING));
        const std::span<const char> program = childProgram();
        for (std::size_t done = 0; made.get() >= 0 && done < program.size();) {
            const ssize_t count = write(made.get(), program.data() + done, program.size() - done);
            if (count > 0)
                done += static_cast<std::size_t>(count);
            else if (errno != EINTR)
                return -1;
        }
        if (made.get() >= 0)
            fcntl(made.get(), F_ADD_SEALS, F_SEAL_WRITE | F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL);
        return aboveStandard(made.get());
    }();
    return file;
}

std::string wordsOf(int code)
{
    return std::generic_category().message(code);
}

} // namespace

Process::Process(std::filesystem::path path, std::size_t fileBytes, std::stop_token stop)
    : m_path(std::move(path))
    , m_limit(unpackLimit(fileBytes))
    , m_stop(std::move(stop))
{
}

Process::~Process()
{
    stop();
    if (!m_shared.empty())
        munmap(const_cast<std::byte*>(m_shared.data()), m_shared.size());
}

Result<std::unique_ptr<Process>> Process::start(const std::filesystem::path& path, int file, const Task& task)
{
    struct stat status { };
    if (fstat(file, &status) != 0)
        return Error{ErrorCode::Io, "Cannot read '" + path.string() + "': " + wordsOf(errno) + "."};
    std::unique_ptr<Process> process(new Process(path, static_cast<std::size_t>(status.st_size), task.stop));
    if (const Result<Done> launched = process->launch(file); !launched)
        return launched.error();
    if (const Result<Done> ready = process->expect(Answer::Ready); !ready)
        return ready.error();
    process->m_isReady = true;
    if (const Result<Done> opened = process->expect(Answer::Good); !opened)
        return opened.error();
    return process;
}

/// Creates the shared memory for values, with a size that the other process cannot change. Returns its descriptor, or -1.
int Process::shareMemory()
{
    rlimit limit = {};
    const bool isLimited = getrlimit(RLIMIT_FSIZE, &limit) == 0 && limit.rlim_cur / 2 < mostHalfBytes;
    const std::size_t size = 2 * (isLimited ? std::size_t(limit.rlim_cur / 2) : mostHalfBytes);
    const Descriptor made(memfd_create("headwise-values", MFD_CLOEXEC | MFD_ALLOW_SEALING));
    if (made.get() < 0 || ftruncate(made.get(), static_cast<off_t>(size)) != 0
        || fcntl(made.get(), F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL) != 0)
        return -1;
    void* memory = mmap(nullptr, size, PROT_READ, MAP_SHARED, made.get(), 0);
    if (memory == MAP_FAILED)
        return -1;
    m_shared = std::span(static_cast<const std::byte*>(memory), size);
    return aboveStandard(made.get());
}

Result<Done> Process::launch(int file)
{
    const auto fails = [&](int code) {
        return Error{ErrorCode::Io,
                     "Cannot start the process that reads '" + m_path.string() + "': " + wordsOf(code) + "."};
    };
    std::array<int, 2> pair{};
    if (programFile() < 0 || socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair.data()) != 0)
        return fails(errno);
    m_socket = pair[0];
    const Descriptor given(pair[1]);
    const Descriptor socket(aboveStandard(given.get()));
    const Descriptor source(aboveStandard(file));
    const Descriptor values(shareMemory());
    if (socket.get() < 0 || source.get() < 0 || values.get() < 0)
        return fails(errno);

    posix_spawn_file_actions_t actions;
    posix_spawn_file_actions_init(&actions);
    posix_spawn_file_actions_adddup2(&actions, socket.get(), STDIN_FILENO);
    posix_spawn_file_actions_adddup2(&actions, source.get(), STDOUT_FILENO);
    posix_spawn_file_actions_adddup2(&actions, programFile(), programNumber);
    posix_spawn_file_actions_adddup2(&actions, values.get(), sharedNumber);
    posix_spawn_file_actions_addopen(&actions, STDERR_FILENO, "/dev/null", O_WRONLY, 0);
    posix_spawn_file_actions_addclosefrom_np(&actions, sharedNumber + 1);
    const std::string program = "/proc/self/fd/" + std::to_string(programNumber);
    std::string name = "headwise-hdf5";
    std::string path = m_path.string();
    std::array<char*, 3> arguments{name.data(), path.data(), nullptr};
    posix_spawnattr_t attributes;
    posix_spawnattr_init(&attributes);
    sigset_t none;
    sigemptyset(&none);
    sigset_t usual;
    sigfillset(&usual);
    posix_spawnattr_setsigmask(&attributes, &none);
    posix_spawnattr_setsigdefault(&attributes, &usual);
    // Ctrl+C must not interrupt the child: the parent decides when it ends.
    posix_spawnattr_setflags(&attributes,
                             POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF | POSIX_SPAWN_SETPGROUP);
    const int code = posix_spawn(&m_pid, program.c_str(), &actions, &attributes, arguments.data(), environ);
    posix_spawnattr_destroy(&attributes);
    posix_spawn_file_actions_destroy(&actions);
    if (code != 0) {
        m_pid = -1;
        return fails(code);
    }
    return Done{};
}

/// Ends the process and returns its exit status, or 0 if there is none.
int Process::stop()
{
    int status = 0;
    if (m_socket >= 0)
        close(std::exchange(m_socket, -1));
    if (m_pid > 0) {
        kill(m_pid, SIGKILL);
        while (waitpid(m_pid, &status, 0) < 0 && errno == EINTR) { }
        m_pid = -1;
    }
    return status;
}

Error Process::end(Error error)
{
    stop();
    m_error = error;
    return error;
}

Error Process::garbled()
{
    return end({ErrorCode::Corrupt, "'" + m_path.string() + "' is damaged: its contents make no sense."});
}

/// Explains why the process closed its side: it has ended or is about to.
Error Process::died()
{
    const int status = stop(); // a process that has ended keeps its own status
    if (!m_isReady)
        return end({ErrorCode::Io,
                    "Cannot read '" + m_path.string()
                        + "': the process for it ended at once; libhdf5 is missing or memory is short."});
    if (WIFSIGNALED(status) && (WTERMSIG(status) == SIGXCPU || WTERMSIG(status) == SIGKILL))
        return end({ErrorCode::Corrupt,
                    "'" + m_path.string()
                        + "' is damaged: reading it took more time or memory than its size allows."});
    return end({ErrorCode::Corrupt,
                "'" + m_path.string() + "' is damaged: the HDF5 library failed while reading it."});
}

/// Waits until the socket is ready, the caller cancels, or the process has been silent for too long.
Result<Done> Process::wait(short events)
{
    const auto begin = std::chrono::steady_clock::now();
    while (true) {
        if (m_stop.stop_requested())
            return end(stopped());
        pollfd entry{m_socket, events, 0};
        if (poll(&entry, 1, pollMilliseconds) > 0)
            return Done{};
        if (std::chrono::steady_clock::now() - begin > mostSilence)
            return end(
                {ErrorCode::Corrupt, "'" + m_path.string() + "' is damaged: reading it did not finish."});
    }
}

Result<Done> Process::send(const void* bytes, std::size_t size)
{
    for (std::size_t done = 0; done < size;) {
        const auto* from = static_cast<const char*>(bytes) + done;
        const ssize_t count = ::send(m_socket, from, size - done, MSG_NOSIGNAL);
        if (count > 0)
            done += static_cast<std::size_t>(count);
        else if (errno != EINTR)
            return died();
    }
    return Done{};
}

Result<Done> Process::receive(void* into, std::size_t size)
{
    for (std::size_t done = 0; done < size;) {
        if (const Result<Done> ready = wait(POLLIN); !ready)
            return ready;
        const ssize_t count = recv(m_socket, static_cast<char*>(into) + done, size - done, MSG_DONTWAIT);
        if (count > 0)
            done += static_cast<std::size_t>(count);
        else if (count == 0 || (errno != EINTR && errno != EAGAIN))
            return died();
    }
    return Done{};
}

Result<Frame> Process::receiveFrame()
{
    Frame frame;
    if (const Result<Done> received = receive(&frame, sizeof frame); !received)
        return received.error();
    if (frame.bytes > m_limit)
        return garbled();
    return frame;
}

/// Reads a payload. Memory grows with the bytes that actually arrive.
Result<std::string> Process::receivePayload(std::size_t size)
{
    std::string payload;
    while (payload.size() < size) {
        const std::size_t begin = payload.size();
        payload.resize(begin + std::min(stepBytes, size - begin));
        if (const Result<Done> received = receive(payload.data() + begin, payload.size() - begin); !received)
            return received.error();
    }
    return payload;
}

Error Process::failure(const Frame& frame)
{
    if (frame.bytes > 2 * mostSentenceBytes)
        return garbled();
    const Result<std::string> payload = receivePayload(frame.bytes);
    if (!payload)
        return payload.error();
    const std::optional<Error> error = decodedError(*payload);
    return error ? *error : garbled();
}

/// Reads an empty answer of the given kind.
Result<Done> Process::expect(Answer kind)
{
    const Result<Frame> frame = receiveFrame();
    if (!frame)
        return frame.error();
    if (frame->kind == std::uint32_t(Answer::Failure))
        return failure(*frame);
    if (frame->kind != std::uint32_t(kind) || frame->bytes != 0)
        return garbled();
    return Done{};
}

Result<std::string> Process::ask(Question question, std::string_view path)
{
    if (m_error)
        return *m_error;
    const Frame frame{std::uint32_t(question), 0, path.size()};
    if (path.size() > mostPathBytes)
        return Error{ErrorCode::NotFound, "'" + m_path.string() + "' has a path that is too long."};
    if (const Result<Done> sent = send(&frame, sizeof frame); !sent)
        return sent.error();
    if (const Result<Done> sent = send(path.data(), path.size()); !sent)
        return sent.error();
    const Result<Frame> answer = receiveFrame();
    if (!answer)
        return answer.error();
    if (answer->kind == std::uint32_t(Answer::Failure))
        return failure(*answer);
    const bool isOfNumbers = question == Question::Numbers || question == Question::Block;
    const Answer wanted = isOfNumbers ? Answer::Numbers : Answer::Good;
    if (answer->kind != std::uint32_t(wanted))
        return garbled();
    try {
        return receivePayload(answer->bytes);
    } catch (const std::bad_alloc&) {
        return end({ErrorCode::OutOfMemory, "'" + m_path.string() + "' does not fit in memory."});
    }
}

Result<Done> Process::receiveValues(void* into, std::size_t size)
{
    for (std::size_t done = 0; done < size;) {
        const Result<Frame> frame = receiveFrame();
        if (!frame)
            return frame.error();
        if (frame->kind == std::uint32_t(Answer::Failure))
            return failure(*frame);
        const std::size_t half = m_shared.size() / 2;
        const bool fits = frame->bytes > 0 && frame->bytes <= std::min(half, size - done);
        if (frame->kind != std::uint32_t(Answer::Values) || frame->half > 1 || !fits)
            return garbled();
        std::memcpy(static_cast<char*>(into) + done, m_shared.data() + frame->half * half, frame->bytes);
        done += frame->bytes;
        const char taken = 1;
        if (const Result<Done> sent = send(&taken, 1); !sent)
            return sent;
    }
    return Done{};
}

Result<Hdf5Array> Process::askNumbers(Question question, std::string_view asked, std::string_view path)
{
    const Result<std::string> answer = ask(question, asked);
    if (!answer)
        return answer.error();
    const std::optional<NumbersHeader> header = decodedNumbers(*answer);
    if (!header || header->bytes > m_limit)
        return garbled();
    const Error tooLarge{ErrorCode::OutOfMemory,
                         "'" + std::string(path) + "' of '" + m_path.string() + "' does not fit in memory."};
    const auto available = header->bytes > largeBytes ? availableMemory() : std::nullopt;
    if (available && double(header->bytes) > *available)
        return end(tooLarge);
    Hdf5Array array{header->shape, {}};
    const auto fill = [&]<typename T>(std::vector<T> values) -> Result<Hdf5Array> {
        values.resize(header->count);
        if (const auto done = receiveValues(values.data(), header->bytes); !done)
            return done.error();
        array.values = std::move(values);
        return std::move(array);
    };
    try {
        switch (header->type) {
        case 0: return fill(std::vector<float>());
        case 1: return fill(std::vector<double>());
        case 2: return fill(std::vector<std::int32_t>());
        case 3: return fill(std::vector<std::complex<float>>());
        default: return fill(std::vector<std::complex<double>>());
        }
    } catch (const std::bad_alloc&) {
        return end(tooLarge);
    }
}

} // namespace headwise::hdf5
