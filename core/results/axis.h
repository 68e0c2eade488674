#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace headwise {

/// Meaning of one dimension of an array. Session files hold its name, axisName().
enum class Axis : std::uint8_t {
    Foreign, ///< Named by another program.

    // Heads, layers and the sizes of the model.
    Layer,
    Head,
    EarlierLayer, ///< The head that writes, in a pair of heads.
    EarlierHead,
    LaterLayer, ///< The head that reads.
    LaterHead,
    OtherLayer, ///< The second head, in a pair without order.
    OtherHead,
    OtherModelLayer,
    OtherModelHead,
    OtherModelPlace, ///< Two entries.
    AnalysedHead,    ///< A list of heads; the group's attribute `heads` names them.
    HeadOfAllLayers, ///< layer · n_heads + head.
    Member,          ///< Heads of one group or one layer.
    Residual,        ///< d_model.
    HeadDimension,   ///< d_head.
    Neuron,          ///< d_mlp, or a list of neurons.
    Column,          ///< Columns of a weight matrix.
    Matrix,          ///< Weight matrices, named by the array's labels.
    NormAndMatrix,
    Part, ///< Heads, then the MLP.
    Pair, ///< Pairs, named by the array's labels.

    // Tokens and positions.
    Token, ///< d_vocab, or a list of tokens.
    SourceToken,
    OutputToken,
    QueryToken,
    KeyToken,
    Query, ///< Query positions of a prompt.
    Key,   ///< Key positions of a prompt.
    Position,
    Offset, ///< Query position less key position.
    Suffix,
    Name,
    Source,
    Target,
    Relation,
    Sample,

    // Ordered lists.
    Rank, ///< Places in a list, the strongest entry first.
    OutputRank,
    RankInBias,
    LowestRankInBias,
    RankInRow,
    LowestRankInRow,
    RankBin,
    Place,
    Hit,
    Step, ///< Steps of a clustering.
    Leaf,
    OtherLeaf,
    Draw, ///< Draws of chance.

    // Decompositions.
    SingularValue,
    SingularDirection,
    Direction,
    OldDirection,
    NewDirection,
    Eigenvalue,
    Component,
    QueryComponent,
    KeyComponent,
    Coordinate,
    Angle,
    Band,
    Frequency,
    OtherFrequency, ///< In a pair of frequencies.
    Depth,          ///< Places in the residual stream: before layer 0, after layer 0, …

    // Measures side by side.
    Measure,
    Mass,
    Term,
    Precision,
    FalsePositives,
    Value, ///< One number.
};

/// Name in session files, CSV and JSON: "layer", "earlier head"; empty for Axis::Foreign.
std::string_view axisName(Axis axis);

/// Returns the axis of that name, or none for a name that this version does not write.
std::optional<Axis> axisNamed(std::string_view name);

/// Whether the axis counts ids of tokens where it has d_vocab entries.
bool countsTokens(Axis axis);
/// Whether the axis counts positions, or belongs to the queries or the keys of scores.
bool isQueryOrKey(Axis axis);

/// One dimension of an array: an axis that this version knows, or the name that another program gave it.
class ArrayAxis {
public:
    ArrayAxis(Axis axis)
        : m_axis(axis)
    {
    }
    static ArrayAxis named(std::string_view name);

    Axis axis() const { return m_axis; }
    std::string name() const;

    bool operator==(const ArrayAxis&) const = default;
    bool operator==(Axis axis) const { return m_axis == axis; }

private:
    Axis m_axis;
    std::string m_foreignName; // only for Axis::Foreign
};

std::vector<ArrayAxis> axesNamed(const std::vector<std::string>& names);
std::vector<std::string> axisNames(const std::vector<ArrayAxis>& axes);

} // namespace headwise
