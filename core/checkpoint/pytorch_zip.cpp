#include "core/checkpoint/pytorch_zip.h"

#include "core/checkpoint/pickle.h"
#include "core/checkpoint/scattered.h"

#include <algorithm>
#include <array>
#include <map>
#include <optional>
#include <set>

namespace headwise {
namespace {

using PytorchZipKind = PickleValue::Kind;
using PytorchZipBytes = std::span<const std::byte>;

constexpr std::uint64_t maxPickleBytes = 256u << 20;
constexpr std::size_t pytorchZipMaxRank = 16;
/// Limit on the size of a tensor, because a view may repeat one number without end. No real tensor is larger.
constexpr std::int64_t maxElements = std::int64_t{1} << 40;

struct StorageType {
    std::string_view name;
    DType dtype;
};

constexpr std::array storageTypes{
    StorageType{"DoubleStorage", DType::F64}, StorageType{"FloatStorage", DType::F32},
    StorageType{"HalfStorage", DType::F16},   StorageType{"BFloat16Storage", DType::BF16},
    StorageType{"LongStorage", DType::I64},   StorageType{"IntStorage", DType::I32},
    StorageType{"ShortStorage", DType::I16},  StorageType{"CharStorage", DType::I8},
    StorageType{"ByteStorage", DType::U8},    StorageType{"BoolStorage", DType::Bool},
    StorageType{"UntypedStorage", DType::U8}, StorageType{"ComplexFloatStorage", DType::C64},
    StorageType{"float64", DType::F64},       StorageType{"float32", DType::F32},
    StorageType{"float16", DType::F16},       StorageType{"bfloat16", DType::BF16},
    StorageType{"int64", DType::I64},         StorageType{"int32", DType::I32},
    StorageType{"int16", DType::I16},         StorageType{"int8", DType::I8},
    StorageType{"uint8", DType::U8},          StorageType{"bool", DType::Bool},
    StorageType{"complex64", DType::C64},
};

std::optional<DType> pytorchZipDtypeOf(std::string_view global)
{
    const std::string_view name = global.substr(global.rfind(' ') + 1);
    const auto found = std::find_if(storageTypes.begin(), storageTypes.end(),
                                    [&](const StorageType& t) { return t.name == name; });
    return found == storageTypes.end() ? std::nullopt : std::optional(found->dtype);
}

std::string text(PytorchZipBytes file, const ZipEntry& entry)
{
    return {reinterpret_cast<const char*>(file.data()) + entry.begin, static_cast<std::size_t>(entry.size)};
}

/// The members of one checkpoint, by their names below its folder ("archive/").
class Archive {
public:
    Archive(PytorchZipBytes file, std::span<const ZipEntry> entries, std::string_view fileName)
        : m_file(file)
        , m_name(fileName)
        , m_entries(entries)
    {
    }

    Result<Pickle> readNames();
    Result<std::vector<StoredTensor>> tensors(const Pickle& pickle) const;

private:
    const ZipEntry* find(const std::string& name) const
    {
        const auto entry = m_members.find(name);
        return entry == m_members.end() ? nullptr : entry->second;
    }
    Result<std::string> root() const;
    Result<int> stateDict(const Pickle& pickle) const;
    Result<StoredTensor> tensor(const Pickle& pickle, const PickleValue& value,
                                const std::string& name) const;
    Result<Done> place(const Pickle& pickle, const PickleValue& value, StoredTensor& tensor) const;

    Error corrupt(const std::string& tensor, const std::string& what) const
    {
        return {ErrorCode::Corrupt,
                "Tensor '" + tensor + "' of '" + m_name + "' " + what + "; download the file again."};
    }
    Error unsupported(const std::string& what) const
    {
        return {ErrorCode::Unsupported, "File '" + m_name + "' " + what};
    }

