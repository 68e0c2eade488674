#pragma once

#include "core/findings/findings.h"

#include <algorithm>
#include <functional>
#include <numeric>

namespace headwise::test {

/// Results of a small model, made by hand: 2 layers of 4 heads. Arrays begin with one number everywhere.
class PlantedResults {
public:
    PlantedResults()
    {
        card = {"planted", "toy", 2,   4,         4,       64,         16,
                64,        1000,  128, "learned", "LNPre", "a/folder", std::string(64, 'a')};
        for (int i = 0; i < card.dVocab; ++i)
            tokens.push_back("t" + std::to_string(i));
    }

    /// Adds an array of this number everywhere.
    ResultArray& put(const std::string& path, std::vector<std::size_t> shape, float everywhere)
    {
        ResultArray array;
        array.path = path;
        const std::size_t count =
            std::accumulate(shape.begin(), shape.end(), std::size_t(1), std::multiplies<>());
        array.shape = std::move(shape);
        array.values = std::vector<float>(count, everywhere);
        results.arrays.push_back(std::move(array));
        return results.arrays.back();
    }

    ResultArray& perHead(const std::string& path, float everywhere)
    {
        return put(path, {size(card.nLayers), size(card.nHeads)}, everywhere);
    }
    ResultArray& perHead(const std::string& path, std::size_t numbers, float everywhere)
    {
        return put(path, {size(card.nLayers), size(card.nHeads), numbers}, everywhere);
    }
    ResultArray& pairs(const std::string& path, float everywhere)
    {
        return put(path, {size(card.nLayers), size(card.nHeads), size(card.nLayers), size(card.nHeads)},
                   everywhere);
    }

    static void set(ResultArray& array, std::size_t index, double value)
    {
        std::get<std::vector<float>>(array.values).at(index) = static_cast<float>(value);
    }
    std::size_t place(HeadId head) const { return size(head.layer * card.nHeads + head.head); }
    void setHead(ResultArray& array, HeadId head, double value) const { set(array, place(head), value); }
    void setPair(ResultArray& array, HeadId first, HeadId second, double value) const
    {
        set(array, place(first) * size(card.nLayers * card.nHeads) + place(second), value);
    }

    Findings findings() const { return findingsOf({card, results, tokens}); }

    ModelCard card;
    ResultSet results;
    std::vector<std::string> tokens;

private:
    static std::size_t size(int number) { return static_cast<std::size_t>(number); }
};

} // namespace headwise::test
