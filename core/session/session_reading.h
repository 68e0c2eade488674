#pragma once

// Private to the readers of a session: the file being read, and its attributes as they are stored.

#include "core/files/hdf5.h"
#include "core/session/session_file.h"

#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

namespace headwise {

/// A file being read, and its state.
struct SessionReading {
    const Hdf5Reader& file;
    const Task& task;
    Session& session;

    /// True for a format version that this reader does not know.
    bool isNewer() const { return session.formatVersion > sessionFormatVersion; }

    Error corrupt(const std::string& what, const std::string& why) const
    {
        return {ErrorCode::Corrupt,
                "'" + what + "' of the session '" + file.path().string() + "' " + why + "."};
    }
};

namespace stored {

template <typename T>
const T* get(const Hdf5Attributes& attributes, std::string_view name)
{
    const auto found = attributes.find(std::string(name));
    return found == attributes.end() ? nullptr : std::get_if<T>(&found->second);
}

inline std::string textOf(const Hdf5Attributes& attributes, std::string_view name)
{
    const auto* text = get<std::string>(attributes, name);
    return text ? *text : std::string();
}

inline std::vector<std::string> textsOf(const Hdf5Attributes& attributes, std::string_view name)
{
    const auto* texts = get<std::vector<std::string>>(attributes, name);
    return texts ? *texts : std::vector<std::string>();
}

inline std::optional<double> numberOf(const Hdf5Attributes& attributes, std::string_view name)
{
    if (const auto* number = get<double>(attributes, name))
        return *number;
    if (const auto* integer = get<std::int64_t>(attributes, name))
        return static_cast<double>(*integer);
    return std::nullopt;
}

/// Returns the head of that name if the model has it.
inline std::optional<HeadId> headOf(const ModelCard& model, std::string_view dotted)
{
    const std::optional<HeadId> head = parseHeadId(dotted);
    const bool inside =
        head && dottedHead(*head) == dotted && head->layer < model.nLayers && head->head < model.nHeads;
    return inside ? head : std::nullopt;
}

} // namespace stored

/// Reads the attributes of the root group, /model and /processing.
/// \param format  attribute of the root group: "headwise-session"   \param what  in messages: "session"
/// Errors: Unsupported for another format, Corrupt.
Result<Done> readHead(SessionReading& reading, std::string_view format, std::string_view what);

/// Returns the root attribute `format` of an HDF5 file; none if it cannot be read.
std::optional<std::string> formatOf(const std::filesystem::path& path);

/// Reads an array with its attributes and checks nothing of its shape.
/// Errors: those of Hdf5Reader::readArray.
Result<ResultArray> readDescribedArray(const Hdf5Reader& file, const std::string& path);

/// Reads the arrays of a session into its results and checks that they fit its model. A later version may store tables
/// differently: those are left out.
/// Errors: Corrupt, Io, Cancelled.
Result<Done> readSessionResults(SessionReading& reading);

} // namespace headwise
