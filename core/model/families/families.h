#pragma once

#include "core/model/architecture.h"

#include <nlohmann/json_fwd.hpp>

#include <span>
#include <string>
#include <string_view>

namespace headwise {

// The rows of the table of architectures, one file each; only architecture.cpp uses them.
const Architecture& gpt2();
const Architecture& llama();
const Architecture& mistral();
const Architecture& qwen2();
const Architecture& qwen3();
const Architecture& gemma();
const Architecture& gemma2();
const Architecture& gptNeoX();
const Architecture& gptNeo();
const Architecture& gptJ();
const Architecture& phi();
const Architecture& gemma3();
const Architecture& opt();
const Architecture& bloom();
const Architecture& falcon();
const Architecture& phi3();
const Architecture& stablelm();
const Architecture& olmo();
const Architecture& olmo2();
const Architecture& olmo3();
const Architecture& smollm3();
const Architecture& mixtral();
const Architecture& gpt1();
const Architecture& bert();
const Architecture& nanoGpt();
const Architecture& minGpt();
const Architecture& transformerLens();

/// The model_type a Hugging Face config means: of `architectures[0]` if we know it, else the key itself; "" if neither.
std::string familyName(const nlohmann::json& config);

/// Keys of every Hugging Face config that say nothing about the function: training, generation, bookkeeping.
std::span<const std::string_view> huggingFaceKeys();

} // namespace headwise
