#pragma once

#include "core/base/result.h"

#include <cstddef>
#include <filesystem>
#include <memory>
#include <span>
#include <string>

namespace headwise {

/// The SHA-256 of bytes that come in parts.
class Sha256 {
public:
    Sha256();
    ~Sha256();

    void add(std::span<const std::byte> bytes);
    std::string hex(); ///< Ends the sum; call it once.

private:
    struct Context;
    std::unique_ptr<Context> m_context;
};

/// Returns the SHA-256 of a file's bytes as 64 hexadecimal digits.
/// Errors: Io.
Result<std::string> sha256OfFile(const std::filesystem::path& path);

} // namespace headwise
