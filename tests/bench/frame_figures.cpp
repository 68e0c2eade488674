#include "tests/bench/frame_figures.h"

#include "tests/support/frame_times.h"
#include "ui/base/job.h"

#include <QStringList>

namespace headwise::bench {

namespace {

constexpr int frames = 240;

void prepare(ui::HeatmapView& view, int tokens)
{
    QStringList names;
    for (int i = 0; i < tokens; ++i)
        names << QStringLiteral("␣token%1").arg(i);
    view.resize(1280, 800);
    view.content()->setRowAxis(ui::labelledAxis(QStringLiteral("query token"), names));
    view.content()->setColumnAxis(ui::labelledAxis(QStringLiteral("key token"), names));
    view.colors()->setScale({.fit = ColorFit::Robust});
    view.content()->setNormBars(true);
    view.show();
}

double ofCircuit()
{
    static const auto circuit = *TiledCircuit::create(
        *FactoredMatrix<float>::create(Matrix<float>::Random(50257, 64), Matrix<float>::Random(64, 50257)),
        Task{});
    ui::HeatmapView view;
    prepare(view, 50257);
    view.content()->setTiles(circuit);
    return test::frameTimeP95(view, frames);
}

double ofMatrix()
{
    ui::HeatmapView view;
    prepare(view, 768);
    view.setMatrix(std::make_shared<const Eigen::MatrixXf>(Eigen::MatrixXf::Random(768, 768)));
    return test::frameTimeP95(view, frames);
}

} // namespace

std::vector<Figure> frameFigures(const Limits& limits)
{
    const std::string formula = "1280 · 800 · 4 bytes / bandwidth (the window's pixels once)";
    const double floor = 1280.0 * 800 * 4 / limits.bandwidth;
    return {
        {"window: frame of a 50257² circuit, p95", formula, floor, 300, 0.016, {}, ofCircuit},
        {"window: frame of a 768² matrix, p95", formula, floor, 300, 0.016, {}, ofMatrix},
    };
}

} // namespace headwise::bench
