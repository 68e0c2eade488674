#pragma once

#include "core/model/families/family.h"

namespace headwise {

/// The rows of models whose tokens see each other in both directions, and of those that read images.
std::span<const Family> encoderFamilies();

// Functions of their FamilyCode.

void readBert(FamilyReading& reading);
void readRoberta(FamilyReading& reading);
void readDistilBert(FamilyReading& reading);
void readElectra(FamilyReading& reading);
void readEsm(FamilyReading& reading);

void addBertParts(RecipeBook& book, const std::string& prefix);
void addRobertaParts(RecipeBook& book, const std::string& prefix);
void addDistilBertParts(RecipeBook& book, const std::string& prefix);
void addElectraParts(RecipeBook& book, const std::string& prefix);
void addEsmParts(RecipeBook& book, const std::string& prefix);

} // namespace headwise
