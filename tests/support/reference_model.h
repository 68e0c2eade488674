#pragma once

// The parts of the reference that its families share; not for others.

#include "tests/support/reference_forward.h"

#include <QJsonArray>
#include <QJsonObject>

#include <optional>

namespace headwise::test::reference {

using Vector = std::vector<double>;
using Rows = std::vector<Vector>;
using Tensors = std::map<std::string, StoredTensor>;

// --- the model, one plain struct ------------------------------------------------------------------------------------

struct Linear {
    std::size_t in = 0;
    std::size_t out = 0;
    Vector w; // [in, out]
    Vector b; // [out], or empty
};

enum class NormKind { None, Layer, Rms };

struct Norm {
    NormKind kind = NormKind::None;
    double eps = 1e-5;
    Vector w;            // empty: ones
    Vector b;            // empty: zeros
    bool offset = false; ///< multiply by 1 + w
};

/// Angle per position of each pair of a rotary embedding.
struct Rope {
    Vector frequencies;
    double length = 1; ///< factor of cosine and sine
};

/// In place of q, k and v, which are then the products without the norms.
struct Latents {
    std::optional<Linear> toQueries; // [d_model, query latent]
    Norm queryNorm, keyNorm;
    Linear queryHeads; // [query latent or d_model, n·h], a head's unrotated components first
    Linear toKeys;     // [d_model, latent + rotated]
    Linear heads;      // [latent, n·(unrotated + value)]
    std::size_t rotated = 0, value = 0;
};

struct Block {
    Norm ln1, ln2;
    Norm ln1Post, ln2Post;      ///< on the added vector
    Norm qNorm, kNorm;          ///< before the rotation; of kind None: none
    bool normsAllHeads = false; ///< their mean runs over the heads side by side
    double limit = 0;           ///< queries, keys and values are clipped to ± this; 0: not
    std::size_t window = 0;     ///< 0: none
    std::optional<Rope> rope;   ///< in place of the model's
    Vector sinks;               ///< [heads], logits beside those of the keys, or empty

    Linear q, k, v, o; // heads side by side: [d_model, n·h], [d_model, k·h] twice, [n·h, d_model]
    double scale = 1;
    double branch = 1; ///< factor of what attention and MLP add
    bool hasMlp = true;
    std::optional<Linear> gate;
    Linear up, down;     // [d_model, d_mlp], [d_mlp, d_model]
    Vector afterProduct; // [d_mlp], TransformerLens' b_in of a gated MLP; or empty
    std::optional<Norm> activationNorm;

    struct Expert {
        Linear gate, up, down;
    };
    std::vector<Expert> experts; // of a mixture, in place of gate, up and down
    Linear router; // [d_model, experts]; gate, up and down then serve every token, if there are any
    std::size_t expertsPerToken = 0;
    bool keepsShares = false; // shares of the token's experts are not renormalised
    double clamp =
        0; // of what experts multiply, before 1 is added to it; of a gate from above alone; 0: none
    double expertFactor = 1;
    std::size_t groups = 1, groupsPerToken = 1; // equal groups of experts; a token's are in its best groups
    Vector correction; // [experts], added to sigmoids of the router's outputs to choose; empty: softmax

    std::optional<Latents> latents;
};

struct Model {
    std::size_t heads = 0, kvHeads = 0, dHead = 0;
    Rows embedding; // [d_vocab, d_model]
    Rows positions; // [n_ctx, d_model], or empty
    std::size_t rotaryDim = 0;
    Vector slopes;            // [heads], ALiBi, or empty
    Rows distanceBias;        // [buckets, heads], T5, or empty
    std::size_t farthest = 0; ///< distance from which on all share the last bucket
    std::optional<Rope> rope; ///< in place of the plain frequencies
    double rotaryBase = 10000;
    bool rotaryAdjacent = false;
    std::size_t rotaryFirst = 0; ///< components of a head before the rotated ones
    bool parallel = false;
    Norm embeddingNorm;             ///< of the token alone
    Norm placedNorm;                ///< of token and position
    bool normsSums = false;         ///< ln1Post and ln2Post apply to the sums
    bool residualFromNorm = false;  ///< the residual is ln1(x), ln2(x)
    bool placesQueriesKeys = false; ///< positions are added to the input of queries and keys
    bool bidirectional = false;
    std::optional<Linear> entry;       ///< after placedNorm
    Norm beforeTransform;              ///< of the last residual stream
    std::optional<Linear> transform;   ///< before lnFinal, with the activation
    double scoreCap = 0, logitCap = 0; ///< 0: none
    double logitFactor = 1;
    std::string activation;
    std::vector<Block> blocks;
    Norm lnFinal;
    Linear unembed;
};

struct Source {
    QJsonObject config;
    Tensors tensors;

