#include "core/files/hdf5.h"
#include "core/series/series_file.h"
#include "core/series/vector_tracks.h"

#include <algorithm>

namespace headwise {
namespace {

/// A dataset of a series. \param missing follows the name of a series that lacks it
struct SteppedDataset {
    std::string name;
    const char* missing;
};

SteppedDataset spectraOf(std::string_view circuit)
{
    return {"spectra/" + std::string(circuit) + "/singular_values",
            "has no singular values of this circuit; compute it with the analysis spectra."};
}

/// A part of an array at all steps.
Result<Hdf5Array> readStepped(const std::filesystem::path& path, const SteppedDataset& dataset,
                              const Hdf5Block& part, std::size_t steps, const Task& task)
{
    const Result<Hdf5Reader> file = Hdf5Reader::open(path, task);
    if (!file)
        return file.error();
    const std::string& name = dataset.name;
    if (!file->has(name))
        return Error{ErrorCode::NotFound, "The series '" + path.string() + "' " + dataset.missing};
    Result<Hdf5Array> array = file->readBlock(name, part);
    if (!array)
        return array.error();
    const auto* values = std::get_if<std::vector<float>>(&array->values);
    if (!values || values->empty() || array->shape.front() != steps)
        return Error{ErrorCode::Corrupt,
                     "'" + name + "' of the series '" + path.string()
                         + "' has a shape or type that does not fit the steps."};
    return array;
}

} // namespace

Result<HeadSpectra> readHeadSpectra(const std::filesystem::path& path, std::string_view circuit, HeadId head,
                                    std::size_t steps, const Task& task)
{
    const Hdf5Block part{{0, static_cast<std::size_t>(head.layer), static_cast<std::size_t>(head.head), 0},
                         {0, 1, 1, 0}};
    const Result<Hdf5Array> array = readStepped(path, spectraOf(circuit), part, steps, task);
    if (!array)
        return array.error();
    return HeadSpectra{array->shape.back(), std::get<std::vector<float>>(array->values)};
}

Result<std::vector<HeadSpectra>> readLeadingSpectra(const std::filesystem::path& path,
                                                    std::string_view circuit, std::size_t rank,
                                                    std::size_t steps, const Task& task)
{
    const Result<Hdf5Array> array =
        readStepped(path, spectraOf(circuit), {{0, 0, 0, 0}, {0, 0, 0, rank}}, steps, task);
    if (!array)
        return array.error();
    const auto& values = std::get<std::vector<float>>(array->values);
    const std::size_t heads = values.size() / (steps * rank);
    std::vector<HeadSpectra> all(heads, {rank, std::vector<float>(steps * rank)});
    for (std::size_t step = 0; step < steps; ++step)
        for (std::size_t head = 0; head < heads; ++head)
            std::copy_n(values.begin() + static_cast<std::ptrdiff_t>((step * heads + head) * rank), rank,
                        all[head].values.begin() + static_cast<std::ptrdiff_t>(step * rank));
    return all;
}

Result<VectorOverlaps> readVectorOverlaps(const std::filesystem::path& path, std::string_view side,
                                          HeadId head, std::size_t steps, const Task& task)
{
    const SteppedDataset dataset{
        vectorOverlapPath(side),
        "does not follow single singular vectors; headwise series with the same options adds their overlaps."};
    const Hdf5Block part{{0, static_cast<std::size_t>(head.layer), static_cast<std::size_t>(head.head), 0, 0},
                         {0, 1, 1, 0, 0}};
    const Result<Hdf5Array> array = readStepped(path, dataset, part, steps, task);
    if (!array)
        return array.error();
    return VectorOverlaps{array->shape.back(), std::get<std::vector<float>>(array->values)};
}

} // namespace headwise
