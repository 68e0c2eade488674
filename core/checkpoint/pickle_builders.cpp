#include "core/checkpoint/pickle_builders.h"

#include <algorithm>
#include <array>

namespace headwise {
namespace {

using PickleBuildersKind = PickleValue::Kind;
using PickleBuildersBuilder = std::optional<int> (*)(Pickle& pickle, const std::vector<int>& arguments);

int add(Pickle& pickle, PickleValue value)
{
    pickle.values.push_back(std::move(value));
    return static_cast<int>(pickle.values.size()) - 1;
}

bool isSequence(const PickleValue& value)
{
    return value.kind == PickleBuildersKind::Tuple || value.kind == PickleBuildersKind::List;
}

/// OrderedDict() and OrderedDict([(key, value), …]).
std::optional<int> orderedDict(Pickle& pickle, const std::vector<int>& arguments)
{
    PickleValue dict{.kind = PickleBuildersKind::Dict};
    if (arguments.size() > 1 || (arguments.size() == 1 && !isSequence(pickle[arguments[0]])))
        return std::nullopt;
    if (arguments.size() == 1)
        for (const int pair : pickle[arguments[0]].items) {
            if (!isSequence(pickle[pair]) || pickle[pair].items.size() != 2)
                return std::nullopt;
            dict.items.insert(dict.items.end(), pickle[pair].items.begin(), pickle[pair].items.end());
        }
    return add(pickle, std::move(dict));
}

/// _rebuild_tensor(storage, offset, sizes, strides, …); gradients, hooks and metadata follow.
std::optional<int> tensor(Pickle& pickle, const std::vector<int>& arguments)
{
    if (arguments.size() < 4 || pickle[arguments[0]].kind != PickleBuildersKind::Storage
        || pickle[arguments[1]].kind != PickleBuildersKind::Integer || !isSequence(pickle[arguments[2]])
        || !isSequence(pickle[arguments[3]]))
        return std::nullopt;
    for (const int list : {arguments[2], arguments[3]})
        for (const int number : pickle[list].items)
            if (pickle[number].kind != PickleBuildersKind::Integer)
                return std::nullopt;
    return add(pickle,
               {.kind = PickleBuildersKind::Tensor, .items = {arguments.begin(), arguments.begin() + 4}});
}

/// _rebuild_tensor_v3(storage, offset, sizes, strides, gradient, hooks, dtype, …); the dtype equals the storage's.
std::optional<int> typedTensor(Pickle& pickle, const std::vector<int>& arguments)
{
    if (arguments.size() < 7 || pickle[arguments[6]].kind != PickleBuildersKind::Global)
        return std::nullopt;
    const std::optional<int> made = tensor(pickle, arguments);
    if (made)
        pickle.values[static_cast<std::size_t>(*made)].items.push_back(arguments[6]);
    return made;
}

/// Unwraps a pickle wrapper: returns its first argument.
std::optional<int> firstArgument(Pickle& /*pickle*/, const std::vector<int>& arguments)
{
    return arguments.empty() ? std::nullopt : std::optional(arguments[0]);
}

std::optional<int> size(Pickle& pickle, const std::vector<int>& arguments)
{
    if (arguments.size() != 1 || !isSequence(pickle[arguments[0]]))
        return std::nullopt;
    return arguments[0];
}

std::optional<int> nothing(Pickle& pickle, const std::vector<int>& /*arguments*/)
{
    return add(pickle, {});
}

/// _rebuild_from_type_v2(function, type, arguments, state), for a plain tensor or a parameter.
std::optional<int> ofType(Pickle& pickle, const std::vector<int>& arguments)
{
    if (arguments.size() != 4 || pickle[arguments[0]].kind != PickleBuildersKind::Global
        || pickle[arguments[2]].kind != PickleBuildersKind::Tuple)
        return std::nullopt;
    const std::string type = pickle[arguments[1]].text;
    const std::string function = pickle[arguments[0]].text;
    if ((type != "torch.nn.parameter Parameter" && type != "torch Tensor")
        || function == "torch._tensor _rebuild_from_type_v2")
        return std::nullopt;
    return applyGlobal(pickle, function, arguments[2]);
}

struct Row {
    std::string_view name;
    PickleBuildersBuilder build; ///< Null: a label that cannot be applied.
};

constexpr std::array rows{
    Row{"collections OrderedDict", orderedDict},
    Row{"torch._utils _rebuild_tensor", tensor},
    Row{"torch._utils _rebuild_tensor_v2", tensor},
    Row{"torch._utils _rebuild_tensor_v3", typedTensor},
    Row{"torch._utils _rebuild_parameter", firstArgument},
    Row{"torch._utils _rebuild_parameter_with_state", firstArgument},
    Row{"torch._tensor _rebuild_from_type_v2", ofType},
    Row{"torch Size", size},
    Row{"torch device", nothing},
    Row{"_codecs encode", firstArgument},
    Row{"torch.nn.parameter Parameter", nullptr},
    Row{"torch Tensor", nullptr},
};

constexpr std::array labels{"DoubleStorage", "FloatStorage", "HalfStorage",    "BFloat16Storage",
                            "LongStorage",   "IntStorage",   "ShortStorage",   "CharStorage",
                            "ByteStorage",   "BoolStorage",  "UntypedStorage", "ComplexFloatStorage",
                            "TypedStorage",  "float64",      "float32",        "float16",
                            "bfloat16",      "int64",        "int32",          "int16",
                            "int8",          "uint8",        "bool",           "complex64"};

const Row* find(std::string_view name)
{
    const auto row = std::find_if(rows.begin(), rows.end(), [&](const Row& r) { return r.name == name; });
    return row == rows.end() ? nullptr : &*row;
}

} // namespace

bool isKnownGlobal(std::string_view name)
{
    if (find(name))
        return true;
    for (const std::string_view module : {"torch ", "torch.cuda ", "torch.storage "})
        if (name.starts_with(module)
            && std::find(labels.begin(), labels.end(), name.substr(module.size())) != labels.end())
            return true;
    return false;
}

std::optional<int> applyGlobal(Pickle& pickle, std::string_view name, int arguments)
{
    const Row* row = find(name);
    if (!row || !row->build)
        return std::nullopt;
    const std::vector<int> items = pickle[arguments].items; // a copy: values move as they are added
    return row->build(pickle, items);
}

} // namespace headwise
