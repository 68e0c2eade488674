#pragma once

#include "core/checkpoint/weight_map.h"

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <string_view>

namespace headwise::fuzz {

/// A folder of this process alone, in the place for temporary files; it goes with the object.
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

/// Opens the path as a checkpoint and reads what a user could look at: every tensor, up to a few thousand of its numbers.
void readEverything(const std::filesystem::path& path);

/// Opens the file as a tokenizer and turns ids into text and text into ids.
void useTokenizer(const std::filesystem::path& path);

} // namespace headwise::fuzz
