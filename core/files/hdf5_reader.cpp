#include "core/files/hdf5.h"
#include "core/files/hdf5_process.h"

#include <array>
#include <cerrno>
#include <cstring>
#include <fcntl.h>
#include <sys/stat.h>
#include <system_error>
#include <unistd.h>

namespace headwise {
namespace {

/// Looks for the HDF5 signature at 0, 512, 1024, 2048, …, as the format allows.
bool hasSignature(int file, std::size_t size)
{
    constexpr std::array<char, 8> signature{'\x89', 'H', 'D', 'F', '\r', '\n', '\x1a', '\n'};
    for (std::size_t at = 0; at + signature.size() <= size; at = at == 0 ? 512 : 2 * at) {
        std::array<char, 8> bytes{};
        if (pread(file, bytes.data(), bytes.size(), static_cast<off_t>(at)) == ssize_t(bytes.size())
            && bytes == signature)
            return true;
    }
    return false;
}

struct OpenedFile {
    explicit OpenedFile(const std::filesystem::path& path)
        : number(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY))
    {
    }
    OpenedFile(const OpenedFile&) = delete;
    OpenedFile& operator=(const OpenedFile&) = delete;
    ~OpenedFile()
    {
        if (number >= 0)
            close(number);
    }
    int number;
};

} // namespace

struct Hdf5Reader::File {
    std::filesystem::path path;
    std::unique_ptr<hdf5::Process> process;

    /// Sends a question and decodes the answer.
    template <typename T>
    Result<T> ask(hdf5::Question question, std::string_view name,
                  std::optional<T> (*decoded)(std::string_view)) const
    {
        const Result<std::string> answer = process->ask(question, name);
        if (!answer)
            return answer.error();
        std::optional<T> value = decoded(*answer);
        if (!value)
            return process->garbled();
        return std::move(*value);
    }
};

Hdf5Reader::Hdf5Reader(std::shared_ptr<File> file)
    : m_file(std::move(file))
{
}

bool isHdf5(const std::filesystem::path& path)
{
    std::error_code error;
    if (!std::filesystem::is_regular_file(path, error))
        return false;
    const OpenedFile file(path);
    struct stat status { };
    return file.number >= 0 && fstat(file.number, &status) == 0
        && hasSignature(file.number, static_cast<std::size_t>(status.st_size));
}

Result<Hdf5Reader> Hdf5Reader::open(const std::filesystem::path& path, const Task& task)
{
    const OpenedFile file(path);
    struct stat status { };
    if (file.number < 0 || fstat(file.number, &status) != 0) {
        const int code = errno;
        if (code == ENOENT || code == ENOTDIR)
            return Error{ErrorCode::NotFound, "There is no file '" + path.string() + "'."};
        return Error{ErrorCode::Io,
                     "Cannot read '" + path.string() + "': " + std::generic_category().message(code) + "."};
    }
    if (!S_ISREG(status.st_mode))
        return Error{ErrorCode::Corrupt, "'" + path.string() + "' is not a file."};
    if (!hasSignature(file.number, static_cast<std::size_t>(status.st_size)))
        return Error{ErrorCode::Corrupt, "'" + path.string() + "' is not an HDF5 file."};
    Result<std::unique_ptr<hdf5::Process>> process = hdf5::Process::start(path, file.number, task);
    if (!process)
        return process.error();
    return Hdf5Reader(std::make_shared<File>(File{path, std::move(process).value()}));
}

const std::filesystem::path& Hdf5Reader::path() const
{
    return m_file->path;
}

bool Hdf5Reader::has(std::string_view path) const
{
    const Result<bool> found = m_file->ask(hdf5::Question::Has, path, hdf5::decodedFlag);
    return found && *found;
}

Result<std::vector<Hdf5Entry>> Hdf5Reader::entries(std::string_view group) const
{
    return m_file->ask(hdf5::Question::Entries, group, hdf5::decodedEntries);
}

Result<Hdf5Attributes> Hdf5Reader::attributes(std::string_view path) const
{
    return m_file->ask(hdf5::Question::Attributes, path, hdf5::decodedAttributes);
}

Result<Hdf5Array> Hdf5Reader::readArray(std::string_view path) const
{
    return m_file->process->askNumbers(hdf5::Question::Numbers, path, path);
}

Result<Hdf5Array> Hdf5Reader::readBlock(std::string_view path, const Hdf5Block& block) const
{
    return m_file->process->askNumbers(hdf5::Question::Block, hdf5::encodedBlock(path, block), path);
}

Result<std::vector<std::string>> Hdf5Reader::readTexts(std::string_view path) const
{
    return m_file->ask(hdf5::Question::Texts, path, hdf5::decodedRows);
}

Result<std::vector<std::string>> Hdf5Reader::readBytes(std::string_view path) const
{
    return m_file->ask(hdf5::Question::Bytes, path, hdf5::decodedRows);
}

} // namespace headwise
