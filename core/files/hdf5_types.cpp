#include "core/files/hdf5_types.h"

#include "core/files/hdf5_wire.h"

#include <cstdint>
#include <limits>

namespace headwise::hdf5 {
namespace {

bool isBytes(hid_t type)
{
    if (H5Tget_class(type) != H5T_VLEN)
        return false;
    const Handle item(H5Tget_super(type), H5Tclose);
    return H5Tget_class(item.get()) == H5T_INTEGER && H5Tget_size(item.get()) == 1;
}

} // namespace

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

Handle memoryTypeOf(NumberType type)
{
    switch (type) {
    case NumberType::F32: return memoryType<float>();
    case NumberType::F64: return memoryType<double>();
    case NumberType::I32: return memoryType<std::int32_t>();
    case NumberType::C64: return memoryType<std::complex<float>>();
    default: return memoryType<std::complex<double>>();
    }
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

std::optional<std::size_t> product(const std::vector<std::size_t>& shape)
{
    std::size_t count = 1;
    for (const std::size_t size : shape)
        if (__builtin_mul_overflow(count, size, &count)
            || count > std::numeric_limits<std::size_t>::max() / 64)
            return std::nullopt;
    return count;
}

std::optional<std::vector<std::size_t>> shapeOf(hid_t space)
{
    const H5S_class_t kind = H5Sget_simple_extent_type(space);
    if (kind == H5S_SCALAR)
        return std::vector<std::size_t>{};
    const int rank = H5Sget_simple_extent_ndims(space);
    if (kind != H5S_SIMPLE || rank < 0 || rank > int(maxRank))
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

} // namespace headwise::hdf5
