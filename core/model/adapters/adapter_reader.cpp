#include "core/model/adapters/adapter_reader.h"

#include "core/model/config_reader.h"

#include <nlohmann/json.hpp>

#include <algorithm>
#include <optional>
#include <utility>

namespace headwise {
namespace {

/// A linear layer that the adapter changes, by indices of the adapter's tensors.
struct AdaptedModule {
    int a = -1, b = -1, magnitude = -1;
};

/// The name of an adapter's tensor taken apart.
struct AdapterKey {
    std::string module;
    int AdaptedModule::*part = nullptr; ///< Null: no part of LoRA for a linear layer.
    std::string adapter;                ///< "default", or empty as PEFT's own files have it.
};

AdapterKey keyOf(std::string_view name)
{
    struct Marker {
        std::string_view text;
        int AdaptedModule::*part;
    };
    static constexpr Marker markers[] = {{".lora_A", &AdaptedModule::a},
                                         {".lora_B", &AdaptedModule::b},
                                         {".lora_magnitude_vector", &AdaptedModule::magnitude}};
    constexpr std::string_view prefix = "base_model.model.", weight = ".weight";
    if (name.starts_with(prefix))
        name.remove_prefix(prefix.size());
    for (const Marker& marker : markers) {
        const auto at = name.find(marker.text);
        if (at == std::string_view::npos)
            continue;
        std::string_view rest =
            name.substr(at + marker.text.size()); // "", ".weight", ".default", ".default.weight"
        const bool isWeight = rest.ends_with(weight);
        if (isWeight)
            rest.remove_suffix(weight.size());
        const bool isFit = (isWeight || marker.part == &AdaptedModule::magnitude)
            && (rest.empty() || (rest.starts_with('.') && rest != ".bias"));
        return {std::string(name.substr(0, at)), isFit ? marker.part : nullptr,
                std::string(rest.substr(rest.empty() ? 0 : 1))};
    }
    return {};
}

/// Reads the adapter against its base, module by module.
class AdapterReader {
public:
    AdapterReader(const AdaptedSource& source, const WeightMap& base,
                  std::shared_ptr<const WeightMap> adapter)
        : m_source(source)
        , m_base(base)
        , m_adapter(std::move(adapter))
    {
    }

    Result<std::map<int, LowRankChange>> changes()
    {
        if (Result<Done> read = readNames(); !read)
            return read.error();
        std::map<int, LowRankChange> changes;
        for (const auto& [name, module] : m_modules) {
            Result<LowRankChange> read = changeOf(name, module);
            if (!read)
                return read.error();
            LowRankChange change = *std::move(read);
            const int tensor = baseTensor(name);
            if (tensor < 0)
                return misfit(module.a,
                              "changes '" + name + ".weight', which the base '" + m_base.path().string()
                                  + "' does not have");
            if (Result<Done> fits = placeOn(tensor, module, change); !fits)
                return fits.error();
            if (!changes.emplace(tensor, change).second)
                return misfit(module.a, "changes '" + nameIn(m_base, tensor) + "', as another one does");
        }
        // Shapes do not say how square matrices are stored; the others of the same adapter do.
        for (auto& [tensor, change] : changes)
            if (change.inputs == change.outputs)
                change.isTransposed = m_storesInputsFirst.value_or(m_source.config.isTransposed);
        return changes;
    }

private:
    static std::string nameIn(const WeightMap& file, int tensor)
    {
        return file.tensors()[static_cast<std::size_t>(tensor)].name;
    }
    const std::vector<std::int64_t>& shapeOf(int tensor) const
    {
        return m_adapter->tensors()[static_cast<std::size_t>(tensor)].shape;
    }

    Error refused(int tensor, const std::string& what, ErrorCode code = ErrorCode::Corrupt) const
    {
        return {code,
                "Tensor '" + nameIn(*m_adapter, tensor) + "' in '" + m_adapter->path().string() + "' " + what
                    + "."};
    }

    /// The same where another base may be the reason.
    Error misfit(int tensor, const std::string& what) const
    {
        const std::string& base = m_source.config.base;
        const std::string made =
            base.empty() ? "of another base" : "made for " + shownValue(nlohmann::json(base));
        return refused(tensor, what + "; the adapter is " + made + ", so " + nameTheBase);
    }

    Result<Done> readNames()
    {
        std::optional<std::string> adapter;
        for (int i = 0; i < static_cast<int>(m_adapter->tensors().size()); ++i) {
            const AdapterKey key = keyOf(nameIn(*m_adapter, i));
            if (!key.part)
                return refused(
                    i,
                    "is not a lora_A, lora_B or lora_magnitude_vector of a linear layer; adapters that change an embedding, a bias or a whole module are not read",
                    ErrorCode::Unsupported);
            if (adapter.value_or(key.adapter) != key.adapter)
                return refused(i,
                               "belongs to the adapter '" + key.adapter + "', but others to '" + *adapter
                                   + "'; save each adapter into a folder of its own",
                               ErrorCode::Unsupported);
            adapter = key.adapter;
            int& part = m_modules[key.module].*key.part;
            if (part >= 0)
                return refused(i, "occurs twice, also as '" + nameIn(*m_adapter, part) + "'");
            part = i;
        }
        if (m_modules.empty())
            return Error{ErrorCode::Corrupt,
                         "File '" + m_adapter->path().string() + "' holds no tensors; download it again."};
        return Done{};
    }

