#include "core/files/hdf5_handle.h"

#include <hdf5_hl.h>

// Dimension labels and scales, through HDF5's own library for them (HDF5 Dimension Scale Specification, 2005).

namespace headwise::hdf5 {

namespace {

Handle dataset(hid_t file, const std::string& path)
{
    return {H5Dopen2(file, path.c_str(), H5P_DEFAULT), H5Dclose};
}

} // namespace

bool labelAxes(hid_t file, const std::string& path, const std::vector<std::string>& names)
{
    const Handle array = dataset(file, path);
    if (!array)
        return false;
    for (std::size_t i = 0; i < names.size(); ++i)
        if (H5DSset_label(array.get(), static_cast<unsigned>(i), names[i].c_str()) < 0)
            return false;
    return true;
}

bool attachScale(hid_t file, const std::string& path, unsigned axis, const std::string& scale)
{
    const Handle array = dataset(file, path);
    const Handle entries = dataset(file, scale);
    if (!array || !entries)
        return false;
    const std::string name = scale.substr(scale.rfind('/') + 1);
    if (H5DSis_scale(entries.get()) <= 0 && H5DSset_scale(entries.get(), name.c_str()) < 0)
        return false;
    return H5DSattach_scale(array.get(), entries.get(), axis) >= 0;
}

} // namespace headwise::hdf5
