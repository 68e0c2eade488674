#pragma once

#include "core/base/result.h"

#include <nlohmann/json_fwd.hpp>

#include <filesystem>
#include <optional>
#include <string>
#include <string_view>

namespace headwise {

/// Reads members of the JSON objects of one tokenizer file and remembers the first fault.
///
/// A member that is absent or null has its default. A member of the wrong type makes the file Corrupt, and reading goes
/// on with the default, so that the calling code needs no branches for it.
class TokenizerFields {
public:
    explicit TokenizerFields(std::filesystem::path path);

    const nlohmann::json& member(const nlohmann::json& object, const char* name) const; ///< null if absent
    bool flag(const nlohmann::json& object, const char* name, bool otherwise);
    std::string text(const nlohmann::json& object, const char* name, std::string otherwise = {});
    int smallNumber(const nlohmann::json& object, const char* name); ///< 0 if absent, at most a million
    int id(const nlohmann::json& value, std::string_view token);     ///< in [0, 10 million)

    /// \param what a sentence; it is prefixed with the file's name
    void corrupt(const std::string& what);
    void fail(Error error);
    const std::optional<Error>& error() const { return m_error; }
    const std::filesystem::path& path() const { return m_path; }

private:
    std::filesystem::path m_path;
    std::optional<Error> m_error;
};

} // namespace headwise
