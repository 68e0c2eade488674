#pragma once

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <optional>
#include <random>
#include <vector>

namespace headwise::test {

using FileBytes = std::vector<unsigned char>;

inline FileBytes bytesOf(const std::filesystem::path& path)
{
    std::ifstream in(path, std::ios::binary);
    return {std::istreambuf_iterator<char>(in), {}};
}

inline void store(const std::filesystem::path& path, const FileBytes& bytes)
{
    std::ofstream out(path, std::ios::binary);
    out.write(reinterpret_cast<const char*>(bytes.data()), std::streamsize(bytes.size()));
}

/// Checksum of HDF5's metadata, Bob Jenkins' lookup3.
inline std::uint32_t lookup3(const unsigned char* bytes, std::size_t size)
{
    const auto turned = [](std::uint32_t x, int k) { return (x << k) | (x >> (32 - k)); };
    std::uint32_t a = 0xdeadbeef + std::uint32_t(size);
    std::uint32_t b = a;
    std::uint32_t c = a;
    const auto add = [&](std::size_t count) {
        unsigned char block[12] = {};
        std::memcpy(block, bytes, count);
        std::uint32_t word[3];
        std::memcpy(word, block, sizeof word);
        a += word[0], b += word[1], c += word[2];
    };
    for (; size > 12; size -= 12, bytes += 12) {
        add(12);
        a -= c, a ^= turned(c, 4), c += b;
        b -= a, b ^= turned(a, 6), a += c;
        c -= b, c ^= turned(b, 8), b += a;
        a -= c, a ^= turned(c, 16), c += b;
        b -= a, b ^= turned(a, 19), a += c;
        c -= b, c ^= turned(b, 4), b += a;
    }
    if (size == 0)
        return c;
    add(size);
    c ^= b, c -= turned(b, 14);
    a ^= c, a -= turned(c, 11);
    b ^= a, b -= turned(a, 25);
    c ^= b, c -= turned(b, 16);
    a ^= c, a -= turned(c, 4);
    b ^= a, b -= turned(a, 14);
    c ^= b, c -= turned(b, 24);
    return c;
}

/// A piece of metadata and its checksum.
struct Summed {
    std::size_t begin, size; // without a checksum behind it
    std::size_t sumAt;       // behind it, or within it, where it counts as 0
    bool isOfFixedSize = false;
};

inline std::uint32_t computedSum(const FileBytes& file, const Summed& piece)
{
    FileBytes bytes(file.begin() + std::ptrdiff_t(piece.begin),
                    file.begin() + std::ptrdiff_t(piece.begin + piece.size));
    if (piece.sumAt < piece.begin + piece.size)
        std::memset(bytes.data() + (piece.sumAt - piece.begin), 0, sizeof(std::uint32_t));
    return lookup3(bytes.data(), bytes.size());
}

inline std::uint32_t storedSum(const FileBytes& file, const Summed& piece)
{
    std::uint32_t sum = 0;
    std::memcpy(&sum, file.data() + piece.sumAt, sizeof sum);
    return sum;
}

inline std::optional<Summed> summedAt(const FileBytes& file, std::size_t at)
{
    const auto is = [&](const char* name) { return std::memcmp(file.data() + at, name, 4) == 0; };
    if (file.size() - at < 48)
        return std::nullopt;
    if (at == 0 && file[8] >= 2)
        return Summed{0, 44, 44}; // the superblock; older ones have no checksum
    if (is("BTHD"))
        return Summed{at, 34, at + 34};
    if (!is("OHDR"))
        return std::nullopt;
    const unsigned char flags = file[at + 5];
    std::size_t size = 6 + (flags & 0x20 ? 16 : 0) + (flags & 0x10 ? 4 : 0);
    const std::size_t width = std::size_t(1) << (flags & 3);
    std::size_t chunk = 0;
    std::memcpy(&chunk, file.data() + at + size, width);
    if (chunk > file.size() - at - size - width - 4)
        return std::nullopt;
    return Summed{at, size + width + chunk, at + size + width + chunk};
}

/// The other kinds store their size elsewhere: it is found by trying where the checksum of the good file fits.
inline std::optional<Summed> summedByTrying(const FileBytes& file, std::size_t at)
{
    constexpr std::size_t most = 4096;
    constexpr const char* kinds[] = {"OCHK", "BTLF", "BTIN", "FRHP", "FSHD", "FSSE"};
    const auto is = [&](const char* kind) { return std::memcmp(file.data() + at, kind, 4) == 0; };
    const std::size_t left = file.size() - at;
    if (std::any_of(std::begin(kinds), std::end(kinds), is))
        for (std::size_t size = 6; size < std::min(most, left - 4); ++size)
            if (const Summed piece{at, size, at + size, true};
                computedSum(file, piece) == storedSum(file, piece))
                return piece;
    if (is("FHDB")) // a direct block, whose checksum is behind its offset of some bytes
        for (std::size_t size = 512; size <= std::min(std::size_t(1) << 16, left); size *= 2)
            for (std::size_t width = 1; width <= 8; ++width)
                if (const Summed piece{at, size, at + 13 + width, true};
                    computedSum(file, piece) == storedSum(file, piece))
                    return piece;
    return std::nullopt;
}

inline std::vector<Summed> allSummed(const FileBytes& file)
{
    std::vector<Summed> found;
    for (std::size_t at = 0; at + 48 < file.size(); ++at)
        if (const auto piece = summedAt(file, at))
            found.push_back(*piece);
        else if (const auto other = summedByTrying(file, at))
            found.push_back(*other);
    return found;
}

/// Damages up to eight bytes, mostly of metadata, and corrects the checksums.
inline FileBytes mutated(FileBytes file, const std::vector<Summed>& pieces, std::mt19937& random)
{
    const auto below = [&](std::size_t end) { return random() % end; };
    const Summed piece = pieces[below(pieces.size())];
    for (std::size_t left = 1 + below(8); left > 0; --left) {
        const std::size_t at = below(8) == 0 ? below(file.size()) : piece.begin + 6 + below(piece.size - 6);
        constexpr unsigned char edges[] = {0, 1, 0x7f, 0x80, 0xff};
        file[at] = below(2) == 0 ? edges[below(5)] : static_cast<unsigned char>(random());
    }
    for (const Summed& old : pieces)
        if (const auto now = old.isOfFixedSize ? std::optional(old) : summedAt(file, old.begin)) {
            const std::uint32_t sum = computedSum(file, *now);
            std::memcpy(file.data() + now->sumAt, &sum, sizeof sum);
        }
    return file;
}

} // namespace headwise::test
