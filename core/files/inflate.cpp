#include "core/files/inflate.h"

#include <zlib.h>

#include <algorithm>
#include <limits>

namespace headwise {
namespace {

/// Deflate packs at most 258 bytes into two bits. Source: zlib.net, "Maximum Compression Factor".
constexpr std::uint64_t maxRatio = 1032;
constexpr std::size_t firstChunk = 1 << 20;
constexpr std::size_t maxChunk = std::numeric_limits<uInt>::max() / 2;

} // namespace

std::optional<std::vector<std::byte>> inflated(std::span<const std::byte> packed, std::uint64_t size)
{
    if (size / maxRatio > packed.size())
        return std::nullopt;
    std::vector<std::byte> out;
    z_stream stream{};
    if (inflateInit2(&stream, -MAX_WBITS) != Z_OK)
        return std::nullopt;
    std::size_t in = 0, done = 0;
    int state = Z_OK;
    while (state == Z_OK && done <= size) {
        if (done == out.size()) // one byte too many: the stream goes on past `size`
            out.resize(std::min<std::uint64_t>(size + 1, std::max<std::size_t>(2 * done, firstChunk)));
        const std::size_t give = std::min(packed.size() - in, maxChunk);
        const std::size_t take = std::min(out.size() - done, maxChunk);
        stream.next_in = reinterpret_cast<Bytef*>(const_cast<std::byte*>(packed.data() + in));
        stream.avail_in = static_cast<uInt>(give);
        stream.next_out = reinterpret_cast<Bytef*>(out.data() + done);
        stream.avail_out = static_cast<uInt>(take);
        state = ::inflate(&stream, Z_NO_FLUSH);
        in += give - stream.avail_in;
        done += take - stream.avail_out;
    }
    inflateEnd(&stream);
    if (state != Z_STREAM_END || done != size)
        return std::nullopt;
    out.resize(done);
    return out;
}

} // namespace headwise
