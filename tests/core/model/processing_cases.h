#pragma once

#include "core/model/processing.h"

#include "tests/support/loaded.h"
#include "tests/support/toy_classes.h"

#include <QTemporaryDir>

// Helpers for tests of the processing: wishes, toys whose files change, and the distance of a processed model from the
// reference.

namespace headwise::test {

inline const std::vector<int> tokens{3, 1, 4, 1, 5, 0, 2, 6, 5};

inline ProcessingWish refactoring()
{
    ProcessingWish wish;
    wish.refactorAttention = StepWish::Default;
    return wish;
}

inline ProcessingWish nothing()
{
    return {StepWish::Off, StepWish::Off, StepWish::Off, StepWish::Off, StepWish::Off, true, true};
}

inline const StepOutcome* outcome(const ProcessingPlan& plan, std::string_view name)
{
    for (const StepOutcome& step : plan.steps)
        if (step.name == name)
            return &step;
    return nullptr;
}

inline double difference(const Matrix<double>& a, const Matrix<double>& b)
{
    const Matrix<double> d = (a - b).cwiseAbs();
    return d.allFinite() ? d.maxCoeff() : INFINITY;
}

/// max |Δ log-softmax| from the reference, which knows only the stored weights.
inline double change(const std::filesystem::path& folder, const ProcessedWeights& weights)
{
    const auto reference = matrixOf(referenceForward(folder, tokens).logits);
    return difference(logSoftmax(ran<double>(weights, tokens).logits), logSoftmax(reference));
}

/// Rows of a stored tensor whose last two dimensions are [rows, cols]; matrix `index` of the stack.
inline Matrix<double> stored(const ToyModel& toy, const std::string& name, Eigen::Index rows,
                             Eigen::Index cols, Eigen::Index index = 0)
{
    const std::vector<double>& values = toy.tensors.at(name).values;
    return Eigen::Map<const Eigen::Matrix<double, Eigen::Dynamic, Eigen::Dynamic, Eigen::RowMajor>>(
        values.data() + index * rows * cols, rows, cols);
}

class Toy {
public:
    explicit Toy(const ToyOptions& options = {})
        : toy(writeToyModel(m_folder.path().toStdString(), options))
    {
    }

    /// Call it after changing `toy.tensors`.
    void save() const
    {
        writeSafetensors(toy.folder / "model.safetensors", toy.tensors, toy.options.float64);
    }
    void set(const char* key, const QByteArray& json) const
    {
        QFile file(QString::fromStdString((toy.folder / "config.json").string()));
        if (!file.open(QIODevice::ReadWrite))
            qFatal("no config.json");
        QByteArray text = file.readAll();
        text.insert(text.indexOf('{') + 1, "\"" + QByteArray(key) + "\": " + json + ",");
        file.resize(0);
        file.seek(0);
        file.write(text);
    }
    std::shared_ptr<const ModelWeights> model() const { return loaded(toy.folder); }
    double changeBy(const ProcessingWish& wish) const { return change(toy.folder, processed(model(), wish)); }
    Result<ProcessingPlan> plan(const ProcessingWish& wish) const { return planProcessing(*model(), wish); }

    QTemporaryDir m_folder;
    ToyModel toy;
};

} // namespace headwise::test
