#include "core/tokenizer/piece_vocabulary.h"

#include "core/files/utf8.h"

#include <algorithm>
#include <functional>
#include <string_view>
#include <unordered_map>
#include <utility>

namespace headwise {
namespace {

using PieceVocabularyKind = PieceVocabulary::Kind;
using PieceVocabularyPiece = PieceVocabulary::Piece;

constexpr std::string_view mark = "▁";

/// Lists every way to make a piece from two others, in the order of the scores.
std::vector<BpeMerge> mergesOf(const std::vector<PieceVocabularyPiece>& pieces)
{
    std::unordered_map<std::string_view, const PieceVocabularyPiece*> known;
    std::vector<double> scores;
    for (const PieceVocabularyPiece& piece : pieces) {
        if (piece.kind != PieceVocabularyKind::Normal || !known.emplace(piece.text, &piece).second)
            continue;
        scores.push_back(piece.score);
    }
    std::sort(scores.begin(), scores.end(), std::greater<>());
    scores.erase(std::unique(scores.begin(), scores.end()), scores.end());
    std::vector<BpeMerge> merges;
    for (const auto& [text, piece] : known) {
        const auto rank = std::lower_bound(scores.begin(), scores.end(), piece->score, std::greater<>());
        for (std::size_t at = utf8StepAt(text, 0).length; at < text.size(); at += utf8StepAt(text, at).length)
            if (known.contains(text.substr(0, at)) && known.contains(text.substr(at)))
                merges.push_back({std::string(text.substr(0, at)), std::string(text.substr(at)),
                                  static_cast<std::uint32_t>(rank - scores.begin())});
    }
    return merges;
}

NormalizerStep replacement(bool isRegex, std::string what, std::string by)
{
    NormalizerStep step;
    step.kind = NormalizerStep::Kind::Replace;
    step.pattern = {isRegex, std::move(what)};
    step.content = std::move(by);
    return step;
}

std::vector<NormalizerStep> normalizersOf(const PieceVocabulary& vocabulary)
{
    std::vector<NormalizerStep> steps;
    if (!vocabulary.characterMap.empty()) {
        NormalizerStep& step = steps.emplace_back();
        step.kind = NormalizerStep::Kind::Precompiled;
        step.content = vocabulary.characterMap;
        step.byGrapheme = false;
    }
    if (vocabulary.removeExtraWhitespaces) {
        steps.push_back(replacement(true, " {2,}", " "));
        steps.push_back(replacement(true, "\\A ", ""));
    }
    if (vocabulary.addDummyPrefix) {
        NormalizerStep& step = steps.emplace_back();
        step.kind = NormalizerStep::Kind::Prepend;
        step.content = " ";
    }
    if (vocabulary.escapeWhitespaces)
        steps.push_back(replacement(false, " ", std::string(mark)));
    if (vocabulary.removeExtraWhitespaces) // a ▁ in the text itself counts as a space at its end
        steps.push_back(
            replacement(true, vocabulary.escapeWhitespaces ? std::string(mark) + "+\\z" : " +\\z", ""));
    return steps;
}

std::vector<DecoderStep> decodersOf(const PieceVocabulary& vocabulary)
{
    std::vector<DecoderStep> steps(3);
    steps[0].kind = DecoderStep::Kind::Replace;
    steps[0].pattern = {false, std::string(mark)};
    steps[0].content = " ";
    steps[1].kind = DecoderStep::Kind::ByteFallback;
    steps[2].kind = DecoderStep::Kind::Fuse;
    if (vocabulary.addDummyPrefix || vocabulary.removeExtraWhitespaces) {
        DecoderStep strip;
        strip.kind = DecoderStep::Kind::Strip;
        strip.content = " ";
        strip.start = 1;
        steps.push_back(std::move(strip));
    }
    return steps;
}

} // namespace

TokenizerFile tokenizerFileOf(PieceVocabulary vocabulary, std::filesystem::path path)
{
    TokenizerFile file;
    file.path = std::move(path);
    file.model = vocabulary.isUnigram ? TokenizerFile::Model::Unigram : TokenizerFile::Model::Bpe;
    if (!vocabulary.isUnigram)
        file.merges = mergesOf(vocabulary.pieces);
    file.byteFallback = vocabulary.byteFallback;
    file.fuseUnknown = true;
    file.sumsAreFloats = true;
    file.stages.normalizers = normalizersOf(vocabulary);
    file.stages.decoders = decodersOf(vocabulary);
    if (vocabulary.idBefore)
        file.stages.idsBefore.push_back(*vocabulary.idBefore);
    if (vocabulary.idAfter)
        file.stages.idsAfter.push_back(*vocabulary.idAfter);
    for (int id = 0; id < static_cast<int>(vocabulary.pieces.size()); ++id) {
        const PieceVocabularyPiece& piece = vocabulary.pieces[static_cast<std::size_t>(id)];
        if (piece.text.empty())
            continue;
        const bool isUserDefined = piece.kind == PieceVocabularyKind::UserDefined;
        const TokenizerFile::Entry entry{.text = piece.text,
                                         .id = id,
                                         .score = piece.score,
                                         .fromText =
                                             piece.kind == PieceVocabularyKind::Normal || isUserDefined,
                                         .whole = isUserDefined};
        file.vocabulary.push_back(entry);
        if (isUserDefined && !vocabulary.isUnigram)
            file.wholePieces.push_back(entry);
        if (piece.kind == PieceVocabularyKind::Unknown && !file.unknownToken)
            file.unknownToken = piece.text;
        if (piece.kind == PieceVocabularyKind::Unknown || piece.kind == PieceVocabularyKind::Control)
            file.addedTokens.push_back(
                {.id = id, .content = piece.text, .special = true, .normalized = false});
    }
    return file;
}

} // namespace headwise
