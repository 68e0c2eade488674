#include "ui/pages/model/tensor_detail.h"

#include "core/checkpoint/npy.h"
#include "ui/base/text.h"
#include "ui/base/theme.h"
#include "ui/charts/spectrum_chart.h"
#include "ui/heatmaps/heatmap_panel.h"

#include <QFileDialog>
#include <QHBoxLayout>
#include <QLabel>
#include <QPushButton>
#include <QSplitter>
#include <QVBoxLayout>

#include <filesystem>
#include <utility>

namespace headwise::ui {

namespace {

constexpr std::int64_t pictureLimit = 1024; // cells in each direction, as many as a large screen shows

/// Returns the outline of the bars, from the axis and back to it.
QVector<QPointF> outlineOf(const Histogram& histogram)
{
    const auto bins = static_cast<double>(histogram.counts.size());
    const double width = (histogram.high - histogram.low) / bins;
    QVector<QPointF> points{{histogram.low, 0}};
    for (std::size_t i = 0; i < histogram.counts.size(); ++i) {
        const double left = histogram.low + width * static_cast<double>(i);
        const auto height = static_cast<double>(histogram.counts[i]);
        points << QPointF(left, height) << QPointF(left + width, height);
    }
    return points << QPointF(histogram.high, 0);
}

} // namespace

TensorDetail::TensorDetail(QWidget* parent)
    : QWidget(parent)
    , m_name(new QLabel(this))
    , m_numbers(new QLabel(this))
    , m_save(new QPushButton(tr("Save as .npy…"), this))
    , m_histogram(new LineChart(this))
    , m_panel(new HeatmapPanel(this))
{
    makeHeading(m_name);
    makeSecondary(m_numbers);
    m_name->setTextInteractionFlags(Qt::TextSelectableByMouse);
    m_numbers->setTextInteractionFlags(Qt::TextSelectableByMouse);
    m_numbers->setWordWrap(true);
    m_name->setSizePolicy(QSizePolicy::Ignored, QSizePolicy::Preferred);
    m_save->setToolTip(tr(
        "Writes the tensor as a NumPy file: its own type, or float32 where NumPy has none (BF16, F8, quantised)"));
    m_histogram->setAccessibleName(tr("Histogram of the tensor"));
    m_panel->view()->setAccessibleName(tr("Entries of the tensor"));
    m_histogram->setLook({.xTitle = tr("value"), .yTitle = tr("numbers in a bin"), .wholeY = true});
    ColorScale scale;
    scale.fit = ColorFit::Robust; // A few outliers would leave the rest colourless.
    m_panel->view()->colors()->proposeScale(scale);
    auto* heading = new QHBoxLayout;
    heading->setSpacing(8);
    heading->addWidget(m_name, 1);
    heading->addWidget(m_save);
    auto* pictures = new QSplitter(this);
    pictures->setChildrenCollapsible(false);
    pictures->setHandleWidth(16);
    pictures->addWidget(m_histogram);
    pictures->addWidget(m_panel);
    pictures->setSizes({400, 520});
    auto* layout = new QVBoxLayout(this);
    layout->setContentsMargins(0, 0, 0, 0);
    layout->setSpacing(8);
    layout->addLayout(heading);
    layout->addWidget(m_numbers);
    layout->addWidget(pictures, 1);
    connectSignals();
}

void TensorDetail::connectSignals()
{
    connect(m_save, &QPushButton::clicked, this, &TensorDetail::chooseNpy);
    connect(m_panel->view(), &HeatmapView::hoverLeft, this, [this] { emit readOutChanged({}); });
    connect(m_histogram, &LineChart::hoverLeft, this, [this] { emit readOutChanged({}); });
    connect(m_panel->view(), &HeatmapView::cellHovered, this,
            [this](int row, int column, float value) { emit readOutChanged(readOut(row, column, value)); });
    connect(m_histogram, &LineChart::pointHovered, this, [this](const QString&, int, QPointF point) {
        emit readOutChanged(tr("%1 numbers starting or ending at %2")
                                .arg(count(static_cast<qint64>(point.y())), number(point.x())));
    });
}

void TensorDetail::showTensor(std::shared_ptr<const WeightMap> file, int tensor, const QString& use,
                              const std::optional<TensorStatistics>& known)
{
    m_file = std::move(file);
    m_tensor = tensor;
    const StoredTensor& stored = m_file->tensors()[static_cast<std::size_t>(tensor)];
    m_name->setText(tensorName());
    m_name->setToolTip(tensorName());
    m_summary = QStringList{text(shapeText(stored.shape)), text(dtypeName(stored.dtype)), use};
    m_numbers->setText(m_summary.join(QStringLiteral(" · ")));
    m_save->setEnabled(m_file->holdsNumbers(tensor));
    read(known);
}

QString TensorDetail::tensorName() const
{
    return text(m_file->tensors()[static_cast<std::size_t>(m_tensor)].name);
}

void TensorDetail::read(const std::optional<TensorStatistics>& known)
{
    m_panel->view()->onScreen().setPending(true);
    m_reading.start(
        tr("Reading %1").arg(tensorName()),
        [file = m_file, tensor = m_tensor, known](const Task& task) -> Result<Read> {
            Read read{known, {}};
            if (!known) {
                Result<std::optional<TensorStatistics>> found =
                    tensorStatistics(*file, tensor, histogramBins, task);
                if (!found)
                    return found.error();
                read.statistics = *std::move(found);
            }
            Result<TensorPicture> picture = tensorPicture(*file, tensor, pictureLimit, task);
            if (!picture)
                return picture.error();
            read.picture = *std::move(picture);
            return read;
        },
        [this](const Result<Read>& found) {
            m_panel->view()->onScreen().setPending(false);
            if (found)
                return showRead(*found);
            m_panel->view()->setMatrix(nullptr);
            m_panel->view()->onScreen().setMessage(text(found.error()));
            showHistogram(std::nullopt);
        });
}

void TensorDetail::showRead(const Read& read)
{
    m_statistics = read.statistics;
    emit statisticsRead(m_tensor);
    const TensorStatistics s = read.statistics.value_or(TensorStatistics());
    QStringList parts = m_summary;
    if (s.finiteCount() > 0)
        parts << tr("min %1").arg(number(s.minimum)) << tr("max %1").arg(number(s.maximum))
              << tr("mean %1").arg(number(s.mean)) << tr("std %1").arg(number(s.deviation));
    parts << tr("%1 numbers").arg(count(s.count)) << tr("%1 zeros").arg(count(s.zeroCount))
          << tr("%1 NaN").arg(count(s.nanCount)) << tr("%1 infinite").arg(count(s.infinityCount));
    m_numbers->setText(parts.join(QStringLiteral(" · ")));
    showHistogram(read.statistics);
    showPicture(read.picture);
}

void TensorDetail::showHistogram(const std::optional<TensorStatistics>& statistics)
{
    if (!statistics || statistics->histogram.counts.empty()) {
        m_histogram->setMessage(!statistics             ? tr("This tensor has no numbers to count.")
                                    : statistics->count ? tr("All values are NaN or infinite.")
                                                        : tr("This tensor has no elements."));
        return m_histogram->setSeries({});
    }
    m_histogram->setSeries({{QString(), outlineOf(statistics->histogram), SeriesStyle::Line}});
}

void TensorDetail::showPicture(const TensorPicture& picture)
{
    HeatmapView* view = m_panel->view();
    m_picture = picture;
    m_picture.cells.resize(0, 0);
    if (picture.cells.size() == 0) {
        view->onScreen().setMessage(tr("This tensor has no elements."));
        return view->setMatrix(nullptr);
    }
    const auto axis = [](const QString& name, std::int64_t perCell) {
        return HeatmapAxis{
            perCell == 1 ? name : tr("%1, %2 to a cell: the strongest entry").arg(name).arg(perCell), {}};
    };
    view->content()->setValueTitle(tr("entry of %1").arg(tensorName()));
    view->content()->setRowAxis(axis(tr("row"), picture.rowsPerCell));
    view->content()->setColumnAxis(axis(tr("column"), picture.columnsPerCell));
    view->setMatrix(std::make_shared<Eigen::MatrixXf>(picture.cells));
}

void TensorDetail::clear(const QString& message)
{
    m_reading.cancel();
    m_file = nullptr;
    m_tensor = -1;
    m_name->clear();
    m_numbers->clear();
    m_save->setEnabled(false);
    m_histogram->setMessage(QString());
    m_histogram->setSeries({});
    m_panel->view()->onScreen().setPending(false);
    m_panel->view()->onScreen().setMessage(message);
    m_panel->view()->setMatrix(nullptr);
}

QString TensorDetail::readOut(int row, int column, float value) const
{
    const std::int64_t firstRow = row * m_picture.rowsPerCell,
                       firstColumn = column * m_picture.columnsPerCell;
    QString words =
        tr("%1   row %2 col %3").arg(signedNumber(static_cast<double>(value))).arg(firstRow).arg(firstColumn);
    if (m_picture.rowsPerCell > 1 || m_picture.columnsPerCell > 1)
        words += tr("   strongest of %1 × %2").arg(m_picture.rowsPerCell).arg(m_picture.columnsPerCell);
    return words;
}

void TensorDetail::chooseNpy()
{
    if (!m_file)
        return;
    auto* dialog = new QFileDialog(this, tr("Save the tensor"), QString(), tr("NumPy files (*.npy)"));
    dialog->setAttribute(Qt::WA_DeleteOnClose);
    dialog->setAcceptMode(QFileDialog::AcceptSave);
    dialog->setDefaultSuffix(QStringLiteral("npy"));
    dialog->selectFile(tensorName().replace(u'/', u'_') + QStringLiteral(".npy"));
    connect(dialog, &QFileDialog::fileSelected, this, &TensorDetail::saveAsNpy);
    dialog->open();
}

void TensorDetail::saveAsNpy(const QString& fileName)
{
    if (!m_file)
        return;
    m_saving.start(
        tr("Saving %1").arg(tensorName()),
        [file = m_file, tensor = m_tensor, path = std::filesystem::path(fileName.toStdString())](
            const Task& task) { return writeNpy(*file, tensor, path, task); },
        [this, fileName](const Result<Done>& result) {
            emit saved(result ? tr("Saved %1").arg(fileName) : text(result.error()));
        });
}

} // namespace headwise::ui
