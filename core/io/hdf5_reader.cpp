#include "core/io/hdf5.h"
#include "core/io/hdf5_handle.h"
#include "core/io/hdf5_heap.h"
#include "core/io/mapped_file.h"

#include <algorithm>
#include <limits>
#include <new>
#include <optional>

namespace headwise {

using hdf5::Handle;

namespace {

constexpr int hdf5ReaderMaxRank = 8;
constexpr std::size_t maxEntries = 1'000'000; // of one group
constexpr std::size_t maxChunkBytes = std::size_t(256) << 20;
constexpr std::size_t deflateRatio = 1032;            // the most a deflated byte can become
constexpr std::size_t attributeTextBytes = 16u << 20; // of one attribute

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

/// Which of our types of number a stored type reads as.
enum class NumberType { None, F32, F64, I32, C64, C128 };

NumberType numberType(hid_t type)
{
    const std::size_t size = H5Tget_size(type);
    const H5T_class_t kind = H5Tget_class(type);
    if (kind == H5T_FLOAT)
        return size == 4 ? NumberType::F32 : size == 8 ? NumberType::F64 : NumberType::None;
    if (kind == H5T_INTEGER)
        return size == 4 && H5Tget_sign(type) == H5T_SGN_2 ? NumberType::I32 : NumberType::None;
    if (kind != H5T_COMPOUND || H5Tget_nmembers(type) != 2 || H5Tget_member_index(type, "r") != 0
        || H5Tget_member_index(type, "i") != 1)
        return NumberType::None;
    const Handle first(H5Tget_member_type(type, 0), H5Tclose);
    const Handle second(H5Tget_member_type(type, 1), H5Tclose);
    const NumberType part = numberType(first.get());
    if (part != numberType(second.get()))
        return NumberType::None;
    return part == NumberType::F32 ? NumberType::C64
        : part == NumberType::F64  ? NumberType::C128
                                   : NumberType::None;
}

bool isBytes(hid_t type)
{
    if (H5Tget_class(type) != H5T_VLEN)
        return false;
    const Handle item(H5Tget_super(type), H5Tclose);
    return H5Tget_class(item.get()) == H5T_INTEGER && H5Tget_size(item.get()) == 1;
}

bool isBool(hid_t type)
{
    return H5Tget_class(type) == H5T_ENUM && H5Tget_size(type) == 1 && H5Tget_nmembers(type) == 2;
}

Hdf5Kind datasetKind(hid_t type)
{
    if (numberType(type) != NumberType::None)
        return Hdf5Kind::Numbers;
    if (H5Tis_variable_str(type) > 0)
        return Hdf5Kind::Texts;
    return isBytes(type) ? Hdf5Kind::Bytes : Hdf5Kind::Other;
}

std::optional<std::size_t> hdf5ReaderProduct(const std::vector<std::size_t>& shape)
{
    std::size_t count = 1;
    for (const std::size_t size : shape)
        if (__builtin_mul_overflow(count, size, &count)
            || count > std::numeric_limits<std::size_t>::max() / 64)
            return std::nullopt;
    return count;
}

std::optional<std::vector<std::size_t>> hdf5ReaderShapeOf(hid_t space)
{
    const H5S_class_t kind = H5Sget_simple_extent_type(space);
    if (kind == H5S_SCALAR)
        return std::vector<std::size_t>{};
    const int rank = H5Sget_simple_extent_ndims(space);
    if (kind != H5S_SIMPLE || rank < 0 || rank > hdf5ReaderMaxRank)
        return std::nullopt;
    std::vector<hsize_t> sizes(static_cast<std::size_t>(rank));
    H5Sget_simple_extent_dims(space, sizes.data(), nullptr);
    return std::vector<std::size_t>(sizes.begin(), sizes.end());
}

std::string printed(const std::vector<std::size_t>& shape)
{
    std::string text = "[";
    for (std::size_t i = 0; i < shape.size(); ++i)
        text += (i ? ", " : "") + std::to_string(shape[i]);
    return text + "]";
}

} // namespace

struct Hdf5Reader::File {
    std::filesystem::path path;
    std::size_t bytes = 0;
    std::optional<MappedFile> mapped;
    std::unique_ptr<hdf5::GlobalHeap> heap; // of `mapped`
    Handle id;

