#include "core/files/hdf5_handle.h"

#include "core/files/hdf5_heap.h"

#include <type_traits>

namespace headwise::hdf5 {

namespace {

constexpr const char* referenceTag = "headwise: reference into the global heap";

/// A conversion that HDF5 calls from variable length to our opaque type. It leaves the bytes unchanged.
// NOLINTNEXTLINE(readability-function-size): the parameters are HDF5's
herr_t keepReference(hid_t from, hid_t into, H5T_cdata_t* conversion, std::size_t /*count*/,
                     std::size_t /*stride*/, std::size_t /*backgroundStride*/, void* /*values*/,
                     void* /*background*/, hid_t /*transfer*/)
{
    if (conversion->command != H5T_CONV_INIT)
        return 0;
    conversion->need_bkg = H5T_BKG_NO;
    char* tag = H5Tget_tag(into);
    const bool isOurs = tag && std::string_view(tag) == referenceTag && H5Tget_size(from) == referenceBytes;
    H5free_memory(tag);
    return isOurs ? 0 : -1;
}

bool prepare()
{
    const Handle text = textType();
    const Handle reference = referenceType();
    return H5Tregister(H5T_PERS_SOFT, "headwise reference", text.get(), reference.get(), keepReference) >= 0;
}

herr_t takeInnermost(unsigned /*level*/, const H5E_error2_t* error, void* text)
{
    *static_cast<std::string*>(text) = error->desc ? error->desc : "";
    return 1; // stop walking
}

} // namespace

std::unique_lock<std::mutex> lock()
{
    static std::mutex mutex;
    std::unique_lock<std::mutex> held(mutex);
    // The library prints its errors in every thread that has not switched this off.
    static thread_local const bool isSilent = H5Eset_auto2(H5E_DEFAULT, nullptr, nullptr) >= 0;
    static_cast<void>(isSilent);
    static const bool prepared = prepare();
    static_cast<void>(prepared); // if this fails, reading text fails with a message
    return held;
}

std::string lastError()
{
    std::string text;
    H5Ewalk2(H5E_DEFAULT, H5E_WALK_UPWARD, takeInnermost, &text);
    // "file write failed: time = …, filename = '…', errno = 28, error message = 'No space left on device', buf = …"
    constexpr std::string_view marker = "error message = '";
    if (const std::size_t at = text.find(marker); at != std::string::npos) {
        const std::size_t begin = at + marker.size();
        return text.substr(begin, text.find('\'', begin) - begin);
    }
    return text.empty() ? "the HDF5 library gives no reason" : text;
}

Handle textType()
{
    Handle type(H5Tcopy(H5T_C_S1), H5Tclose);
    if (type)
        H5Tset_size(type.get(), H5T_VARIABLE), H5Tset_cset(type.get(), H5T_CSET_UTF8);
    return type;
}

Handle bytesType()
{
    return {H5Tvlen_create(H5T_STD_U8LE), H5Tclose};
}

Handle boolType()
{
    Handle type(H5Tenum_create(H5T_STD_I8LE), H5Tclose);
    const std::int8_t no = 0;
    const std::int8_t yes = 1;
    if (type)
        H5Tenum_insert(type.get(), "FALSE", &no), H5Tenum_insert(type.get(), "TRUE", &yes);
    return type;
}

Handle complexType(hid_t scalar)
{
    const std::size_t size = H5Tget_size(scalar);
    Handle type(H5Tcreate(H5T_COMPOUND, 2 * size), H5Tclose);
    if (type)
        H5Tinsert(type.get(), "r", 0, scalar), H5Tinsert(type.get(), "i", size, scalar);
    return type;
}

Handle fileAccess()
{
    Handle access(H5Pcreate(H5P_FILE_ACCESS), H5Pclose);
    if (access) {
        H5Pset_file_locking(access.get(), false, true);
        H5Pset_fclose_degree(access.get(), H5F_CLOSE_STRONG);
    }
    return access;
}

Handle referenceType()
{
    Handle type(H5Tcreate(H5T_OPAQUE, referenceBytes), H5Tclose);
    if (type)
        H5Tset_tag(type.get(), referenceTag);
    return type;
}

std::string_view trimmed(std::string_view path)
{
    while (path.starts_with('/'))
        path.remove_prefix(1);
    while (path.ends_with('/'))
        path.remove_suffix(1);
    return path;
}

namespace {

/// The type of T, given those of the four kinds of numbers.
template <typename T>
Handle typeAmong(hid_t f32, hid_t f64, hid_t i32, hid_t i64)
{
    if constexpr (std::is_same_v<T, std::complex<float>>)
        return complexType(f32);
    else if constexpr (std::is_same_v<T, std::complex<double>>)
        return complexType(f64);
    else if constexpr (std::is_floating_point_v<T>)
        return {H5Tcopy(sizeof(T) == 4 ? f32 : f64), H5Tclose};
    else
        return {H5Tcopy(sizeof(T) == 4 ? i32 : i64), H5Tclose};
}

} // namespace

template <typename T>
Handle memoryType()
{
    return typeAmong<T>(H5T_NATIVE_FLOAT, H5T_NATIVE_DOUBLE, H5T_NATIVE_INT32, H5T_NATIVE_INT64);
}

template <typename T>
Handle storedType()
{
    return typeAmong<T>(H5T_IEEE_F32LE, H5T_IEEE_F64LE, H5T_STD_I32LE, H5T_STD_I64LE);
}

template Handle memoryType<float>();
template Handle memoryType<double>();
template Handle memoryType<std::int32_t>();
template Handle memoryType<std::int64_t>();
template Handle memoryType<std::complex<float>>();
template Handle memoryType<std::complex<double>>();
template Handle storedType<float>();
template Handle storedType<double>();
template Handle storedType<std::int32_t>();
template Handle storedType<std::int64_t>();
template Handle storedType<std::complex<float>>();
template Handle storedType<std::complex<double>>();

} // namespace headwise::hdf5
