#pragma once

// Private to hdf5_*.cpp: the only header that includes the HDF5 C library.

#include "core/base/result.h"

#include <hdf5.h>

#include <complex>
#include <cstdint>
#include <mutex>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace headwise::hdf5 {

/// Takes the library's one lock, and on first use silences its error printing.
std::unique_lock<std::mutex> lock();

/// The innermost message of the library's error stack, with the system's own words if there are any.
std::string lastError();

/// An HDF5 identifier and the function that closes it.
class Handle {
public:
    using Close = herr_t (*)(hid_t);

    Handle() = default;
    Handle(hid_t id, Close giveBack)
        : m_id(id)
        , m_close(giveBack)
    {
    }
    Handle(Handle&& other) noexcept
        : m_id(std::exchange(other.m_id, H5I_INVALID_HID))
        , m_close(other.m_close)
    {
    }
    Handle& operator=(Handle&& other) noexcept
    {
        std::swap(m_id, other.m_id);
        std::swap(m_close, other.m_close);
        return *this;
    }
    Handle(const Handle&) = delete;
    Handle& operator=(const Handle&) = delete;
    ~Handle() { close(); }

    /// Returns false if closing failed; the identifier is gone either way.
    bool close()
    {
        const hid_t id = std::exchange(m_id, H5I_INVALID_HID);
        return id < 0 || m_close(id) >= 0;
    }

    explicit operator bool() const { return m_id >= 0; }
    hid_t get() const { return m_id; }

private:
    hid_t m_id = H5I_INVALID_HID;
    Close m_close = nullptr;
};

Handle textType();                ///< Variable-length UTF-8.
Handle bytesType();               ///< Variable-length u8.
Handle boolType();                ///< As h5py: enumeration FALSE = 0, TRUE = 1 of i8.
Handle complexType(hid_t scalar); ///< Compound (r, i).
Handle fileAccess();              ///< No locking; closing the file closes what is open in it.
/// The stored form of a variable-length value: 16 bytes, read unchanged. GlobalHeap resolves them.
Handle referenceType();
/// Writes the names of a dataset's dimensions as dimension labels. On false, lastError() has the reason.
bool labelAxes(hid_t file, const std::string& path, const std::vector<std::string>& names);
/// Attaches the dataset `scale` to one axis of a dataset. On false, lastError() has the reason.
bool attachScale(hid_t file, const std::string& path, unsigned axis, const std::string& scale);
std::string_view trimmed(std::string_view path); ///< Without leading and trailing slashes.

/// The HDF5 type of T: in memory and, little-endian, in the file.
template <typename T>
Handle memoryType();
template <typename T>
Handle storedType();

} // namespace headwise::hdf5
