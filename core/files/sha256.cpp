#include "core/files/sha256.h"

#include <openssl/evp.h>

#include <fstream>
#include <vector>

namespace headwise {

struct Sha256::Context {
    std::unique_ptr<EVP_MD_CTX, decltype(&EVP_MD_CTX_free)> digest{EVP_MD_CTX_new(), EVP_MD_CTX_free};
};

Sha256::Sha256()
    : m_context(std::make_unique<Context>())
{
    EVP_DigestInit_ex(m_context->digest.get(), EVP_sha256(), nullptr);
}

Sha256::~Sha256() = default;

void Sha256::add(std::span<const std::byte> bytes)
{
    EVP_DigestUpdate(m_context->digest.get(), bytes.data(), bytes.size());
}

std::string Sha256::hex()
{
    unsigned char digest[32];
    EVP_DigestFinal_ex(m_context->digest.get(), digest, nullptr);
    std::string text;
    for (const unsigned char byte : digest) {
        text += "0123456789abcdef"[byte >> 4];
        text += "0123456789abcdef"[byte & 15];
    }
    return text;
}

Result<std::string> sha256OfFile(const std::filesystem::path& path)
{
    std::ifstream file(path, std::ios::binary);
    Sha256 sum;
    std::vector<char> part(std::size_t(1) << 20);
    while (file.read(part.data(), static_cast<std::streamsize>(part.size())) || file.gcount() > 0)
        sum.add(std::as_bytes(std::span(part.data(), static_cast<std::size_t>(file.gcount()))));
    if (file.bad() || !file.eof())
        return Error{ErrorCode::Io, "File '" + path.string() + "' cannot be read."};
    return sum.hex();
}

} // namespace headwise
