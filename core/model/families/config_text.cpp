#include "core/model/families/config_text.h"

#include "core/files/json.h"

#include <nlohmann/json.hpp>

namespace headwise {

namespace {

Error notAConfig(const std::string& file, const std::string& what)
{
    return {ErrorCode::Corrupt, "File '" + file + "' " + what};
}

} // namespace

Result<nlohmann::json> readConfigFile(const std::filesystem::path& file)
{
    const Result<std::string> text = readTextFile(file, 16u << 20);
    if (!text)
        return text.error();
    const std::string name = file.string();
    const auto first = text->find_first_not_of(" \t\r\n\xef\xbb\xbf");
    if (text->starts_with("version https://git-lfs"))
        return notAConfig(name, "is a Git LFS pointer, not the config itself; fetch it with 'git lfs pull'.");
    if (first == std::string::npos)
        return notAConfig(name, "is empty, expected the model's config as JSON.");
    if ((*text)[first] == '<')
        return notAConfig(name, "is a web page, not the config itself; the download failed, repeat it.");
    Result<nlohmann::json> config = parseJson(*text, name, {.allowNonFinite = true});
    if (config && !config->is_object())
        return notAConfig(name, "holds no JSON object, expected the model's config.");
    return config;
}

nlohmann::json overrideValue(const std::string& text)
{
    const Result<nlohmann::json> value = parseJson(text, "--set", {.allowNonFinite = true});
    return value ? *value : nlohmann::json(text);
}

} // namespace headwise
