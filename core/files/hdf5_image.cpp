#include "core/files/hdf5_image.h"

#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <cstring>

namespace headwise::hdf5 {
namespace {

/// The file's bytes as the library sees them: it neither copies, frees nor grows them.
struct Image {
    void* bytes = nullptr;
    std::size_t size = 0;

    static void* whole(std::size_t wanted, H5FD_file_image_op_t /*when*/, void* image)
    {
        const auto* self = static_cast<const Image*>(image);
        return wanted == self->size ? self->bytes : nullptr;
    }
    static void* copy(void* into, const void* /*from*/, std::size_t /*size*/, H5FD_file_image_op_t /*when*/,
                      void* /*image*/)
    {
        return into;
    }
    static void* grow(void* /*bytes*/, std::size_t /*size*/, H5FD_file_image_op_t /*when*/, void* /*image*/)
    {
        return nullptr;
    }
    static herr_t keep(void* /*bytes*/, H5FD_file_image_op_t /*when*/, void* /*image*/) { return 0; }
    static void* same(void* image) { return image; }
    static herr_t keepImage(void* /*image*/) { return 0; }
};

} // namespace

Handle openedImage(std::span<const std::byte> bytes)
{
    static Image image; // outlives the file
    // The library asks for writable bytes but writes none to a file opened for reading.
    image = {const_cast<std::byte*>(bytes.data()), bytes.size()};
    const Handle access = fileAccess();
    H5Pset_fapl_core(access.get(), std::size_t(1) << 20, false);
    H5FD_file_image_callbacks_t callbacks{Image::whole, Image::copy,      Image::grow, Image::keep,
                                          Image::same,  Image::keepImage, &image};
    if (H5Pset_file_image_callbacks(access.get(), &callbacks) < 0
        || H5Pset_file_image(access.get(), image.bytes, image.size) < 0)
        return {};
    // The library insists on a name that no file has.
    return {H5Fopen("/dev/null/image", H5F_ACC_RDONLY, access.get()), H5Fclose};
}

WrittenImage::~WrittenImage()
{
    std::free(m_bytes);
}

void WrittenImage::receive(hid_t access)
{
    constexpr std::size_t memoryStep = std::size_t(4) << 20;
    H5Pset_fapl_core(access, memoryStep, false);
    H5FD_file_image_callbacks_t callbacks{};
    callbacks.image_realloc = grow;
    callbacks.image_free = keep;
    callbacks.udata_copy = [](void* image) { return image; };
    callbacks.udata_free = [](void* /*image*/) { return herr_t(0); };
    callbacks.udata = this;
    H5Pset_file_image_callbacks(access, &callbacks);
}

/// Cuts the file to the length in its superblock; the spare bytes behind it are not part of it.
std::span<const char> WrittenImage::file() const
{
    constexpr std::size_t endAddressAt = 28; // superblock version 2
    std::uint64_t end = 0;
    if (m_bytes && m_room > endAddressAt + sizeof end)
        std::memcpy(&end, m_bytes + endAddressAt, sizeof end);
    return {m_bytes, std::min<std::size_t>(end, m_room)};
}

void* WrittenImage::grow(void* bytes, std::size_t size, H5FD_file_image_op_t /*when*/, void* image)
{
    void* grown = std::realloc(bytes, size);
    if (grown)
        static_cast<WrittenImage*>(image)->m_room = size;
    return grown;
}

herr_t WrittenImage::keep(void* bytes, H5FD_file_image_op_t when, void* image)
{
    if (when == H5FD_FILE_IMAGE_OP_FILE_CLOSE)
        static_cast<WrittenImage*>(image)->m_bytes = static_cast<char*>(bytes);
    else
        std::free(bytes);
    return 0;
}

} // namespace headwise::hdf5