    struct Dataset {
        Handle id, type;
        std::vector<std::size_t> shape;
        std::size_t count = 0; // product of shape
    };

    ~File()
    {
        const auto held = hdf5::lock();
        id.close();
    }

    Error fails(ErrorCode code, std::string_view what, const std::string& why) const
    {
        return {code, "'" + std::string(what) + "' of '" + path.string() + "' " + why + "."};
    }

    bool exists(std::string_view name) const;
    Result<Handle> openObject(std::string_view name) const;
    Result<Dataset> openDataset(std::string_view name) const;
    Result<Done> checkLayout(std::string_view name, const Dataset& dataset) const;
    Result<std::vector<std::string>> readVariable(std::string_view name, Hdf5Kind wanted) const;
    std::optional<std::vector<std::string>> behind(std::span<const std::byte> references,
                                                   Hdf5Kind wanted) const;
    std::optional<Hdf5Attribute> readAttribute(hid_t object, const std::string& name) const;
    std::optional<Hdf5Attribute> readTextAttribute(hid_t attribute, std::size_t count, bool isScalar) const;
};

Hdf5Reader::Hdf5Reader(std::shared_ptr<File> file)
    : m_file(std::move(file))
{
}

bool isHdf5(const std::filesystem::path& path)
{
    std::error_code error;
    if (!std::filesystem::is_regular_file(path, error))
        return false;
    const auto held = hdf5::lock();
    return H5Fis_hdf5(path.c_str()) > 0;
}

Result<Hdf5Reader> Hdf5Reader::open(const std::filesystem::path& path)
{
    std::error_code error;
    const std::filesystem::file_status status = std::filesystem::status(path, error);
    if (status.type() == std::filesystem::file_type::not_found)
        return Error{ErrorCode::NotFound, "There is no file '" + path.string() + "'."};
    if (status.type() != std::filesystem::file_type::regular)
        return Error{ErrorCode::Corrupt, "'" + path.string() + "' is not a file."};
    auto file = std::make_shared<File>();
    file->path = path;
    Result<MappedFile> mapped = MappedFile::open(path);
    if (!mapped)
        return mapped.error();
    file->mapped = std::move(mapped).value();
    file->bytes = file->mapped->bytes().size();

    const auto held = hdf5::lock();
    const htri_t recognised = H5Fis_hdf5(path.c_str());
    if (recognised < 0)
        return Error{ErrorCode::Io, "Cannot read '" + path.string() + "': " + hdf5::lastError() + "."};
    if (recognised == 0)
        return Error{ErrorCode::Corrupt, "'" + path.string() + "' is not an HDF5 file."};
    const Handle access = hdf5::fileAccess();
    Handle id(H5Fopen(path.c_str(), H5F_ACC_RDONLY, access.get()), H5Fclose);
    if (!id)
        return Error{ErrorCode::Corrupt,
                     "'" + path.string() + "' is damaged or was not written to its end: " + hdf5::lastError()
                         + "."};
    const Handle creation(H5Fget_create_plist(id.get()), H5Pclose);
    hsize_t userBlock = 0;
    std::size_t addressSize = 0;
    std::size_t lengthSize = 0;
    H5Pget_userblock(creation.get(), &userBlock);
    H5Pget_sizes(creation.get(), &addressSize, &lengthSize);
    if (userBlock != 0 || addressSize != 8 || lengthSize != 8)
        return Error{ErrorCode::Unsupported,
                     "'" + path.string()
                         + "' is an HDF5 file with a user block or with addresses other than 64 bits."};
    file->heap = std::make_unique<hdf5::GlobalHeap>(file->mapped->bytes());
    file->id = std::move(id);
    return Hdf5Reader(std::move(file));
}

const std::filesystem::path& Hdf5Reader::path() const
{
    return m_file->path;
}

bool Hdf5Reader::File::exists(std::string_view name) const
{
    const std::string whole(hdf5::trimmed(name));
    if (whole.empty())
        return true;
    for (std::size_t end = 0; end != std::string::npos;) {
        end = whole.find('/', end + 1);
        H5L_info_t info;
        const std::string part = whole.substr(0, end);
        if (H5Lexists(id.get(), part.c_str(), H5P_DEFAULT) <= 0
            || H5Lget_info(id.get(), part.c_str(), &info, H5P_DEFAULT) < 0 || info.type != H5L_TYPE_HARD)
            return false;
    }
    return true;
}

Result<Handle> Hdf5Reader::File::openObject(std::string_view name) const
{
    const std::string whole(hdf5::trimmed(name));
    if (!exists(whole))
        return Error{ErrorCode::NotFound, "'" + path.string() + "' has no '" + whole + "'."};
    Handle object(H5Oopen(id.get(), whole.empty() ? "/" : whole.c_str(), H5P_DEFAULT), H5Oclose);
    if (!object)
        return fails(ErrorCode::Corrupt, name, "cannot be read: " + hdf5::lastError());
    return object;
}

bool Hdf5Reader::has(std::string_view path) const
{
    const auto held = hdf5::lock();
    return m_file->exists(path);
}

Result<std::vector<Hdf5Entry>> Hdf5Reader::entries(std::string_view group) const
{
    const auto held = hdf5::lock();
    const Result<Handle> object = m_file->openObject(group);
    if (!object)
        return object.error();
    if (H5Iget_type(object->get()) != H5I_GROUP)
        return m_file->fails(ErrorCode::Corrupt, group, "is not a group");
    std::vector<std::string> names;
    if (H5Literate(object->get(), H5_INDEX_CRT_ORDER, H5_ITER_INC, nullptr, collectName, &names) < 0) {
        names.clear();
        if (H5Literate(object->get(), H5_INDEX_NAME, H5_ITER_INC, nullptr, collectName, &names) < 0)
            return m_file->fails(ErrorCode::Corrupt, group, "cannot be listed: " + hdf5::lastError());
    }
    std::vector<Hdf5Entry> entries;
    for (std::string& name : names) {
        const Handle child(H5Oopen(object->get(), name.c_str(), H5P_DEFAULT), H5Oclose);
        if (!child)
            return m_file->fails(ErrorCode::Corrupt, name, "cannot be read: " + hdf5::lastError());
        Hdf5Kind kind = H5Iget_type(child.get()) == H5I_GROUP ? Hdf5Kind::Group : Hdf5Kind::Other;
        if (H5Iget_type(child.get()) == H5I_DATASET)
            kind = datasetKind(Handle(H5Dget_type(child.get()), H5Tclose).get());
        entries.push_back({std::move(name), kind});
    }
    return entries;
}

Result<Hdf5Reader::File::Dataset> Hdf5Reader::File::openDataset(std::string_view name) const
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
    const auto shape = hdf5ReaderShapeOf(space.get());
    const auto count = shape ? hdf5ReaderProduct(*shape) : std::nullopt;
    if (!dataset.type || !count)
        return fails(ErrorCode::Corrupt, name, "has an impossible shape");
    dataset.shape = *shape;
    dataset.count = *count;
    return dataset;
}

