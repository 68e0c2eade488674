#include "app/commands/support.h"

#include "core/base/log.h"
#include "core/files/file_write.h"
#include "core/files/hdf5.h"
#include "core/files/json.h"
#include "core/tokenizer/token_text.h"

#include <nlohmann/json.hpp>

#include <algorithm>
#include <cctype>
#include <iostream>

namespace headwise::app {
namespace {

bool areWarningsSilent = false; // of this process

std::string oneLine(std::string_view text)
{
    static constexpr std::string_view digits = "0123456789abcdef";
    std::string line;
    for (const char c : text) {
        const auto byte = static_cast<unsigned char>(c);
        if (byte >= 0x20 && byte != 0x7f) {
            line += c;
            continue;
        }
        line += "\\x";
        line += digits[byte >> 4];
        line += digits[byte & 15];
    }
    return shownSpecialToken(line); // direction controls
}

} // namespace

int exitCode(ErrorCode code)
{
    switch (code) {
    case ErrorCode::InvalidArgument: return 2;
    case ErrorCode::NotFound:
    case ErrorCode::Corrupt:
    case ErrorCode::Unsupported: return 3;
    case ErrorCode::Io:
    case ErrorCode::OutOfMemory:
    case ErrorCode::Internal: return 4;
    case ErrorCode::Cancelled: return 130;
    }
    return 4;
}

void printError(std::string_view sentence)
{
    std::cerr << "headwise: " + oneLine(sentence) + "\n" << std::flush;
}

void silenceWarnings()
{
    areWarningsSilent = true;
}

void printWarnings(const std::vector<std::string>& sentences)
{
    if (areWarningsSilent)
        return;
    for (const std::string& sentence : sentences)
        std::cerr << "headwise: warning: " + oneLine(sentence) + "\n" << std::flush;
}

Result<Done> startLog(const std::string& level)
{
    const Result<Done> opened = logToFile(stateFolder() / "headwise.log");
    if (level.empty())
        return Done{};
    if (!opened)
        return opened;
    return setLogLevel(level);
}

Result<Done> checkSessionPath(const std::filesystem::path& path)
{
    std::error_code code;
    const std::filesystem::path folder = path.has_parent_path() ? path.parent_path() : ".";
    if (!path.empty() && !std::filesystem::is_directory(folder, code))
        return Error{ErrorCode::Io,
                     "There is no folder '" + folder.string()
                         + "' to write the session into; create it first."};
    if (std::filesystem::is_directory(path, code))
        return Error{ErrorCode::Io,
                     "'" + path.string() + "' is a folder; name the session file to write, as in demo.h5."};
    return canWriteHdf5(path);
}

void printJson(const nlohmann::ordered_json& value)
{
    std::cout << jsonText(value, 2) << '\n';
}

std::string shellWord(std::string_view text)
{
    const bool isPlain = !text.empty() && std::all_of(text.begin(), text.end(), [](unsigned char c) {
        return std::isalnum(c) || c >= 0x80
            || std::string_view("/._-+@:=,").find(static_cast<char>(c)) != std::string_view::npos;
    });
    if (isPlain)
        return std::string(text);
    std::string word = "'";
    for (const char c : text) {
        if (c == '\'')
            word += R"('\'')"; // closes the quote, adds an apostrophe, opens the quote again
        else
            word += c;
    }
    return word + "'";
}

} // namespace headwise::app
