#include "core/files/hdf5_file.h"

#include "core/files/hdf5_image.h"
#include "core/files/hdf5_types.h"

#include <algorithm>
#include <optional>

namespace headwise::hdf5 {
namespace {

constexpr std::size_t maxEntries = 1'000'000; // in one group
constexpr std::size_t maxChunkBytes = std::size_t(256) << 20;
constexpr std::size_t partBytes = std::size_t(16) << 20; // handed over at a time
constexpr std::size_t deflateRatio = 1032;               // the most a deflated byte can become
constexpr std::size_t attributeTextBytes = 16u << 20;    // in one attribute

herr_t collectName(hid_t /*group*/, const char* name, const H5L_info_t* info, void* names)
{
    auto& list = *static_cast<std::vector<std::string>*>(names);
    if (list.size() >= maxEntries)
        return -1;
    if (info->type == H5L_TYPE_HARD)
        list.emplace_back(name);
    return 0;
}

herr_t collectAttribute(hid_t /*object*/, const char* name, const H5A_info_t* /*info*/, void* names)
{
    static_cast<std::vector<std::string>*>(names)->emplace_back(name);
    return 0;
}

} // namespace

Error File::fails(ErrorCode code, std::string_view what, const std::string& why) const
{
    return {code, "'" + std::string(what) + "' of '" + m_path + "' " + why + "."};
}

Result<File> File::open(std::string path, std::span<const std::byte> bytes)
{
    Handle id = openedImage(bytes);
    if (!id)
        return Error{ErrorCode::Corrupt, "'" + path + "' is damaged or incomplete: " + lastError() + "."};
    const Handle creation(H5Fget_create_plist(id.get()), H5Pclose);
    hsize_t userBlock = 0;
    std::size_t addressSize = 0;
    std::size_t lengthSize = 0;
    H5Pget_userblock(creation.get(), &userBlock);
    H5Pget_sizes(creation.get(), &addressSize, &lengthSize);
    if (userBlock != 0 || addressSize != 8 || lengthSize != 8)
        return Error{ErrorCode::Unsupported,
                     "'" + path
                         + "' is an HDF5 file with a user block or with addresses other than 64 bits."};
    return File(std::move(path), bytes, std::move(id));
}

bool File::has(std::string_view name) const
{
    const std::string whole(trimmed(name));
    if (whole.empty())
        return true;
    for (std::size_t end = 0; end != std::string::npos;) {
        end = whole.find('/', end + 1);
        H5L_info_t info;
        const std::string part = whole.substr(0, end);
        if (H5Lexists(m_id.get(), part.c_str(), H5P_DEFAULT) <= 0
            || H5Lget_info(m_id.get(), part.c_str(), &info, H5P_DEFAULT) < 0 || info.type != H5L_TYPE_HARD)
            return false;
    }
    return true;
}

Result<Handle> File::openObject(std::string_view name) const
{
    const std::string whole(trimmed(name));
    if (!has(whole))
        return Error{ErrorCode::NotFound, "'" + m_path + "' has no '" + whole + "'."};
    Handle object(H5Oopen(m_id.get(), whole.empty() ? "/" : whole.c_str(), H5P_DEFAULT), H5Oclose);
    if (!object)
        return fails(ErrorCode::Corrupt, name, "cannot be read: " + lastError());
    return object;
}

/// Records a group before it is listed. Returns false if it was already listed under another path.
bool File::enter(hid_t group, const std::string& path)
{
#if H5_VERSION_GE(1, 12, 0)
    H5O_info1_t info;
#else
    H5O_info_t info;
#endif
    if (H5Oget_info2(group, &info, H5O_INFO_BASIC) < 0)
        return false;
    return m_groups.try_emplace(info.addr, path).first->second == path;
}

Result<std::vector<Hdf5Entry>> File::entries(std::string_view group)
{
    const Result<Handle> object = openObject(group);
    if (!object)
        return object.error();
    if (H5Iget_type(object->get()) != H5I_GROUP)
        return fails(ErrorCode::Corrupt, group, "is not a group");
    const std::string place(trimmed(group));
    if (!enter(object->get(), place))
        return Error{ErrorCode::Corrupt,
                     "'" + m_path + "' is damaged: the group '" + place
                         + "' contains itself or has two names."};
    std::vector<std::string> names;
    if (H5Literate(object->get(), H5_INDEX_CRT_ORDER, H5_ITER_INC, nullptr, collectName, &names) < 0) {
        names.clear();
        if (H5Literate(object->get(), H5_INDEX_NAME, H5_ITER_INC, nullptr, collectName, &names) < 0)
            return fails(ErrorCode::Corrupt, group, "cannot be listed: " + lastError());
    }
    std::vector<Hdf5Entry> entries;
    for (std::string& name : names) {
        const Handle child(H5Oopen(object->get(), name.c_str(), H5P_DEFAULT), H5Oclose);
        if (!child)
            return fails(ErrorCode::Corrupt, name, "cannot be read: " + lastError());
        Hdf5Kind kind = H5Iget_type(child.get()) == H5I_GROUP ? Hdf5Kind::Group : Hdf5Kind::Other;
        if (H5Iget_type(child.get()) == H5I_DATASET)
            kind = datasetKind(Handle(H5Dget_type(child.get()), H5Tclose).get());
        entries.push_back({std::move(name), kind});
    }
    return entries;
}

Result<File::Dataset> File::openDataset(std::string_view name) const
{
    Result<Handle> object = openObject(name);
    if (!object)
        return object.error();
    if (H5Iget_type(object->get()) != H5I_DATASET)
        return fails(ErrorCode::Corrupt, name, "is not a dataset");
    Dataset dataset;
    dataset.id = std::move(object).value();
    dataset.type = {H5Dget_type(dataset.id.get()), H5Tclose};
    const Handle space(H5Dget_space(dataset.id.get()), H5Sclose);
    const auto shape = shapeOf(space.get());
    const auto count = shape ? product(*shape) : std::nullopt;
    if (!dataset.type || !count)
        return fails(ErrorCode::Corrupt, name, "has an impossible shape");
    dataset.shape = *shape;
    dataset.count = *count;
    return dataset;
}

/// Refuses unknown filters, and deflated bytes that cannot unpack to the stated shape.
Result<Done> File::checkFilters(std::string_view name, const Dataset& dataset, hid_t properties)
{
    const std::size_t stored = H5Dget_storage_size(dataset.id.get());
    const std::size_t needed = dataset.count * H5Tget_size(dataset.type.get());
    std::size_t reachable = stored;
    for (int i = 0, filters = H5Pget_nfilters(properties); i < filters; ++i) {
        unsigned flags = 0;
        std::size_t values = 0;
        const H5Z_filter_t filter = H5Pget_filter2(properties, static_cast<unsigned>(i), &flags, &values,
                                                   nullptr, 0, nullptr, nullptr);
        if (filter == H5Z_FILTER_DEFLATE)
            reachable = stored * deflateRatio;
        else if (filter != H5Z_FILTER_SHUFFLE && filter != H5Z_FILTER_FLETCHER32)
            return fails(ErrorCode::Unsupported, name,
                         "is packed with a filter other than shuffle and deflate");
    }
    if (stored > m_bytes.size() || needed > reachable)
        return fails(ErrorCode::Corrupt, name,
                     "claims the shape " + printed(dataset.shape) + ", but only " + std::to_string(stored)
                         + " bytes of it are stored");
    if (needed > unpackLimit(m_bytes.size()) - m_unpacked)
        return fails(ErrorCode::Corrupt, name,
                     "unpacks to " + std::to_string(needed) + " bytes, which a file of "
                         + std::to_string(m_bytes.size()) + " bytes cannot plausibly hold");
    m_unpacked += needed;
    return Done{};
}

/// Checks, before anything is allocated, that the stored bytes can hold as many values as the shape says.
Result<Done> File::checkLayout(std::string_view name, Dataset& dataset)
{
    const Handle properties(H5Dget_create_plist(dataset.id.get()), H5Pclose);
    const H5D_layout_t layout = H5Pget_layout(properties.get());
    if (layout != H5D_CHUNKED && layout != H5D_CONTIGUOUS && layout != H5D_COMPACT)
        return fails(ErrorCode::Unsupported, name, "is a virtual dataset, which Headwise does not read");
    if (H5Pget_external_count(properties.get()) != 0)
        return fails(ErrorCode::Unsupported, name,
                     "keeps its values in another file, which Headwise does not read");
    if (layout == H5D_CHUNKED) {
        std::vector<hsize_t> chunk(maxRank);
        const int rank = H5Pget_chunk(properties.get(), maxRank, chunk.data());
        chunk.resize(static_cast<std::size_t>(std::clamp(rank, 0, int(maxRank))));
        const auto items = product({chunk.begin(), chunk.end()});
        if (!items || *items > maxChunkBytes / std::max<std::size_t>(H5Tget_size(dataset.type.get()), 1))
            return fails(ErrorCode::Unsupported, name, "has chunks of more than 256 MiB");
        if (!chunk.empty())
            dataset.rows = std::max<std::size_t>(chunk.front(), 1);
    }
    return checkFilters(name, dataset, properties.get());
}

namespace {

/// Returns a block with an extent in every dimension; nothing if it lies outside the array.
std::optional<Hdf5Block> blockWithin(const std::vector<std::size_t>& shape, const Hdf5Block* asked)
{
    if (!asked)
        return Hdf5Block{std::vector<std::size_t>(shape.size()), shape};
    Hdf5Block block = *asked;
    if (block.begin.size() != shape.size() || block.extent.size() != shape.size())
        return std::nullopt;
    for (std::size_t i = 0; i < shape.size(); ++i) {
        if (block.begin[i] > shape[i] || block.extent[i] > shape[i] - block.begin[i])
            return std::nullopt;
        if (block.extent[i] == 0)
            block.extent[i] = shape[i] - block.begin[i];
    }
    return block;
}

} // namespace

Result<Done> File::numbers(std::string_view name, const Hdf5Block* block,
                           const std::function<void(const NumbersHeader&)>& header,
                           const std::function<void(std::span<const std::byte>)>& values)
{
    Result<Dataset> opened = openDataset(name);
    if (!opened)
        return opened.error();
    Dataset dataset = std::move(opened).value();
    const NumberType type = numberType(dataset.type.get());
    if (type == NumberType::None)
        return fails(ErrorCode::Unsupported, name, "is not an array of f32, f64, i32 or complex numbers");
    if (const Result<Done> checked = checkLayout(name, dataset); !checked)
        return checked.error();
    const auto part = blockWithin(dataset.shape, block);
    if (!part)
        return fails(ErrorCode::Corrupt, name,
                     "has the shape " + printed(dataset.shape) + ", and the requested part lies outside");
    const Handle memory = memoryTypeOf(type);
    const std::size_t count = *product(part->extent); // at most that of the whole array
    header({std::size_t(type) - 1, part->extent, count, count * H5Tget_size(memory.get())});
    return count == 0 ? Done{} : readRows(name, dataset, *part, memory.get(), values);
}

/// Reads a block with at least one number, some rows at a time.
Result<Done> File::readRows(std::string_view name, const Dataset& dataset, const Hdf5Block& block,
                            hid_t memory, const std::function<void(std::span<const std::byte>)>& values) const
{
    const Handle space(H5Dget_space(dataset.id.get()), H5Sclose);
    const std::size_t all = block.extent.empty() ? 1 : block.extent.front();
    const std::size_t rowBytes = *product(block.extent) / all * H5Tget_size(memory);
    const std::size_t wanted = std::max<std::size_t>(partBytes / rowBytes, 1);
    const std::size_t rows = (wanted + dataset.rows - 1) / dataset.rows * dataset.rows;
    std::vector<std::byte> part(std::min(rows, all) * rowBytes);
    for (std::size_t first = 0; first < all; first += rows) {
        const std::size_t count = std::min(rows, all - first);
        std::vector<hsize_t> begin(block.begin.begin(), block.begin.end());
        std::vector<hsize_t> extent(block.extent.begin(), block.extent.end());
        if (!extent.empty()) {
            begin[0] += first;
            extent[0] = count;
            H5Sselect_hyperslab(space.get(), H5S_SELECT_SET, begin.data(), nullptr, extent.data(), nullptr);
        }
        // If the rank differed from the file's, the library would copy number by number.
        const Handle target(extent.empty() ? H5Screate(H5S_SCALAR)
                                           : H5Screate_simple(int(extent.size()), extent.data(), nullptr),
                            H5Sclose);
        if (H5Dread(dataset.id.get(), memory, target.get(), space.get(), H5P_DEFAULT, part.data()) < 0)
            return fails(ErrorCode::Corrupt, name, "cannot be read: " + lastError());
        values(std::span(part).first(count * rowBytes));
    }
    return Done{};
}

Result<std::vector<std::string>> File::rows(std::string_view name, Hdf5Kind wanted)
{
    Result<Dataset> opened = openDataset(name);
    if (!opened)
        return opened.error();
    Dataset dataset = std::move(opened).value();
    if (datasetKind(dataset.type.get()) != wanted)
        return fails(ErrorCode::Unsupported, name,
                     wanted == Hdf5Kind::Texts ? "is not text of variable length"
                                               : "is not bytes of variable length");
    if (const Result<Done> checked = checkLayout(name, dataset); !checked)
        return checked.error();
    if (dataset.count == 0)
        return std::vector<std::string>();
    const Handle type = referenceType();
    std::vector<std::byte> references(dataset.count * referenceBytes);
    if (H5Dread(dataset.id.get(), type.get(), H5S_ALL, H5S_ALL, H5P_DEFAULT, references.data()) < 0)
        return fails(ErrorCode::Corrupt, name, "cannot be read: " + lastError());
    std::optional<std::vector<std::string>> rows = behind(references, wanted);
    if (!rows)
        return fails(ErrorCode::Corrupt, name, "points to text that is not in the file");
    return std::move(*rows);
}

/// Returns the rows that references point to. Text ends at a NUL, if it has one.
std::optional<std::vector<std::string>> File::behind(std::span<const std::byte> references, Hdf5Kind wanted)
{
    std::vector<std::string> rows;
    rows.reserve(references.size() / referenceBytes);
    m_heap.restart();
    for (; !references.empty(); references = references.subspan(referenceBytes)) {
        std::optional<std::string> row = m_heap.at(references.data());
        if (!row)
            return std::nullopt;
        if (wanted == Hdf5Kind::Texts)
            row->resize(std::min(row->size(), row->find('\0')));
        rows.push_back(std::move(*row));
    }
    return rows;
}

namespace {

template <typename T>
std::optional<Hdf5Attribute> readNumberAttribute(hid_t attribute)
{
    T value{};
    const Handle memory = memoryType<T>();
    if (H5Aread(attribute, memory.get(), &value) < 0)
        return std::nullopt;
    return Hdf5Attribute(value);
}

} // namespace

std::optional<Hdf5Attribute> File::readTextAttribute(hid_t attribute, std::size_t count, bool isScalar)
{
    if (count > attributeTextBytes / referenceBytes)
        return std::nullopt;
    std::vector<std::byte> references(count * referenceBytes);
    const Handle type = referenceType();
    if (count > 0 && H5Aread(attribute, type.get(), references.data()) < 0)
        return std::nullopt;
    auto texts = behind(references, Hdf5Kind::Texts);
    if (!texts)
        return std::nullopt;
    if (isScalar)
        return Hdf5Attribute(std::move(texts->front()));
    return Hdf5Attribute(std::move(*texts));
}

std::optional<Hdf5Attribute> File::readAttribute(hid_t object, const std::string& name)
{
    const Handle attribute(H5Aopen(object, name.c_str(), H5P_DEFAULT), H5Aclose);
    const Handle type(attribute ? H5Aget_type(attribute.get()) : H5I_INVALID_HID, H5Tclose);
    const Handle space(attribute ? H5Aget_space(attribute.get()) : H5I_INVALID_HID, H5Sclose);
    if (!type || !space)
        return std::nullopt;
    const auto shape = shapeOf(space.get());
    const auto count = shape ? product(*shape) : std::nullopt;
    if (!count)
        return std::nullopt;
    if (H5Tis_variable_str(type.get()) > 0 && shape->size() <= 1)
        return readTextAttribute(attribute.get(), *count, shape->empty());
    if (*count != 1)
        return std::nullopt;
    if (isBool(type.get())) {
        std::int8_t value = 0;
        const Handle memory = boolType();
        return H5Aread(attribute.get(), memory.get(), &value) < 0 ? std::nullopt
                                                                  : std::optional<Hdf5Attribute>(value != 0);
    }
    switch (H5Tget_class(type.get())) {
    case H5T_FLOAT: return readNumberAttribute<double>(attribute.get());
    case H5T_INTEGER: return readNumberAttribute<std::int64_t>(attribute.get());
    default: return std::nullopt;
    }
}

Result<Hdf5Attributes> File::attributes(std::string_view name)
{
    const Result<Handle> object = openObject(name);
    if (!object)
        return object.error();
    std::vector<std::string> names;
    if (H5Aiterate2(object->get(), H5_INDEX_NAME, H5_ITER_INC, nullptr, collectAttribute, &names) < 0)
        return fails(ErrorCode::Corrupt, name, "has attributes that cannot be listed: " + lastError());
    Hdf5Attributes attributes;
    for (const std::string& attribute : names)
        if (auto value = readAttribute(object->get(), attribute))
            attributes.emplace(attribute, std::move(*value));
    return attributes;
}

} // namespace headwise::hdf5
