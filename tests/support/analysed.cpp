#include "tests/support/analysed.h"

#include "core/runs/queue.h"

namespace headwise::test {

Circuits circuitsOf(const std::filesystem::path& path, const ProcessingWish& wish)
{
    const auto model = loadModel({path, std::nullopt, {}}, Task{});
    if (!model)
        qFatal("%s", printed(model.error()).constData());
    auto plan = planProcessing(**model, wish);
    if (!plan)
        qFatal("%s", printed(plan.error()).constData());
    const auto weights = process(*model, *std::move(plan), Task{});
    if (!weights)
        qFatal("%s", printed(weights.error()).constData());
    return Circuits(*weights);
}

Circuits toyCircuits(const ToyOptions& options, const ProcessingWish& wish)
{
    const QTemporaryDir folder;
    const auto path = std::filesystem::path(folder.path().toStdString()) / "toy";
    writeToyModel(path, options);
    return circuitsOf(path, wish); // the file stays mapped after the folder is gone
}

ProcessingWish noProcessing()
{
    ProcessingWish wish;
    wish.foldLayerNorm = wish.centerWritingWeights = wish.centerUnembed = wish.foldValueBiases =
        StepWish::Off;
    return wish;
}

std::shared_ptr<const TokenSide> tokensOf(const Circuits& circuits, Embedding embedding, Precision precision)
{
    const auto tokens = tokenSide(circuits, embedding, Task{}, precision);
    if (!tokens)
        qFatal("%s", printed(tokens.error()).constData());
    return *tokens;
}

Matrix<double> denseCircuit(const Circuits& circuits, CircuitKind kind, HeadId head, const Matrix<double>& E,
                            const Matrix<double>& W_U)
{
    const auto w = circuits.weights().head<double>(head);
    switch (kind) {
    case CircuitKind::Qk: return w.W_Q * w.W_K.transpose();
    case CircuitKind::Ov: return w.W_V * w.W_O;
    case CircuitKind::FullQk: return E * w.W_Q * w.W_K.transpose() * E.transpose();
    case CircuitKind::FullOv: break;
    }
    return E * w.W_V * w.W_O * W_U;
}

Matrix<double> denseCircuit(const Circuits& circuits, CircuitKind kind, HeadId head)
{
    const ModelConfig& config = circuits.config();
    return denseCircuit(circuits, kind, head, circuits.weights().W_E<double>(0, config.dVocab),
                        circuits.weights().W_U<double>(0, config.dVocabOut));
}

std::vector<double> numbers(const ResultSet& results, std::string_view path)
{
    const ResultArray* array = results.find(path);
    if (!array)
        qFatal("there is no array %s", std::string(path).c_str());
    if (const auto* f64 = std::get_if<std::vector<double>>(&array->values))
        return *f64;
    if (const auto* f32 = std::get_if<std::vector<float>>(&array->values))
        return {f32->begin(), f32->end()};
    const auto& ids = std::get<std::vector<std::int32_t>>(array->values);
    return {ids.begin(), ids.end()};
}

AnalysisOptions inDouble()
{
    AnalysisOptions options;
    options.precision = Precision::F64;
    return options;
}

ResultSet analysed(const Circuits& circuits, const std::vector<std::string>& names,
                   const AnalysisOptions& options, const Task& task)
{
    std::vector<const Analysis*> chosen;
    for (const std::string& name : names) {
        chosen.push_back(findAnalysis(name));
        if (!chosen.back())
            qFatal("there is no analysis %s", name.c_str());
    }
    const auto results = runAnalyses(circuits, chosen, options, task);
    if (!results)
        qFatal("%s", printed(results.error()).constData());
    return *results;
}

} // namespace headwise::test
