#pragma once

#include "core/checkpoint/weight_map.h"

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <string_view>

namespace headwise::fuzz {

/// A private temporary folder, deleted with the object.
class InputFolder {
public:
    InputFolder();
    ~InputFolder();
    InputFolder(const InputFolder&) = delete;
    InputFolder& operator=(const InputFolder&) = delete;

    const std::filesystem::path& path() const { return m_path; }
    std::filesystem::path write(std::string_view name, const void* bytes, std::size_t size) const;

private:
    std::filesystem::path m_path;
};

/// Opens the path as a checkpoint and reads every tensor that a user could look at, up to a few thousand numbers each.
void readEverything(const std::filesystem::path& path);

/// Opens the file as a tokenizer and turns ids into text and text into ids.
void useTokenizer(const std::filesystem::path& path);

} // namespace headwise::fuzz