    PytorchZipBytes m_file;
    std::string m_name;
    std::span<const ZipEntry> m_entries;
    std::map<std::string, const ZipEntry*> m_members;
};

Result<std::string> Archive::root() const
{
    std::optional<std::string> root;
    for (const ZipEntry& entry : m_entries) {
        if (!entry.name.ends_with("/data.pkl"))
            continue;
        if (root)
            return unsupported("holds several checkpoints in one archive; unpack it and open one of them.");
        root = entry.name.substr(0, entry.name.size() - 8);
    }
    if (!root)
        return unsupported(
            "is a zip archive, but neither a PyTorch checkpoint (there is no data.pkl in it) nor an archive of NumPy arrays.");
    return *root;
}

Result<Pickle> Archive::readNames()
{
    const Result<std::string> folder = root();
    if (!folder)
        return folder.error();
    for (const ZipEntry& entry : m_entries)
        if (entry.name.starts_with(*folder))
            m_members.emplace(entry.name.substr(folder->size()), &entry);
    const auto isCode = [](const auto& member) { return member.first.starts_with("code/"); };
    if (find("constants.pkl") || std::any_of(m_members.begin(), m_members.end(), isCode))
        return unsupported(
            "is a TorchScript program, which Headwise never runs, not a checkpoint. In Python, save its weights: torch.save(torch.jit.load(file).state_dict(), ...).");
    if (const ZipEntry* order = find("byteorder");
        order && (order->isDeflated || text(m_file, *order) != "little"))
        return unsupported("was saved on a big-endian machine; load it in PyTorch and save it again.");
    const ZipEntry& names = *find("data.pkl");
    if (names.isDeflated || names.size > maxPickleBytes)
        return unsupported(
            "has a compressed or enormous data.pkl, which torch.save never writes; save it again.");
    return readPickle(m_file.subspan(names.begin, names.size), m_name);
}

bool holdsTensors(const Pickle& pickle, const PickleValue& value)
{
    if (value.kind != PytorchZipKind::Dict)
        return false;
    for (std::size_t i = 0; i + 1 < value.items.size(); i += 2)
        if (pickle[value.items[i]].kind == PytorchZipKind::Text
            && pickle[value.items[i + 1]].kind == PytorchZipKind::Tensor)
            return true;
    return false;
}

Result<int> Archive::stateDict(const Pickle& pickle) const
{
    static constexpr std::array<std::string_view, 5> usual{"state_dict", "model_state_dict", "model",
                                                           "module", "weights"};
    const PickleValue& top = pickle[pickle.top];
    std::map<std::string, int> found;
    for (std::size_t i = 0; top.kind == PytorchZipKind::Dict && i + 1 < top.items.size(); i += 2) {
        const std::string& key = pickle[top.items[i]].text;
        if (std::find(usual.begin(), usual.end(), key) != usual.end()
            && holdsTensors(pickle, pickle[top.items[i + 1]]))
            found[key] = top.items[i + 1];
    }
    if (found.size() > 1)
        return unsupported("holds several models, '" + found.begin()->first + "' and '"
                           + found.rbegin()->first
                           + "' among them. In Python, save the one you want with torch.save.");
    if (found.size() == 1)
        return found.begin()->second;
    if (!holdsTensors(pickle, top))
        return unsupported(
            "holds no named tensors. In Python, save only the weights: torch.save(model.state_dict(), ...).");
    return pickle.top;
}

Result<Done> Archive::place(const Pickle& pickle, const PickleValue& value, StoredTensor& tensor) const
{
    const PickleValue& storage = pickle[value.items[0]];
    const std::int64_t offset = pickle[value.items[1]].integer;
    const auto width = static_cast<std::uint64_t>(dtypeBits(tensor.dtype)) / 8;
    const ZipEntry* data = find("data/" + pickle[storage.items[1]].text);
    if (!data)
        return corrupt(tensor.name, "has no data in the archive");
    if (data->isDeflated)
        return Error{
            ErrorCode::Unsupported,
            "Tensor '" + tensor.name + "' of '" + m_name
                + "' is compressed, which torch.save never does; unpack the archive and save it again."};
    std::int64_t last = 0, count = 1;
    bool fits = offset >= 0;
    for (const StoredAxis& axis : tensor.axes) {
        std::int64_t reach = 0;
        fits = fits && axis.size >= 0 && axis.stride >= 0 && !__builtin_mul_overflow(count, axis.size, &count)
            && count <= maxElements
            && !__builtin_mul_overflow(std::max<std::int64_t>(axis.size - 1, 0), axis.stride, &reach)
            && !__builtin_add_overflow(last, reach, &last);
    }
    std::int64_t end = 0;
    fits = fits && !__builtin_add_overflow(last, offset, &end)
        && (count == 0 || static_cast<std::uint64_t>(end) < data->size / width);
    if (!fits)
        return corrupt(tensor.name,
                       "has shape " + shapeText(tensor.shape) + " and extends past the "
                           + std::to_string(data->size) + " bytes of its numbers");
    tensor.begin = data->begin + (count == 0 ? 0 : static_cast<std::uint64_t>(offset) * width);
    tensor.byteCount = count == 0 ? 0 : static_cast<std::uint64_t>(last + 1) * width;
    tensor.axes = unlessPacked(std::move(tensor.axes));
    return Done{};
}

Result<StoredTensor> Archive::tensor(const Pickle& pickle, const PickleValue& value,
                                     const std::string& name) const
{
    const PickleValue& storage = pickle[value.items[0]];
    const std::string type = pickle[value.items.size() > 4 ? value.items[4] : storage.items[0]].text;
    const std::optional<DType> dtype = pytorchZipDtypeOf(type);
    if (!dtype)
        return Error{ErrorCode::Unsupported,
                     "Tensor '" + name + "' of '" + m_name + "' holds numbers of the kind '" + type
                         + "', which this version does not read; convert it in PyTorch."};
    StoredTensor tensor{.name = name, .dtype = *dtype};
    const std::vector<int>& sizes = pickle[value.items[2]].items;
    const std::vector<int>& strides = pickle[value.items[3]].items;
    if (sizes.size() != strides.size() || sizes.size() > pytorchZipMaxRank)
        return corrupt(name,
                       "has " + std::to_string(sizes.size()) + " sizes and " + std::to_string(strides.size())
                           + " strides");
    for (std::size_t i = 0; i < sizes.size(); ++i) {
        tensor.shape.push_back(pickle[sizes[i]].integer);
        tensor.axes.push_back({pickle[sizes[i]].integer, pickle[strides[i]].integer});
    }
    if (const Result<Done> placed = place(pickle, value, tensor); !placed)
        return placed.error();
    return tensor;
}

Result<std::vector<StoredTensor>> Archive::tensors(const Pickle& pickle) const
{
    const Result<int> dict = stateDict(pickle);
    if (!dict)
        return dict.error();
    std::vector<StoredTensor> tensors;
    std::set<std::string> names;
    const std::vector<int>& items = pickle[*dict].items;
    for (std::size_t i = 0; i + 1 < items.size(); i += 2) {
        const PickleValue& value = pickle[items[i + 1]];
        if (pickle[items[i]].kind != PytorchZipKind::Text || value.kind != PytorchZipKind::Tensor)
            continue; // a step counter or a config, not a weight
        const std::string& name = pickle[items[i]].text;
        if (!names.insert(name).second)
            return corrupt(name, "occurs twice");
        Result<StoredTensor> stored = tensor(pickle, value, name);
        if (!stored)
            return stored.error();
        tensors.push_back(std::move(stored).value());
    }
    return tensors;
}

} // namespace

Result<std::vector<StoredTensor>> readPytorchZip(PytorchZipBytes file, std::span<const ZipEntry> entries,
                                                 std::string_view fileName)
{
    Archive archive(file, entries, fileName);
    const Result<Pickle> pickle = archive.readNames();
    if (!pickle)
        return pickle.error();
    return archive.tensors(*pickle);
}

} // namespace headwise
