#pragma once

#include "core/model/families/family.h"

#include <vector>

namespace headwise {

/// n_layers, for allocations made before the sizes are checked.
std::size_t believedLayers(const ModelConfig& config);

/// Reads attention_dir, TransformerLens' key that every family understands: causal or bidirectional.
void readDirection(ModelConfig& config, ConfigReader& reader);

/// [n_layers]: `window` where a layer slides, else 0; empty if none does.
std::vector<int> windowsOf(const std::vector<bool>& slides, int window);

/// Reads a number that multiplies something; 1 if it is not such a number, which is a fault of the config.
double factorOf(ConfigReader& reader, std::string_view key, double standard);

// The functions of FamilyCode, for rules that the table cannot say.

void readGpt2(FamilyReading& reading);
void readGemma(FamilyReading& reading);
void readGemma2(FamilyReading& reading);
void readGemma3(FamilyReading& reading);
void readGptNeo(FamilyReading& reading);
void readOpt(FamilyReading& reading);
void readBloom(FamilyReading& reading);
void readFalcon(FamilyReading& reading);
void readStablelm(FamilyReading& reading);
void readOlmo(FamilyReading& reading);
void readSmollm3(FamilyReading& reading);
void readMixtral(FamilyReading& reading);
void readGpt1(FamilyReading& reading);
void readNanoGpt(FamilyReading& reading);
void readCohere(FamilyReading& reading);
void readCohereLogits(FamilyReading& reading);
void readGranite(FamilyReading& reading);
void readQwen3Moe(FamilyReading& reading);
void readGptOss(FamilyReading& reading);
void readBaichuan(FamilyReading& reading);
void readMpt(FamilyReading& reading);
void readDeepSeekV2(FamilyReading& reading);
void readDeepSeekV3(FamilyReading& reading);

std::string gpt2Obstacle(const RecipeBook& book, const std::string& prefix);
std::string phiObstacle(const RecipeBook& book, const std::string& prefix);
void addOptProjections(RecipeBook& book, const std::string& prefix);
void addMinGptPositions(RecipeBook& book, const std::string& prefix);
/// Leaves out the layers after the last one, which predict further tokens; each has an `eh_proj`.
void ignoreFurtherTokens(RecipeBook& book, const std::string& prefix);
void addMixtralExperts(RecipeBook& book, const std::string& block, int layer);
void addQwenExperts(RecipeBook& book, const std::string& block, int layer);
void addSinks(RecipeBook& book, const std::string& prefix);
void addGptOssExperts(RecipeBook& book, const std::string& block, int layer);
void addLatentAttention(RecipeBook& book, const std::string& block, int layer);
void addDeepSeekMlp(RecipeBook& book, const std::string& block, int layer);

bool matchesTransformerLens(const nlohmann::json& config);
Result<ModelDescription> readTransformerLens(const nlohmann::json& config, std::string_view file);
Result<ModelWeights> loadTransformerLens(RecipeBook book);

} // namespace headwise
