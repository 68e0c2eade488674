#pragma once

#include "core/model/families/family.h"

namespace headwise {

/// The rows of models whose tokens see each other in both directions, and of those that read images.
std::span<const Family> encoderFamilies();

/// The rows of T5 and BART: one for the decoder, one for the encoder, one for the attention between them.
std::span<const Family> encoderDecoderFamilies();

// Functions of their FamilyCode.

void readBert(FamilyReading& reading);
void readRoberta(FamilyReading& reading);
void readDistilBert(FamilyReading& reading);
void readElectra(FamilyReading& reading);
void readEsm(FamilyReading& reading);
void readVision(FamilyReading& reading);

void addBertParts(RecipeBook& book, const std::string& prefix);
void addRobertaParts(RecipeBook& book, const std::string& prefix);
void addDistilBertParts(RecipeBook& book, const std::string& prefix);
void addElectraParts(RecipeBook& book, const std::string& prefix);
void addEsmParts(RecipeBook& book, const std::string& prefix);
void addFairseqEsmParts(RecipeBook& book, const std::string& prefix);
void addVitParts(RecipeBook& book, const std::string& prefix);
void addClipTextParts(RecipeBook& book, const std::string& prefix);
void addClipVisionParts(RecipeBook& book, const std::string& prefix);

} // namespace headwise
