#include "core/files/zip_directory.h"

#include "core/files/little_endian.h"

#include <algorithm>
#include <optional>
#include <set>

namespace headwise {
namespace {

using ZipDirectoryBytes = std::span<const std::byte>;

constexpr std::uint32_t endMark = 0x06054b50, end64Mark = 0x06064b50, locatorMark = 0x07064b50,
                        centralMark = 0x02014b50, localMark = 0x04034b50;

Error damagedZip(std::string_view fileName, const std::string& what)
{
    return {ErrorCode::Corrupt,
            "File '" + std::string(fileName) + "' is a damaged zip archive: " + what
                + ". Downloading it again usually helps."};
}

template <typename T>
T at(ZipDirectoryBytes bytes, std::size_t position) // the caller has checked the length
{
    T value;
    std::memcpy(&value, bytes.data() + position, sizeof value);
    return value;
}

/// Position of the central directory and its number of members.
struct Directory {
    std::uint64_t count = 0, size = 0, begin = 0;
};

std::optional<std::size_t> endRecord(ZipDirectoryBytes file)
{
    constexpr std::size_t length = 22, longestComment = 65535;
    if (file.size() < length)
        return std::nullopt;
    const std::size_t lowest = file.size() - length - std::min(file.size() - length, longestComment);
    for (std::size_t p = file.size() - length + 1; p-- > lowest;)
        if (at<std::uint32_t>(file, p) == endMark
            && at<std::uint16_t>(file, p + 20) <= file.size() - p - length)
            return p;
    return std::nullopt;
}

Result<Directory> findDirectory(ZipDirectoryBytes file, std::string_view fileName)
{
    const std::optional<std::size_t> end = endRecord(file);
    if (!end)
        return damagedZip(fileName, "its end is missing, which holds the list of its members");
    Directory found{at<std::uint16_t>(file, *end + 10), at<std::uint32_t>(file, *end + 12),
                    at<std::uint32_t>(file, *end + 16)};
    const bool isLarge = *end >= 20 && at<std::uint32_t>(file, *end - 20) == locatorMark;
    if (isLarge) {
        const auto record = at<std::uint64_t>(file, *end - 12);
        if (file.size() < 56 || record > file.size() - 56 || at<std::uint32_t>(file, record) != end64Mark)
            return damagedZip(fileName, "its ZIP64 record is not where the archive says");
        found = {at<std::uint64_t>(file, record + 32), at<std::uint64_t>(file, record + 40),
                 at<std::uint64_t>(file, record + 48)};
    } else if (at<std::uint16_t>(file, *end + 4) != 0 || at<std::uint16_t>(file, *end + 6) != 0) {
        return Error{ErrorCode::Unsupported,
                     "File '" + std::string(fileName)
                         + "' is one volume of a split zip archive; join them first."};
    }
    if (found.begin > file.size() || found.size > file.size() - found.begin || found.count > found.size / 46)
        return damagedZip(fileName, "the list of its members lies outside the file");
    return found;
}

/// Reads the sizes and the offset that did not fit into 32 bits from the extra field 1, in this order.
bool widen(ZipDirectoryBytes extra, std::uint64_t& size, std::uint64_t& storedSize, std::uint64_t& header)
{
    constexpr std::uint32_t elsewhere = 0xffffffff;
    if (size != elsewhere && storedSize != elsewhere && header != elsewhere)
        return true;
    LittleEndianReader fields(extra);
    while (fields.remaining() >= 4) {
        const std::uint16_t id = *fields.next<std::uint16_t>();
        const auto content = fields.take(*fields.next<std::uint16_t>());
        if (!content)
            return false;
        if (id != 1)
            continue;
        LittleEndianReader wide(*content);
        for (std::uint64_t* value : {&size, &storedSize, &header}) {
            if (*value != elsewhere)
                continue;
            const auto next = wide.next<std::uint64_t>();
            if (!next)
                return false;
            *value = *next;
        }
        return true;
    }
    return false;
}

/// Finds the entry's data through its local header, which must name the same member.
Result<Done> locate(ZipDirectoryBytes file, std::uint64_t header, ZipEntry& entry, std::string_view fileName)
{
    const std::string member = "its member '" + entry.name + "' ";
    if (file.size() < 30 || header > file.size() - 30 || at<std::uint32_t>(file, header) != localMark)
        return damagedZip(fileName, member + "is not where the list says it is");
    const std::uint64_t nameLength = at<std::uint16_t>(file, header + 26);
    const std::uint64_t extraLength = at<std::uint16_t>(file, header + 28);
    const std::uint64_t begin = header + 30 + nameLength + extraLength;
    if (begin > file.size() || entry.storedSize > file.size() - begin)
        return damagedZip(fileName, member + "ends after the end of the file");
    if (std::string_view(reinterpret_cast<const char*>(file.data()) + header + 30, nameLength) != entry.name)
        return damagedZip(fileName, member + "has a different name where its data begin");
    entry.begin = begin;
    return Done{};
}

/// Reads the next record of the list.
Result<ZipEntry> readEntry(ZipDirectoryBytes file, LittleEndianReader& list, std::string_view fileName)
{
    const auto record = list.take(46);
    if (!record || at<std::uint32_t>(*record, 0) != centralMark)
        return damagedZip(fileName, "the list of its members is cut off");
    const auto name = list.text(at<std::uint16_t>(*record, 28));
    const auto extra = list.take(at<std::uint16_t>(*record, 30));
    const auto comment = list.take(at<std::uint16_t>(*record, 32));
    if (!name || !extra || !comment)
        return damagedZip(fileName, "the list of its members is cut off");
    ZipEntry entry{.name = std::string(*name),
                   .storedSize = at<std::uint32_t>(*record, 20),
                   .size = at<std::uint32_t>(*record, 24)};
    std::uint64_t header = at<std::uint32_t>(*record, 42);
    if (!widen(*extra, entry.size, entry.storedSize, header))
        return damagedZip(fileName, "the sizes of its member '" + entry.name + "' are missing");
    const auto method = at<std::uint16_t>(*record, 10);
    if ((at<std::uint16_t>(*record, 8) & 1) != 0 || (method != 0 && method != 8))
        return Error{
            ErrorCode::Unsupported,
            "The member '" + entry.name + "' of '" + std::string(fileName)
                + "' is encrypted or packed in a way this version does not read; pack the archive again."};
    entry.isDeflated = method == 8;
    if (!entry.isDeflated && entry.size != entry.storedSize)
        return damagedZip(fileName, "its member '" + entry.name + "' has a wrong stored size");
    if (const Result<Done> located = locate(file, header, entry, fileName); !located)
        return located.error();
    return entry;
}

/// Refuses members that share bytes, because they could unpack to more than the file's size allows.
Result<Done> lieApart(std::span<const ZipEntry> entries, std::string_view fileName)
{
    std::vector<const ZipEntry*> inOrder;
    for (const ZipEntry& entry : entries)
        inOrder.push_back(&entry);
    std::sort(inOrder.begin(), inOrder.end(),
              [](const ZipEntry* a, const ZipEntry* b) { return a->begin < b->begin; });
    for (std::size_t i = 1; i < inOrder.size(); ++i)
        if (inOrder[i - 1]->begin + inOrder[i - 1]->storedSize > inOrder[i]->begin)
            return damagedZip(fileName,
                              "its members '" + inOrder[i - 1]->name + "' and '" + inOrder[i]->name
                                  + "' overlap");
    return Done{};
}

} // namespace

Result<std::vector<ZipEntry>> readZipDirectory(ZipDirectoryBytes file, std::string_view fileName)
{
    const Result<Directory> directory = findDirectory(file, fileName);
    if (!directory)
        return directory.error();
    LittleEndianReader list(file.subspan(directory->begin, directory->size));
    std::vector<ZipEntry> entries;
    std::set<std::string> names;
    for (std::uint64_t i = 0; i < directory->count; ++i) {
        Result<ZipEntry> entry = readEntry(file, list, fileName);
        if (!entry)
            return entry.error();
        if (!names.insert(entry->name).second)
            return damagedZip(fileName, "its member '" + entry->name + "' occurs twice");
        entries.push_back(std::move(entry).value());
    }
    if (const Result<Done> apart = lieApart(entries, fileName); !apart)
        return apart.error();
    return entries;
}

} // namespace headwise
