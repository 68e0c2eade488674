// The program that Hdf5Reader starts for each file. It reads the file with the HDF5 library, behind limits, and answers
// questions.
//
// usage: PATH, used in messages only. Standard input is a socket for questions and answers, standard output is the file,
// and descriptor 4 is the shared memory for values.

#include "core/files/hdf5_file.h"
#include "core/files/hdf5_sandbox.h"

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <fcntl.h>
#include <new>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

namespace headwise::hdf5 {
namespace {

constexpr int socketNumber = STDIN_FILENO;
constexpr int fileNumber = STDOUT_FILENO;
constexpr int sharedNumber = STDERR_FILENO + 2; // after the program itself

std::span<std::byte> shared; // two halves for values

/// Returns false at the end, when the parent has closed its side.
bool readAll(void* into, std::size_t size)
{
    for (std::size_t done = 0; done < size;) {
        const ssize_t count = read(socketNumber, static_cast<char*>(into) + done, size - done);
        if (count <= 0)
            return false;
        done += static_cast<std::size_t>(count);
    }
    return true;
}

void writeAll(const void* from, std::size_t size)
{
    for (std::size_t done = 0; done < size;) {
        const ssize_t count = write(socketNumber, static_cast<const char*>(from) + done, size - done);
        if (count <= 0)
            _exit(1); // nobody is listening any more
        done += static_cast<std::size_t>(count);
    }
}

void answer(Answer kind, const void* bytes, std::size_t size)
{
    const Frame frame{static_cast<std::uint32_t>(kind), 0, size};
    writeAll(&frame, sizeof frame);
    writeAll(bytes, size);
}

void answer(Answer kind, const std::string& bytes)
{
    answer(kind, bytes.data(), bytes.size());
}

template <typename T>
void answer(const Result<T>& result)
{
    if (result)
        answer(Answer::Good, encoded(*result));
    else
        answer(Answer::Failure, encoded(result.error()));
}

/// Hands over values in halves of the shared memory: it fills one half while the parent empties the other.
class ValuesWriter {
public:
    ValuesWriter() = default;
    ValuesWriter(const ValuesWriter&) = delete;
    ValuesWriter& operator=(const ValuesWriter&) = delete;
    ~ValuesWriter() { finish(); }

    void write(std::span<const std::byte> values)
    {
        const std::size_t half = shared.size() / 2;
        while (!values.empty()) {
            if (m_waiting == 2)
                waitForOne();
            const std::span<const std::byte> piece = values.first(std::min(values.size(), half));
            std::memcpy(shared.data() + m_half * half, piece.data(), piece.size());
            const Frame frame{static_cast<std::uint32_t>(Answer::Values), m_half, piece.size()};
            writeAll(&frame, sizeof frame);
            m_half = 1 - m_half;
            ++m_waiting;
            values = values.subspan(piece.size());
        }
    }
    void finish()
    {
        while (m_waiting > 0)
            waitForOne();
    }

private:
    void waitForOne()
    {
        char taken = 0;
        if (!readAll(&taken, 1))
            _exit(1);
        --m_waiting;
    }

    std::uint32_t m_half = 0;
    int m_waiting = 0; // halves that the parent has not emptied
};

/// \param block null: the whole array
void answerNumbers(File& file, const std::string& path, const Hdf5Block* block)
{
    ValuesWriter writer;
    const auto done = file.numbers(
        path, block, [](const NumbersHeader& header) { answer(Answer::Numbers, encoded(header)); },
        [&](std::span<const std::byte> values) { writer.write(values); });
    writer.finish();
    if (!done)
        answer(Answer::Failure, encoded(done.error()));
}

void answerQuestion(File& file, Question question, const std::string& path)
{
    switch (question) {
    case Question::Has: return answer(Result<bool>(file.has(path)));
    case Question::Entries: return answer(file.entries(path));
    case Question::Attributes: return answer(file.attributes(path));
    case Question::Texts: return answer(file.rows(path, Hdf5Kind::Texts));
    case Question::Bytes: return answer(file.rows(path, Hdf5Kind::Bytes));
    case Question::Numbers: return answerNumbers(file, path, nullptr);
    case Question::Block: {
        std::string array;
        const auto block = decodedBlock(path, array);
        if (!block)
            break;
        return answerNumbers(file, array, &*block);
    }
    }
    _exit(1);
}

/// Answers questions until the parent closes its side.
void serve(const char* path, std::span<const std::byte> bytes)
{
    Result<File> file = File::open(path, bytes);
    if (!file)
        return answer(Answer::Failure, encoded(file.error()));
    File opened = std::move(file).value();
    answer(Answer::Good, std::string());
    Frame frame;
    while (readAll(&frame, sizeof frame) && frame.bytes <= mostPathBytes) {
        std::string name(frame.bytes, '\0');
        if (!readAll(name.data(), name.size()))
            return;
        try {
            answerQuestion(opened, static_cast<Question>(frame.kind), name);
        } catch (const std::bad_alloc&) {
            answer(Answer::Failure,
                   encoded(Error{ErrorCode::OutOfMemory,
                                 "'" + name + "' of '" + path
                                     + "' needs more memory than Headwise allows for reading a file."}));
        }
    }
}

int run(const char* path)
{
    struct stat status { };
    if (fstat(fileNumber, &status) != 0 || status.st_size <= 0)
        return 1;
    const auto size = static_cast<std::size_t>(status.st_size);
    void* bytes = mmap(nullptr, size, PROT_READ, MAP_PRIVATE, fileNumber, 0);
    if (bytes == MAP_FAILED)
        return 1;
    close(fileNumber);
    struct stat values { };
    if (fstat(sharedNumber, &values) != 0 || values.st_size <= 0)
        return 1;
    const auto sharedBytes = static_cast<std::size_t>(values.st_size);
    void* halves = mmap(nullptr, sharedBytes, PROT_READ | PROT_WRITE, MAP_SHARED, sharedNumber, 0);
    if (halves == MAP_FAILED)
        return 1;
    close(sharedNumber);
    shared = std::span(static_cast<std::byte*>(halves), sharedBytes);
    clearenv(); // HDF5 looks there for plug-ins and drivers
    H5PLset_loading_state(0);
    const auto held = lock();
    limitResources(size);
    forbidSystemCalls();
    answer(Answer::Ready, std::string());
    serve(path, std::span(static_cast<const std::byte*>(bytes), size));
    return 0;
}

} // namespace
} // namespace headwise::hdf5

int main(int argc, char** argv)
{
    // Skips the library's exit handler, which has crashed on damaged files.
    _exit(argc == 2 ? headwise::hdf5::run(argv[1]) : 2);
}