/// Whether the stored bytes can give as many values as the shape says, before anything is allocated for them.
Result<Done> Hdf5Reader::File::checkLayout(std::string_view name, const Dataset& dataset) const
{
    const Handle properties(H5Dget_create_plist(dataset.id.get()), H5Pclose);
    const H5D_layout_t layout = H5Pget_layout(properties.get());
    if (layout != H5D_CHUNKED && layout != H5D_CONTIGUOUS && layout != H5D_COMPACT)
        return fails(ErrorCode::Unsupported, name, "is a virtual dataset, which is not read");
    if (H5Pget_external_count(properties.get()) != 0)
        return fails(ErrorCode::Unsupported, name, "keeps its values in another file, which is not read");
    const std::size_t stored = H5Dget_storage_size(dataset.id.get());
    const std::size_t needed = dataset.count * H5Tget_size(dataset.type.get());
    std::size_t reachable = stored;
    for (int i = 0, filters = H5Pget_nfilters(properties.get()); i < filters; ++i) {
        unsigned flags = 0;
        std::size_t values = 0;
        const H5Z_filter_t filter = H5Pget_filter2(properties.get(), static_cast<unsigned>(i), &flags,
                                                   &values, nullptr, 0, nullptr, nullptr);
        if (filter == H5Z_FILTER_DEFLATE)
            reachable = stored * deflateRatio;
        else if (filter != H5Z_FILTER_SHUFFLE && filter != H5Z_FILTER_FLETCHER32)
            return fails(ErrorCode::Unsupported, name,
                         "is packed with a filter other than shuffle and deflate");
    }
    if (layout == H5D_CHUNKED) {
        std::vector<hsize_t> chunk(hdf5ReaderMaxRank);
        const int rank = H5Pget_chunk(properties.get(), hdf5ReaderMaxRank, chunk.data());
        chunk.resize(static_cast<std::size_t>(std::clamp(rank, 0, hdf5ReaderMaxRank)));
        const auto items = hdf5ReaderProduct({chunk.begin(), chunk.end()});
        if (!items || *items > maxChunkBytes / std::max<std::size_t>(H5Tget_size(dataset.type.get()), 1))
            return fails(ErrorCode::Unsupported, name, "has chunks of more than 256 MiB");
    }
    if (stored > bytes || needed > reachable)
        return fails(ErrorCode::Corrupt, name,
                     "claims the shape " + printed(dataset.shape) + ", but only " + std::to_string(stored)
                         + " bytes of it are stored");
    return Done{};
}

