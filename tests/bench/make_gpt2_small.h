#pragma once

#include <filesystem>

namespace headwise::bench {

/// Gpt2: learned positions, 498 MB. Llama: rotary positions, 4 key/value heads, gated MLPs of 2048, 610 MB.
enum class Layout { Gpt2, Llama };

/// Writes a random checkpoint of GPT-2 small's sizes (12 × 12 heads, d_model 768, vocabulary 50257) in Hugging Face's layout:
/// config.json and model.safetensors, the same bytes every time.
/// \returns whether everything was written
bool makeGpt2Small(const std::filesystem::path& folder, Layout layout = Layout::Gpt2);

/// Writes a checkpoint of Llama-3.2-1B's sizes (16 × 32 heads in 8 groups, d_model 2048, vocabulary 128,256, tied, bfloat16) in
/// the same layout. Attention and embedding are random; the MLPs are zeros, which take no room on the disk: 2.5 GB, 0.9 written.
/// \returns whether everything was written
bool makeLlama1B(const std::filesystem::path& folder);
/// The same of Llama-3-8B's sizes (32 × 32 heads in 8 groups, d_model 4096, untied), in four files: 16 GB, 4.8 written.
bool makeLlama8B(const std::filesystem::path& folder);

/// Sizes of a model in Llama's layout: heads of 64, untied float32 embeddings.
struct ModelSizes {
    int layers = 12, heads = 12, keyHeads = 0, dModel = 768, vocabulary = 50257, inner = 64;
};

/// Writes a random checkpoint of these sizes. Without key heads there are as many as heads.
/// \returns whether everything was written
bool makeRandom(const std::filesystem::path& folder, const ModelSizes& sizes);

/// A temporary folder with the checkpoint of GPT-2 small's sizes, deleted at the end.
class Gpt2Small {
public:
    explicit Gpt2Small(Layout layout = Layout::Gpt2);
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
