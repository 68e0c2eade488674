#include "core/model/finite_weights.h"

#include "core/base/parallel.h"

#include <algorithm>
#include <set>
#include <vector>

namespace headwise {

Result<std::optional<std::string>> nonFiniteWarning(const ModelWeights& weights, const Task& task)
{
    std::set<int> used;
    for (const auto& [key, view] : weights.views())
        used.insert(view.tensor);
    const std::vector<int> tensors(used.begin(), used.end()); // in the file's order
    std::vector<NonFinite> found(tensors.size());
    const WeightMap& file = weights.file();
    const Result<Done> scanned =
        parallelFor(static_cast<int>(tensors.size()), task, "tensors", [&](int i) -> Result<Done> {
            const auto at = static_cast<std::size_t>(i);
            found[at] = file.nonFinite(tensors[at]);
            return Done{};
        });
    if (!scanned)
        return scanned.error();
    const auto isDamaged = [](const NonFinite& numbers) { return numbers.count > 0; };
    const auto first = std::find_if(found.begin(), found.end(), isDamaged);
    if (first == found.end())
        return std::optional<std::string>();
    const auto others = std::count_if(first + 1, found.end(), isDamaged);
    const int tensor = tensors[static_cast<std::size_t>(first - found.begin())];
    return std::optional("Tensor '" + file.tensors()[static_cast<std::size_t>(tensor)].name + "' of '"
                         + file.fileOf(tensor).string() + "' holds " + std::to_string(first->count)
                         + (first->count == 1 ? " number that is" : " numbers that are")
                         + " NaN or infinite, the first at element " + std::to_string(first->first)
                         + (others == 0 ? ""
                                : others == 1
                                ? ", and one more tensor has such numbers"
                                : ", and " + std::to_string(others) + " more tensors have such numbers")
                         + "; do not trust results computed from it.");
}

} // namespace headwise
