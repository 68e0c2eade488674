#pragma once

#include <filesystem>

namespace headwise::bench {

/// Writes a random checkpoint of GPT-2 small's sizes (12 × 12 heads, d_model 768, vocabulary 50257) in Hugging Face's layout:
/// config.json and model.safetensors, 498 MB, the same bytes every time.
/// \returns whether everything was written
bool makeGpt2Small(const std::filesystem::path& folder);

/// A temporary folder with that checkpoint, deleted at the end.
class Gpt2Small {
public:
    Gpt2Small();
    ~Gpt2Small();
    Gpt2Small(const Gpt2Small&) = delete;
    Gpt2Small& operator=(const Gpt2Small&) = delete;

    const std::filesystem::path& folder() const { return m_folder; }
    bool isThere() const { return m_isThere; }

private:
    std::filesystem::path m_folder;
    bool m_isThere = false;
};

} // namespace headwise::bench
