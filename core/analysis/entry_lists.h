#pragma once

#include "core/circuits/token_table.h"
#include "core/results/numbers.h"

#include <cassert>
#include <span>
#include <utility>
#include <vector>

namespace headwise {

/// Lists of entries (tokens, neurons) of one length, the strongest first: ids −1 and values NaN where there is none.
struct EntryLists {
    WholeNumbers ids;
    RealNumbers values;

    /// \param shape of both arrays; the last dimension is the rank in a list
    explicit EntryLists(const std::vector<std::size_t>& shape)
        : ids(shape)
        , values(shape)
    {
    }
    /// [n_layers, n_heads, rest …].
    template <typename... Sizes>
    static EntryLists perHead(const ModelConfig& config, Sizes... rest)
    {
        return EntryLists(RealNumbers::perHead(config, rest...).shape());
    }

    std::size_t length() const { return ids.shape().back(); }

    /// \param list row-major index over all dimensions but the last
    void set(std::size_t list, std::span<const TokenEntry> entries)
    {
        assert(entries.size() <= length());
        for (std::size_t i = 0; i < entries.size(); ++i) {
            ids.list(list)[i] = entries[i].id;
            values.list(list)[i] = entries[i].value;
        }
    }
    /// \param list of the head's own, 0 where it has one
    void set(HeadId head, std::span<const TokenEntry> entries, std::size_t list = 0)
    {
        const std::size_t lists = ids.of(head).size() / length();
        const std::size_t index =
            static_cast<std::size_t>(head.layer) * ids.shape()[1] + static_cast<std::size_t>(head.head);
        set(index * lists + list, entries);
    }
};

} // namespace headwise
