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

/// The one lock of the library, which also silences its printing on first use.
std::unique_lock<std::mutex> lock();

/// The innermost sentence of the library's error stack, with the system's own words where there are some.
std::string lastError();

/// An HDF5 identifier and how it is given back.
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

    /// False if giving it back failed; it is gone either way.
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
/// Stored form of a value of variable length, 16 bytes read as they are: GlobalHeap knows what is behind them.
Handle referenceType();
/// The names of a dataset's dimensions, as its dimension labels. False: lastError() says why.
bool labelAxes(hid_t file, const std::string& path, const std::vector<std::string>& names);
/// Makes the entries of the dataset `scale` those of a dataset's axis. False: lastError() says why.
bool attachScale(hid_t file, const std::string& path, unsigned axis, const std::string& scale);
std::string_view trimmed(std::string_view path); ///< Without slashes at its ends.

/// The type of T in memory and, little-endian, in the file.
template <typename T>
Handle memoryType();
template <typename T>
Handle storedType();

} // namespace headwise::hdf5