    /// The stored tensor of a module; -1 if the base lacks it. Files differ from the module tree in one leading part at most.
    int baseTensor(const std::string& module) const
    {
        const std::string name = module + ".weight";
        if (const int exact = m_base.find(name); exact >= 0)
            return exact;
        if (const auto dot = name.find('.'); dot + 1 < name.size() - std::string_view("weight").size())
            if (const int shorter = m_base.find(std::string_view(name).substr(dot + 1)); shorter >= 0)
                return shorter;
        int found = -1;
        for (int i = 0; i < static_cast<int>(m_base.tensors().size()); ++i)
            if (nameIn(m_base, i).ends_with("." + name)) {
                if (found >= 0)
                    return -1;
                found = i;
            }
        return found;
    }

    Result<Done> checkNumbers(int tensor) const
    {
        const std::vector<std::int64_t>& shape = shapeOf(tensor);
        std::int64_t count = 1;
        for (const std::int64_t size : shape)
            count *= size;
        return m_adapter->checkView({tensor, 0, 1, 1, count, 1});
    }

    /// The change but for its place in the base.
    Result<LowRankChange> changeOf(const std::string& name, const AdaptedModule& module) const
    {
        const int any = std::max({module.a, module.b, module.magnitude});
        if (module.a < 0 || module.b < 0)
            return refused(any, std::string("lacks its ") + (module.a < 0 ? "lora_A" : "lora_B"));
        const std::vector<std::int64_t>&a = shapeOf(module.a), &b = shapeOf(module.b);
        const int rank = m_source.config.rankOf(name);
        if (a.size() != 2 || a[0] != rank || a[1] < 1)
            return refused(module.a,
                           "has shape " + shapeText(a) + ", expected [" + std::to_string(rank)
                               + ", inputs] by the rank in '" + adapterConfigName + "'");
        if (b.size() != 2 || b[1] != rank || b[0] < 1)
            return refused(module.b,
                           "has shape " + shapeText(b) + ", expected [outputs, " + std::to_string(rank)
                               + "] by the rank in '" + adapterConfigName + "'");
        LowRankChange change;
        change.adapter = m_adapter;
        change.a = module.a;
        change.b = module.b;
        change.outputs = b[0];
        change.inputs = a[1];
        change.rank = rank;
        change.isRankStabilised = m_source.config.isRankStabilised;
        change.scale = m_source.config.scaleOf(name);
        change.strength = m_source.strength;
        if (Result<Done> checked = checkMagnitude(module, change); !checked)
            return checked.error();
        for (const int tensor : {module.a, module.b, module.magnitude})
            if (Result<Done> numbers = tensor < 0 ? Done{} : checkNumbers(tensor); !numbers)
                return numbers.error();
        return change;
    }

    Result<Done> checkMagnitude(const AdaptedModule& module, LowRankChange& change) const
    {
        if (!m_source.config.isDora && module.magnitude >= 0)
            return refused(module.magnitude,
                           std::string("belongs to DoRA, but 'use_dora' in '") + adapterConfigName
                               + "' is false");
        if (!m_source.config.isDora)
            return Done{};
        if (module.magnitude < 0)
            return refused(module.a, "lacks its lora_magnitude_vector, although 'use_dora' is true");
        change.magnitude = module.magnitude;
        const StoredTensor& m = m_adapter->tensors()[static_cast<std::size_t>(module.magnitude)];
        if (elementCount(m) != change.outputs)
            return refused(module.magnitude,
                           "has shape " + shapeText(m.shape) + ", expected [" + std::to_string(change.outputs)
                               + "]");
        return Done{};
    }

    /// Decides how the base stores the matrix.
    Result<Done> placeOn(int tensor, const AdaptedModule& module, LowRankChange& change)
    {
        const StoredTensor& stored = m_base.tensors()[static_cast<std::size_t>(tensor)];
        const std::vector<std::int64_t> plain{change.outputs, change.inputs},
            transposed{change.inputs, change.outputs};
        if (stored.shape != plain && stored.shape != transposed)
            return misfit(module.a,
                          "and its lora_B change a matrix of shape " + shapeText(plain) + ", but '"
                              + stored.name + "' of the base '" + m_base.path().string() + "' has shape "
                              + shapeText(stored.shape));
        change.isTransposed = stored.shape != plain;
        if (plain != transposed && !m_storesInputsFirst)
            m_storesInputsFirst = change.isTransposed;
        return m_base.checkView({tensor, 0, stored.shape[1], 1, stored.shape[0], stored.shape[1]});
    }

    const AdaptedSource& m_source;
    const WeightMap& m_base;
    std::shared_ptr<const WeightMap> m_adapter;
    std::map<std::string, AdaptedModule> m_modules;
    std::optional<bool> m_storesInputsFirst; // as matrices that are not square say
};

} // namespace

Result<std::map<int, LowRankChange>> readChanges(const AdaptedSource& source, const WeightMap& base,
                                                 std::shared_ptr<const WeightMap> adapter)
{
    return AdapterReader(source, base, std::move(adapter)).changes();
}

} // namespace headwise
