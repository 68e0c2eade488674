#pragma once

// Private to the process that reads a file for Hdf5Reader: only this code shows untrusted bytes to the HDF5 library.

#include "core/files/hdf5_handle.h"
#include "core/files/hdf5_heap.h"
#include "core/files/hdf5_wire.h"

#include <functional>
#include <map>

namespace headwise::hdf5 {

/// A file that may be damaged on purpose. The class follows no soft or external link, loads no filter but shuffle and
/// deflate, enters no group twice, and allocates no more than the stored bytes can give.
/// Errors of all functions: as Hdf5Reader's.
class File {
public:
    /// \param path for messages
    /// \param bytes the whole file, which must outlive the object
    static Result<File> open(std::string path, std::span<const std::byte> bytes);

    bool has(std::string_view name) const;
    Result<std::vector<Hdf5Entry>> entries(std::string_view group);
    Result<Hdf5Attributes> attributes(std::string_view name);
    Result<std::vector<std::string>> rows(std::string_view name, Hdf5Kind wanted);

    /// Hands over the values in parts, so that memory stays small however large the array is.
    /// \param block null: the whole array
    /// \param header called once, first
    /// \param values called until all values are handed over
    Result<Done> numbers(std::string_view name, const Hdf5Block* block,
                         const std::function<void(const NumbersHeader&)>& header,
                         const std::function<void(std::span<const std::byte>)>& values);

private:
    struct Dataset {
        Handle id, type;
        std::vector<std::size_t> shape;
        std::size_t count = 0; // product of shape
        std::size_t rows = 1;  // along the first dimension, stored together
    };

    File(std::string path, std::span<const std::byte> bytes, Handle id)
        : m_path(std::move(path))
        , m_bytes(bytes)
        , m_heap(bytes)
        , m_id(std::move(id))
    {
    }

    Error fails(ErrorCode code, std::string_view what, const std::string& why) const;
    Result<Handle> openObject(std::string_view name) const;
    Result<Dataset> openDataset(std::string_view name) const;
    Result<Done> checkLayout(std::string_view name, Dataset& dataset);
    Result<Done> checkFilters(std::string_view name, const Dataset& dataset, hid_t properties);
    Result<Done> readRows(std::string_view name, const Dataset& dataset, const Hdf5Block& part, hid_t memory,
                          const std::function<void(std::span<const std::byte>)>& values) const;
    bool enter(hid_t group, const std::string& path);
    std::optional<std::vector<std::string>> behind(std::span<const std::byte> references, Hdf5Kind wanted);
    std::optional<Hdf5Attribute> readAttribute(hid_t object, const std::string& name);
    std::optional<Hdf5Attribute> readTextAttribute(hid_t attribute, std::size_t count, bool isScalar);

    std::string m_path;
    std::span<const std::byte> m_bytes;
    GlobalHeap m_heap;
    Handle m_id;
    std::size_t m_unpacked = 0;              // total bytes read so far
    std::map<haddr_t, std::string> m_groups; // where each group was seen
};

} // namespace headwise::hdf5
