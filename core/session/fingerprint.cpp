#include "core/session/fingerprint.h"

#include <openssl/evp.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <cstring>
#include <fstream>
#include <memory>
#include <string_view>
#include <vector>

namespace headwise {
namespace {

constexpr std::size_t mebibyte = std::size_t(1) << 20;
constexpr std::array<std::string_view, 6> otherFormats = {".bin", ".gguf", ".npz", ".pt", ".pth", ".npy"};

std::size_t bytesThatCount(const std::filesystem::path& file, std::size_t size)
{
    if (file.extension() == ".json")
        return size;
    std::uint64_t header = 0;
    if (file.extension() == ".safetensors") {
        std::ifstream stream(file, std::ios::binary);
        if (stream.read(reinterpret_cast<char*>(&header), sizeof header) && header <= size - sizeof header)
            return sizeof header + header;
    }
    return std::min(size, mebibyte);
}

/// config.json and the weights, sorted by name; of a folder with safetensors only these.
std::vector<std::filesystem::path> filesOf(const std::filesystem::path& source)
{
    std::error_code error;
    std::vector<std::filesystem::path> files;
    if (!std::filesystem::is_directory(source, error)) {
        files.push_back(source);
    } else {
        std::vector<std::filesystem::path> others;
        for (const auto& entry : std::filesystem::directory_iterator(source, error)) {
            const std::string extension = entry.path().extension().string();
            if (extension == ".safetensors")
                files.push_back(entry.path());
            else if (std::find(otherFormats.begin(), otherFormats.end(), extension) != otherFormats.end())
                others.push_back(entry.path());
        }
        if (files.empty())
            files = std::move(others);
    }
    const std::filesystem::path folder =
        std::filesystem::is_directory(source, error) ? source : source.parent_path();
    if (std::filesystem::exists(folder / "config.json", error))
        files.push_back(folder / "config.json");
    std::sort(files.begin(), files.end(),
              [](const auto& a, const auto& b) { return a.filename() < b.filename(); });
    return files;
}

} // namespace

Result<std::string> modelFingerprint(const std::filesystem::path& source)
{
    std::error_code error;
    if (!std::filesystem::exists(source, error))
        return Error{ErrorCode::NotFound, "There is no model '" + source.string() + "'."};
    const std::unique_ptr<EVP_MD_CTX, decltype(&EVP_MD_CTX_free)> hash(EVP_MD_CTX_new(), EVP_MD_CTX_free);
    if (!hash || EVP_DigestInit_ex(hash.get(), EVP_sha256(), nullptr) != 1)
        return Error{ErrorCode::Internal, "The SHA-256 of OpenSSL cannot be used."};
    std::vector<char> buffer(mebibyte);
    for (const std::filesystem::path& path : filesOf(source)) {
        const std::size_t size = std::filesystem::file_size(path, error);
        std::ifstream file(path, std::ios::binary);
        if (error || !file)
            return Error{ErrorCode::Io, "Cannot read '" + path.string() + "'."};
        for (std::size_t left = bytesThatCount(path, size); left > 0;) {
            const std::size_t count = std::min(left, buffer.size());
            if (!file.read(buffer.data(), static_cast<std::streamsize>(count)))
                return Error{ErrorCode::Io, "Cannot read '" + path.string() + "'."};
            EVP_DigestUpdate(hash.get(), buffer.data(), count);
            left -= count;
        }
    }
    std::array<unsigned char, EVP_MAX_MD_SIZE> digest{};
    unsigned length = 0;
    EVP_DigestFinal_ex(hash.get(), digest.data(), &length);
    constexpr std::string_view digits = "0123456789abcdef";
    std::string text;
    for (unsigned i = 0; i < length; ++i)
        text += {digits[digest[i] >> 4], digits[digest[i] & 15]};
    return text;
}

} // namespace headwise
