#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

namespace headwise::test {

/// A member of an archive to write. The claims in its headers can be wrong on purpose.
struct ZipMember {
    std::string name;
    std::string bytes;
    std::uint16_t method = 0;
    std::uint16_t flags = 0;
    std::int64_t claimedSize = -1; ///< -1: the right one
    std::string localName = {};    ///< "": the same
};

inline std::string littleEndian(std::uint64_t value, int bytes)
{
    std::string text;
    for (int i = 0; i < bytes; ++i)
        text += static_cast<char>(value >> (8 * i) & 0xff);
    return text;
}

/// Writes an archive of stored members like torch.save, but without checksums, which are never read.
inline std::string zipArchive(const std::vector<ZipMember>& members)
{
    std::string file, directory;
    for (const ZipMember& member : members) {
        const auto begin = file.size();
        const std::uint64_t size = member.bytes.size();
        const std::uint64_t claimed =
            member.claimedSize < 0 ? size : static_cast<std::uint64_t>(member.claimedSize);
        const std::string& local = member.localName.empty() ? member.name : member.localName;
        const std::string fields = littleEndian(member.flags, 2) + littleEndian(member.method, 2)
            + std::string(8, '\0') + littleEndian(size, 4) + littleEndian(claimed, 4);
        file += "PK\3\4" + littleEndian(20, 2) + fields + littleEndian(local.size(), 2) + littleEndian(3, 2)
            + local + "FB " + member.bytes;
        directory += "PK\1\2" + littleEndian(20, 2) + littleEndian(20, 2) + fields
            + littleEndian(member.name.size(), 2) + std::string(12, '\0') + littleEndian(begin, 4)
            + member.name;
    }
    const std::string count = littleEndian(members.size(), 2);
    return file + directory + "PK\5\6" + std::string(4, '\0') + count + count
        + littleEndian(directory.size(), 4) + littleEndian(file.size(), 4) + std::string(2, '\0');
}

} // namespace headwise::test