Result<Hdf5Array> Hdf5Reader::readArray(std::string_view path) const
{
    const auto held = hdf5::lock();
    const Result<File::Dataset> dataset = m_file->openDataset(path);
    if (!dataset)
        return dataset.error();
    const NumberType type = numberType(dataset->type.get());
    if (type == NumberType::None)
        return m_file->fails(ErrorCode::Unsupported, path,
                             "is not an array of f32, f64, i32 or complex numbers");
    if (const Result<Done> checked = m_file->checkLayout(path, *dataset); !checked)
        return checked.error();

    const auto read = [&]<typename T>(T) -> Result<Hdf5Array> {
        try {
            std::vector<T> values(dataset->count);
            const Handle memory = hdf5::memoryType<T>();
            if (!values.empty()
                && H5Dread(dataset->id.get(), memory.get(), H5S_ALL, H5S_ALL, H5P_DEFAULT, values.data()) < 0)
                return m_file->fails(ErrorCode::Corrupt, path, "cannot be read: " + hdf5::lastError());
            return Hdf5Array{dataset->shape, std::move(values)};
        } catch (const std::bad_alloc&) {
            return m_file->fails(ErrorCode::OutOfMemory, path, "does not fit into memory");
        }
    };
    switch (type) {
    case NumberType::F32: return read(float{});
    case NumberType::F64: return read(double{});
    case NumberType::I32: return read(std::int32_t{});
    case NumberType::C64: return read(std::complex<float>{});
    default: return read(std::complex<double>{});
    }
}

Result<std::vector<std::string>> Hdf5Reader::File::readVariable(std::string_view name, Hdf5Kind wanted) const
{
    const Result<Dataset> dataset = openDataset(name);
    if (!dataset)
        return dataset.error();
    if (datasetKind(dataset->type.get()) != wanted)
        return fails(ErrorCode::Unsupported, name,
                     wanted == Hdf5Kind::Texts ? "is not text of variable length"
                                               : "is not bytes of variable length");
    if (const Result<Done> checked = checkLayout(name, *dataset); !checked)
        return checked.error();
    if (dataset->count == 0)
        return std::vector<std::string>();
    const Handle type = hdf5::referenceType();
    std::vector<std::byte> references(dataset->count * hdf5::referenceBytes);
    if (H5Dread(dataset->id.get(), type.get(), H5S_ALL, H5S_ALL, H5P_DEFAULT, references.data()) < 0)
        return fails(ErrorCode::Corrupt, name, "cannot be read: " + hdf5::lastError());
    std::optional<std::vector<std::string>> rows = behind(references, wanted);
    if (!rows)
        return fails(ErrorCode::Corrupt, name, "points to text that is not in the file");
    return std::move(*rows);
}

