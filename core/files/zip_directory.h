#pragma once

#include "core/base/result.h"

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace headwise {

/// A member of a zip archive; all its bytes lie inside the file.
struct ZipEntry {
    std::string name = {};
    std::uint64_t begin = 0;      ///< Offset of its data in the file.
    std::uint64_t storedSize = 0; ///< Bytes in the file.
    std::uint64_t size = 0;       ///< Unpacked bytes, as the archive claims.
    bool isDeflated = false;
};

/// Lists the members of a zip archive from its central directory, ZIP64 included.
///
/// libzip could list them too, but does not tell where a member's bytes begin, which mapping needs.
/// Errors: Corrupt (no directory, members outside the file, a name twice or differing between the two headers);
/// Unsupported (encrypted, split over volumes, packed otherwise than stored or deflated).
/// Source: PKWARE APPNOTE 6.3.10, §4.3–4.5.
Result<std::vector<ZipEntry>> readZipDirectory(std::span<const std::byte> file, std::string_view fileName);

} // namespace headwise
