#pragma once

#include "core/files/hdf5_handle.h"

#include <cstddef>
#include <span>

namespace headwise::hdf5 {

/// Opens a file that is in memory, for reading. A process has one at a time.
/// \param bytes must outlive the file
Handle openedImage(std::span<const std::byte> bytes);

/// The file in memory that the library writes, kept because the library would free it on closing. It has one owner and is never
/// copied.
class WrittenImage {
public:
    WrittenImage() = default;
    WrittenImage(const WrittenImage&) = delete;
    WrittenImage& operator=(const WrittenImage&) = delete;
    ~WrittenImage();

    /// Keeps a file with this access in memory only: the library does not survive a failed write (its exit handler then
    /// crashes).
    void receive(hid_t access);

    /// The finished file, once it is closed.
    std::span<const char> file() const;

private:
    static void* grow(void* bytes, std::size_t size, H5FD_file_image_op_t when, void* image);
    static herr_t keep(void* bytes, H5FD_file_image_op_t when, void* image);

    char* m_bytes = nullptr;
    std::size_t m_room = 0;
};

} // namespace headwise::hdf5