/// The rows that references point to; text ends at a NUL, if it has one.
std::optional<std::vector<std::string>> Hdf5Reader::File::behind(std::span<const std::byte> references,
                                                                 Hdf5Kind wanted) const
{
    std::vector<std::string> rows;
    rows.reserve(references.size() / hdf5::referenceBytes);
    heap->restart();
    for (; !references.empty(); references = references.subspan(hdf5::referenceBytes)) {
        std::optional<std::string> row = heap->at(references.data());
        if (!row)
            return std::nullopt;
        if (wanted == Hdf5Kind::Texts)
            row->resize(std::min(row->size(), row->find('\0')));
        rows.push_back(std::move(*row));
    }
    return rows;
}

Result<std::vector<std::string>> Hdf5Reader::readTexts(std::string_view path) const
{
    const auto held = hdf5::lock();
    return m_file->readVariable(path, Hdf5Kind::Texts);
}

Result<std::vector<std::string>> Hdf5Reader::readBytes(std::string_view path) const
{
    const auto held = hdf5::lock();
    return m_file->readVariable(path, Hdf5Kind::Bytes);
}

namespace {

template <typename T>
std::optional<Hdf5Attribute> readNumberAttribute(hid_t attribute)
{
    T value{};
    const Handle memory = hdf5::memoryType<T>();
    if (H5Aread(attribute, memory.get(), &value) < 0)
        return std::nullopt;
    return Hdf5Attribute(value);
}

} // namespace

std::optional<Hdf5Attribute> Hdf5Reader::File::readTextAttribute(hid_t attribute, std::size_t count,
                                                                 bool isScalar) const
{
    if (count > attributeTextBytes / hdf5::referenceBytes)
        return std::nullopt;
    std::vector<std::byte> references(count * hdf5::referenceBytes);
    const Handle type = hdf5::referenceType();
    if (count > 0 && H5Aread(attribute, type.get(), references.data()) < 0)
        return std::nullopt;
    auto texts = behind(references, Hdf5Kind::Texts);
    if (!texts)
        return std::nullopt;
    if (isScalar)
        return Hdf5Attribute(std::move(texts->front()));
    return Hdf5Attribute(std::move(*texts));
}

std::optional<Hdf5Attribute> Hdf5Reader::File::readAttribute(hid_t object, const std::string& name) const
{
    const Handle attribute(H5Aopen(object, name.c_str(), H5P_DEFAULT), H5Aclose);
    const Handle type(attribute ? H5Aget_type(attribute.get()) : H5I_INVALID_HID, H5Tclose);
    const Handle space(attribute ? H5Aget_space(attribute.get()) : H5I_INVALID_HID, H5Sclose);
    if (!type || !space)
        return std::nullopt;
    const auto shape = hdf5ReaderShapeOf(space.get());
    const auto count = shape ? hdf5ReaderProduct(*shape) : std::nullopt;
    if (!count)
        return std::nullopt;
    if (H5Tis_variable_str(type.get()) > 0 && shape->size() <= 1)
        return readTextAttribute(attribute.get(), *count, shape->empty());
    if (*count != 1)
        return std::nullopt;
    if (isBool(type.get())) {
        std::int8_t value = 0;
        const Handle memory = hdf5::boolType();
        return H5Aread(attribute.get(), memory.get(), &value) < 0 ? std::nullopt
                                                                  : std::optional<Hdf5Attribute>(value != 0);
    }
    switch (H5Tget_class(type.get())) {
    case H5T_FLOAT: return readNumberAttribute<double>(attribute.get());
    case H5T_INTEGER: return readNumberAttribute<std::int64_t>(attribute.get());
    default: return std::nullopt;
    }
}

Result<Hdf5Attributes> Hdf5Reader::attributes(std::string_view path) const
{
    const auto held = hdf5::lock();
    const Result<Handle> object = m_file->openObject(path);
    if (!object)
        return object.error();
    std::vector<std::string> names;
    if (H5Aiterate2(object->get(), H5_INDEX_NAME, H5_ITER_INC, nullptr, collectAttribute, &names) < 0)
        return m_file->fails(ErrorCode::Corrupt, path,
                             "has attributes that cannot be listed: " + hdf5::lastError());
    Hdf5Attributes attributes;
    for (const std::string& name : names)
        if (auto value = m_file->readAttribute(object->get(), name))
            attributes.emplace(name, std::move(*value));
    return attributes;
}

} // namespace headwise
