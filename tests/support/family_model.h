#pragma once

#include "tests/support/reference_forward.h"

#include <QJsonObject>

#include <filesystem>
#include <map>
#include <string>
#include <vector>

namespace headwise::test {

/// A seeded tiny checkpoint of one family, as its documentation describes it: config.json and tensors under stored names.
struct FamilyModel {
    QJsonObject config;
    std::map<std::string, StoredTensor> tensors;
};

/// "gpt_neox", "gpt_neox, sequential" and so on: a model_type, and the difference from the family's usual form.
std::vector<std::string> familyNames();

FamilyModel familyModel(const std::string& name);

/// False for a stack that has no forward pass of its own: a decoder that reads an encoder, or scores with a bias that is not read.
bool hasForward(const std::string& name);

/// True for a model whose tokens are image patches: the class token is its only id.
bool readsImages(const std::string& name);

/// config.json and model.safetensors in double. \returns `folder`, which is created
std::filesystem::path writeFamily(const std::filesystem::path& folder, const FamilyModel& model);

} // namespace headwise::test