    bool has(const std::string& name) const { return tensors.contains(name); }
    const StoredTensor& at(const std::string& name) const
    {
        const auto found = tensors.find(name);
        if (found == tensors.end())
            qFatal("the reference misses tensor %s", name.c_str());
        return found->second;
    }
    Vector values(const std::string& name) const { return has(name) ? at(name).values : Vector{}; }
    double number(const char* key, double absent) const
    {
        return config[QLatin1String(key)].toDouble(absent);
    }
    std::size_t size(const char* key) const
    {
        return static_cast<std::size_t>(config[QLatin1String(key)].toInteger());
    }
    bool flag(const char* key, bool absent = false) const
    {
        return config[QLatin1String(key)].toBool(absent);
    }
    std::string text(const char* key, const char* absent = "") const
    {
        return config[QLatin1String(key)].toString(QLatin1String(absent)).toStdString();
    }
};

Source sourceIn(const std::filesystem::path& folder);
Rows rowsOf(const StoredTensor& tensor);
/// Columns [first, first + out) of a matrix stored [in, out].
Linear columns(const StoredTensor& weight, const Vector& bias, std::size_t first, std::size_t out);
Linear inOut(const StoredTensor& weight, const Vector& bias);
/// A matrix stored [out, in].
Linear outIn(const StoredTensor& weight, const Vector& bias);
Norm layerNorm(const Source& source, const std::string& name, double eps);

/// Access to a layer's tensors.
struct Layer {
    const Source& source;
    std::string prefix;

    Linear linear(const std::string& name) const
    {
        return outIn(source.at(prefix + name + ".weight"), source.values(prefix + name + ".bias"));
    }
    Linear conv1d(const std::string& name) const
    {
        return inOut(source.at(prefix + name + ".weight"), source.values(prefix + name + ".bias"));
    }
    Norm layerNorm(const std::string& name, double eps) const
    {
        return reference::layerNorm(source, prefix + name, eps);
    }
};

/// Rows `rows` of a matrix stored [out, in], in that order.
Linear rowsOfLinear(const StoredTensor& weight, const Vector& bias, const std::vector<std::size_t>& rows);
double rootScale(const Model& model); ///< 1/√d_head
Rope plainRope(std::size_t dim, double base);
/// \param truncates the ramp's ends are rounded to whole pairs
Rope yarnRope(const Model& model, double factor, double context, std::optional<double> length,
              bool truncates = true);

Vector normalize(const Norm& norm, Vector x);
Vector linear(const Linear& linear, const Vector& x);

/// All heads' queries, keys and values, the heads side by side.
struct QueryKeyValue {
    Vector q, k, v;
};
/// Values are filled up to d_head with zeros. \param x what the layer's attention reads
QueryKeyValue throughLatents(const Model& model, const Latents& latents, const Vector& x);

Vector alibiSlopes(std::size_t heads);
Rope llama3Rope(std::size_t dim, double base, double factor, double low, double high, double context);
/// Returns the rope_scaling of a Hugging Face config; nothing if it is absent.
std::optional<Rope> scaledRope(const Source& source, const Model& model);

Model readTransformerLens(const Source& source);
/// Reads a folder of a Hugging Face family, including the following ones; nothing if it belongs to none.
std::optional<Model> readFamily(const Source& source);
std::optional<Model> readLlamaNamed(const Source& source);
std::optional<Model> readFusedFamily(const Source& source);
std::optional<Model> readStateDictFamily(const Source& source);
std::optional<Model> readDecoderFamily(const Source& source);
Model readDeepSeek(const Source& source);
/// The factor of each expert's output, 0 for those that are not the token's. \param x what the MLP reads
Vector expertShares(const Block& block, const Vector& x);
std::optional<Model> readEncoderFamily(const Source& source);

} // namespace headwise::test::reference
