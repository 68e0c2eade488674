#include "core/tokenizer/bpe.h"

#include "core/files/utf8.h"
#include "core/tokenizer/byte_tokens.h"

#include <queue>
#include <tuple>

namespace headwise {

namespace {

constexpr int none = -1;

struct Symbol {
    int id;
    int previous; // index of a symbol, or none
    int next;
    bool alive;
};

/// A merge that was possible when it was queued. It is checked again when its turn comes.
struct Candidate {
    std::uint32_t rank;
    int position; // index of the left symbol
    int id;       // of the merged token

    bool operator>(const Candidate& other) const
    {
        return std::tie(rank, position) > std::tie(other.rank, other.position);
    }
};

using Queue = std::priority_queue<Candidate, std::vector<Candidate>, std::greater<>>;

std::uint64_t pairKey(int left, int right)
{
    return (static_cast<std::uint64_t>(static_cast<std::uint32_t>(left)) << 32)
        | static_cast<std::uint32_t>(right);
}

std::size_t characterCount(std::string_view text)
{
    std::size_t count = 0;
    for (std::size_t position = 0; position < text.size(); position += utf8StepAt(text, position).length)
        ++count;
    return count;
}

std::vector<Symbol> linked(const std::vector<int>& ids)
{
    std::vector<Symbol> symbols;
    symbols.reserve(ids.size());
    for (int i = 0; i < static_cast<int>(ids.size()); ++i)
        symbols.push_back({ids[i], i - 1, i + 1 < static_cast<int>(ids.size()) ? i + 1 : none, true});
    return symbols;
}

} // namespace

Result<Bpe> Bpe::create(const TokenizerFile& file)
{
    Bpe bpe;
    bpe.m_ids.reserve(file.vocabulary.size());
    for (const TokenizerFile::Entry& entry : file.vocabulary)
        bpe.m_ids.emplace(entry.text, entry.id);
    const auto corrupt = [&file](std::size_t rank, const std::string& what) {
        return Error{ErrorCode::Corrupt,
                     "'" + file.path.string() + "': Merge " + std::to_string(rank) + " of '"
                         + file.merges[rank].left + "' and '" + file.merges[rank].right + "' " + what + "."};
    };
    // The prefix of a continuing part is not repeated inside the merged token.
    const std::size_t prefixLength = characterCount(file.continuingPrefix);
    bpe.m_merges.reserve(file.merges.size());
    for (std::size_t rank = 0; rank < file.merges.size(); ++rank) {
        const auto& [left, right, order] = file.merges[rank];
        const std::optional<int> leftId = bpe.idOf(left);
        const std::optional<int> rightId = bpe.idOf(right);
        if (!leftId || !rightId || right.size() < prefixLength)
            return corrupt(rank, "has a part that is not in the vocabulary");
        const std::optional<int> id = bpe.idOf(left + right.substr(prefixLength));
        if (!id)
            return corrupt(rank, "makes a token that is not in the vocabulary");
        bpe.m_merges.insert_or_assign(pairKey(*leftId, *rightId), Merged{order, *id});
    }
    if (file.unknownToken)
        bpe.m_unknown = bpe.idOf(*file.unknownToken);
    if (file.byteFallback)
        for (std::size_t byte = 0; byte < 256; ++byte)
            bpe.m_byteTokens.push_back(bpe.idOf(byteToken(byte)));
    bpe.m_fuseUnknown = file.fuseUnknown;
    bpe.m_ignoreMerges = file.ignoreMerges;
    bpe.m_continuingPrefix = file.continuingPrefix;
    bpe.m_endOfWordSuffix = file.endOfWordSuffix;
    return bpe;
}

std::optional<int> Bpe::idOf(std::string_view token) const
{
    const auto found = m_ids.find(token);
    return found == m_ids.end() ? std::nullopt : std::optional(found->second);
}

const Bpe::Merged* Bpe::mergeOf(int left, int right) const
{
    const auto found = m_merges.find(pairKey(left, right));
    return found == m_merges.end() ? nullptr : &found->second;
}

bool Bpe::appendByteTokens(std::string_view character, std::vector<int>& ids) const
{
    if (m_byteTokens.empty())
        return false;
    std::vector<int> bytes;
    for (const char c : character) {
        const std::optional<int>& id = m_byteTokens[static_cast<unsigned char>(c)];
        if (!id)
            return false;
        bytes.push_back(*id);
    }
    ids.insert(ids.end(), bytes.begin(), bytes.end());
    return true;
}

std::vector<int> Bpe::characters(std::string_view piece) const
{
    std::vector<int> ids;
    ids.reserve(piece.size());
    // An unknown character is written when the next known one comes, so that a run can become one token.
    bool unknownWaits = false;
    const auto writeUnknown = [&] {
        if (unknownWaits)
            ids.push_back(*m_unknown);
        unknownWaits = false;
    };
    for (std::size_t position = 0; position < piece.size();) {
        const std::size_t length = utf8StepAt(piece, position).length;
        const bool last = position + length == piece.size();
        std::string character(piece.substr(position, length));
        if (position > 0)
            character.insert(0, m_continuingPrefix);
        if (last)
            character += m_endOfWordSuffix;
        position += length;
        if (const std::optional<int> id = idOf(character)) {
            writeUnknown();
            ids.push_back(*id);
        } else if (!appendByteTokens(character, ids) && m_unknown) {
            if (!m_fuseUnknown)
                writeUnknown();
            unknownWaits = true;
        }
    }
    writeUnknown();
    return ids;
}

void Bpe::encode(std::string_view piece, std::vector<int>& ids) const
{
    if (m_ignoreMerges) {
        if (const std::optional<int> whole = idOf(piece)) {
            ids.push_back(*whole);
            return;
        }
    }
    std::vector<Symbol> symbols = linked(characters(piece));
    Queue queue;
    const auto consider = [&](int left) {
        const int right = left == none ? none : symbols[left].next;
        const Merged* merged = right == none ? nullptr : mergeOf(symbols[left].id, symbols[right].id);
        if (merged)
            queue.push({merged->rank, left, merged->id});
    };
    for (int i = 0; i < static_cast<int>(symbols.size()); ++i)
        consider(i);
    while (!queue.empty()) {
        const Candidate best = queue.top();
        queue.pop();
        Symbol& left = symbols[best.position];
        if (!left.alive || left.next == none)
            continue;
        Symbol& right = symbols[left.next];
        const Merged* merged = mergeOf(left.id, right.id);
        if (!merged || merged->id != best.id)
            continue;
        right.alive = false;
        left.id = best.id;
        left.next = right.next;
        if (left.next != none)
            symbols[left.next].previous = best.position;
        consider(left.previous);
        consider(best.position);
    }
    for (int i = symbols.empty() ? none : 0; i != none; i = symbols[i].next)
        ids.push_back(symbols[i].id);
}

} // namespace headwise
