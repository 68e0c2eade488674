#include "core/results/axis.h"

#include <algorithm>
#include <array>

namespace headwise {
namespace {

struct NamedAxis {
    Axis axis;
    std::string_view name;
};

constexpr std::array namedAxes = {
    NamedAxis{Axis::Layer, "layer"},
    NamedAxis{Axis::Head, "head"},
    NamedAxis{Axis::EarlierLayer, "earlier layer"},
    NamedAxis{Axis::EarlierHead, "earlier head"},
    NamedAxis{Axis::LaterLayer, "later layer"},
    NamedAxis{Axis::LaterHead, "later head"},
    NamedAxis{Axis::OtherLayer, "other layer"},
    NamedAxis{Axis::OtherHead, "other head"},
    NamedAxis{Axis::OtherModelLayer, "layer of the other model"},
    NamedAxis{Axis::OtherModelHead, "head of the other model"},
    NamedAxis{Axis::OtherModelPlace, "layer and head of the other model"},
    NamedAxis{Axis::AnalysedHead, "analysed head"},
    NamedAxis{Axis::HeadOfAllLayers, "head of all layers"},
    NamedAxis{Axis::Member, "member"},
    NamedAxis{Axis::Residual, "residual"},
    NamedAxis{Axis::HeadDimension, "head dimension"},
    NamedAxis{Axis::Neuron, "neuron"},
    NamedAxis{Axis::Column, "column"},
    NamedAxis{Axis::Matrix, "matrix"},
    NamedAxis{Axis::NormAndMatrix, "norm and matrix"},
    NamedAxis{Axis::Part, "part"},
    NamedAxis{Axis::Pair, "pair"},
    NamedAxis{Axis::Token, "token"},
    NamedAxis{Axis::SourceToken, "source token"},
    NamedAxis{Axis::OutputToken, "output token"},
    NamedAxis{Axis::QueryToken, "query token"},
    NamedAxis{Axis::KeyToken, "key token"},
    NamedAxis{Axis::Query, "query"},
    NamedAxis{Axis::Key, "key"},
    NamedAxis{Axis::Position, "position"},
    NamedAxis{Axis::Offset, "offset"},
    NamedAxis{Axis::Suffix, "suffix"},
    NamedAxis{Axis::Name, "name"},
    NamedAxis{Axis::Source, "source"},
    NamedAxis{Axis::Target, "target"},
    NamedAxis{Axis::Relation, "relation"},
    NamedAxis{Axis::Sample, "sample"},
    NamedAxis{Axis::Rank, "rank"},
    NamedAxis{Axis::OutputRank, "output rank"},
    NamedAxis{Axis::RankInBias, "rank in b_U"},
    NamedAxis{Axis::LowestRankInBias, "lowest rank in b_U"},
    NamedAxis{Axis::RankInRow, "rank in row"},
    NamedAxis{Axis::LowestRankInRow, "lowest rank in row"},
    NamedAxis{Axis::RankBin, "rank bin"},
    NamedAxis{Axis::Place, "place"},
    NamedAxis{Axis::Hit, "hit"},
    NamedAxis{Axis::Step, "step"},
    NamedAxis{Axis::Leaf, "leaf"},
    NamedAxis{Axis::OtherLeaf, "other leaf"},
    NamedAxis{Axis::Draw, "draw"},
    NamedAxis{Axis::SingularValue, "singular value"},
    NamedAxis{Axis::SingularDirection, "singular direction"},
    NamedAxis{Axis::Direction, "direction"},
    NamedAxis{Axis::OldDirection, "old direction"},
    NamedAxis{Axis::NewDirection, "new direction"},
    NamedAxis{Axis::Eigenvalue, "eigenvalue"},
    NamedAxis{Axis::Component, "component"},
    NamedAxis{Axis::QueryComponent, "query component"},
    NamedAxis{Axis::KeyComponent, "key component"},
    NamedAxis{Axis::Coordinate, "coordinate"},
    NamedAxis{Axis::Angle, "angle"},
    NamedAxis{Axis::Band, "band"},
    NamedAxis{Axis::Frequency, "frequency"},
    NamedAxis{Axis::OtherFrequency, "other frequency"},
    NamedAxis{Axis::Depth, "depth"},
    NamedAxis{Axis::Measure, "measure"},
    NamedAxis{Axis::Mass, "mass"},
    NamedAxis{Axis::Term, "term"},
    NamedAxis{Axis::Precision, "precision"},
    NamedAxis{Axis::FalsePositives, "false positives"},
    NamedAxis{Axis::Value, "value"},
};

} // namespace

std::string_view axisName(Axis axis)
{
    const auto found = std::ranges::find(namedAxes, axis, &NamedAxis::axis);
    return found == namedAxes.end() ? std::string_view() : found->name;
}

std::optional<Axis> axisNamed(std::string_view name)
{
    const auto found = std::ranges::find(namedAxes, name, &NamedAxis::name);
    return found == namedAxes.end() ? std::nullopt : std::optional(found->axis);
}

ArrayAxis ArrayAxis::named(std::string_view name)
{
    ArrayAxis out = axisNamed(name).value_or(Axis::Foreign);
    if (out.m_axis == Axis::Foreign)
        out.m_foreignName = name;
    return out;
}

std::string ArrayAxis::name() const
{
    return m_axis == Axis::Foreign ? m_foreignName : std::string(axisName(m_axis));
}

std::vector<ArrayAxis> axesNamed(const std::vector<std::string>& names)
{
    std::vector<ArrayAxis> axes;
    axes.reserve(names.size());
    for (const std::string& name : names)
        axes.push_back(ArrayAxis::named(name));
    return axes;
}

std::vector<std::string> axisNames(const std::vector<ArrayAxis>& axes)
{
    std::vector<std::string> names;
    names.reserve(axes.size());
    for (const ArrayAxis& axis : axes)
        names.push_back(axis.name());
    return names;
}

bool countsTokens(Axis axis)
{
    return axis == Axis::Token || axis == Axis::SourceToken || axis == Axis::OutputToken
        || axis == Axis::QueryToken || axis == Axis::KeyToken;
}

bool isQueryOrKey(Axis axis)
{
    switch (axis) {
    case Axis::Query:
    case Axis::QueryToken:
    case Axis::QueryComponent:
    case Axis::Key:
    case Axis::KeyToken:
    case Axis::KeyComponent:
    case Axis::Position: return true;
    default: return false;
    }
}

} // namespace headwise
