#include "ui/pages/model/tensors_page.h"

#include "core/checkpoint/npy.h"
#include "ui/base/text.h"
#include "ui/base/theme.h"
#include "ui/charts/spectrum_chart.h"
#include "ui/heatmaps/heatmap_panel.h"
#include "ui/models/tensor_table_model.h"
#include "ui/widgets/job_bar.h"
#include "ui/widgets/table_figure.h"

#include <QFileDialog>
#include <QFontMetrics>
#include <QHBoxLayout>
#include <QHeaderView>
#include <QLabel>
#include <QLineEdit>
#include <QPushButton>
#include <QSortFilterProxyModel>
#include <QSplitter>
#include <QTableView>
#include <QVBoxLayout>

#include <algorithm>
#include <filesystem>

namespace headwise::ui {

namespace {

constexpr std::size_t readUnasked = 2'000'000'000; // bytes, a few seconds from a modern disk
constexpr std::int64_t pictureLimit = 1024;        // cells in each direction, as many as a large screen shows

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

TensorsPage::TensorsPage(Workspace* workspace, QWidget* parent)
    : Page(workspace, parent)
    , m_model(new TensorTableModel(this))
    , m_search(new QLineEdit(this))
    , m_summary(new QLabel(this))
    , m_read(new QPushButton(tr("Read all numbers"), this))
    , m_table(new TableFigure(this))
    , m_name(new QLabel(this))
    , m_numbers(new QLabel(this))
    , m_state(new QLabel(this))
    , m_save(new QPushButton(tr("Save as .npy…"), this))
    , m_histogram(new LineChart(this))
    , m_panel(new HeatmapPanel(this))
{
    auto* splitter = new QSplitter(Qt::Vertical, this);
    splitter->setChildrenCollapsible(false);
    splitter->setHandleWidth(16);
    splitter->addWidget(createTable());
    splitter->addWidget(createDetail());
    splitter->setSizes({320, 400});
    auto* bottom = new QHBoxLayout;
    bottom->addWidget(m_state, 1);
    bottom->addWidget(new JobBar(&m_allJob, this));
    bottom->addWidget(new JobBar(&m_detailJob, this));
    bottom->addWidget(new JobBar(&m_saveJob, this));
    auto* layout = new QVBoxLayout(this);
    layout->setContentsMargins(12, 12, 12, 12);
    layout->setSpacing(8);
    layout->addWidget(splitter, 1);
    layout->addLayout(bottom);
    connectSignals();
}

QWidget* TensorsPage::createTable()
{
    m_search->setPlaceholderText(tr("Find a tensor by a part of its name, type or use"));
    m_search->setClearButtonEnabled(true);
    m_search->setAccessibleName(tr("Find a tensor"));
    m_read->setToolTip(tr("Reads every number of the file once for the table and once for the histograms"));
    makeSecondary(m_summary);
    makeSecondary(m_state);
    m_table->setSource(m_model, TensorTableModel::SortRole);
    m_sorted = qobject_cast<QSortFilterProxyModel*>(m_table->model());
    m_sorted->setFilterKeyColumn(-1);
    m_sorted->setFilterCaseSensitivity(Qt::CaseInsensitive);
    m_table->sortByColumn(TensorTableModel::NameColumn, Qt::AscendingOrder);
    m_table->setSelectionMode(QAbstractItemView::SingleSelection);
    m_table->verticalHeader()->setDefaultSectionSize(22);
    m_table->setWordWrap(false);
    m_table->setAccessibleName(tr("Tensors of the checkpoint"));
    // Columns as wide as the widest usual number do not resize while numbers arrive.
    const QFontMetrics metrics(numberFont());
    const auto widthFor = [&](const char* sample) {
        return metrics.horizontalAdvance(QString::fromUtf8(sample)) + 16;
    };
    for (int column = TensorTableModel::MinimumColumn; column <= TensorTableModel::DeviationColumn; ++column)
        m_table->setColumnWidth(column, widthFor("−0.00123"));
    m_table->setColumnWidth(TensorTableModel::NanColumn, widthFor("NaN 0"));
    m_table->setColumnWidth(TensorTableModel::InfinityColumn, widthFor("Inf 0"));
    m_table->horizontalHeader()->setStretchLastSection(true);
    auto* controls = new QHBoxLayout;
    controls->setSpacing(8);
    controls->addWidget(m_search, 1);
    controls->addWidget(m_summary);
    controls->addWidget(m_read);
    auto* box = new QWidget(this);
    auto* layout = new QVBoxLayout(box);
    layout->setContentsMargins(0, 0, 0, 0);
    layout->setSpacing(8);
    layout->addLayout(controls);
    layout->addWidget(m_table, 1);
    return box;
}

QWidget* TensorsPage::createDetail()
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
    m_histogram->setLook({.xTitle = tr("value"), .yTitle = tr("numbers in a bin")});
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
    auto* box = new QWidget(this);
    auto* layout = new QVBoxLayout(box);
    layout->setContentsMargins(0, 0, 0, 0);
    layout->setSpacing(8);
    layout->addLayout(heading);
    layout->addWidget(m_numbers);
    layout->addWidget(pictures, 1);
    return box;
}

void TensorsPage::connectSignals()
{
    connect(workspace()->model(), &OpenModel::opened, this, &TensorsPage::refresh);
    connect(workspace()->model(), &OpenModel::circuitsChanged, this, &TensorsPage::refresh);
    connect(workspace()->model(), &OpenModel::closed, this, &TensorsPage::refresh);
    connect(m_search, &QLineEdit::textChanged, m_sorted, &QSortFilterProxyModel::setFilterFixedString);
    connect(m_read, &QPushButton::clicked, this, &TensorsPage::readAll);
    connect(m_save, &QPushButton::clicked, this, &TensorsPage::chooseNpy);
    connect(&m_allJob, &Job::progressed, this, &TensorsPage::collect);
    connect(&m_allJob, &Job::finished, this, &TensorsPage::collect); // also when it was cancelled
    connect(m_table->selectionModel(), &QItemSelectionModel::currentRowChanged, this,
            &TensorsPage::showTensor);
    connect(m_panel->view(), &HeatmapView::hoverLeft, this, [this] { emit readOutChanged({}); });
    connect(m_histogram, &LineChart::hoverLeft, this, [this] { emit readOutChanged({}); });
    connect(m_panel->view(), &HeatmapView::cellHovered, this,
            [this](int row, int column, float value) { emit readOutChanged(readOut(row, column, value)); });
    connect(m_histogram, &LineChart::pointHovered, this, [this](const QString&, int, QPointF point) {
        emit readOutChanged(
            tr("%1 numbers from or up to %2").arg(count(static_cast<qint64>(point.y())), number(point.x())));
    });
}

void TensorsPage::recompute()
{
    if (m_isLone)
        return;
    const auto weights = workspace()->model()->weights();
    if (weights && m_file.get() == &weights->file())
        return; // another processing of the same file
    forgetFile();
    m_model->setWeights(weights);
    if (!weights) {
        m_read->setVisible(false);
        return clearDetail(tr("The tensors need the model's files; use File → Locate model…"));
    }
    showFile({weights, &weights->file()});
}

void TensorsPage::showLoneFile(const std::filesystem::path& path)
{
    m_isLone = true;
    forgetFile();
    clearDetail(QString());
    m_openJob.start(
        tr("Reading %1").arg(text(path.filename().string())),
        [path](const Task&) -> Result<std::shared_ptr<const WeightMap>> {
            Result<WeightMap> file = WeightMap::open(path, ForeignFiles::Shown);
            if (!file)
                return file.error();
            return std::make_shared<const WeightMap>(*std::move(file));
        },
        [this](const Result<std::shared_ptr<const WeightMap>>& file) {
            if (!file)
                return clearDetail(text(file.error()));
            m_model->setFile(*file);
            showFile(*file);
        });
}

void TensorsPage::forgetFile()
{
    m_allJob.cancel();
    m_mailbox.reset();
    m_file = nullptr;
    m_summary->clear();
    m_state->clear();
}

void TensorsPage::showFile(std::shared_ptr<const WeightMap> file)
{
    m_file = std::move(file);
    fitColumns();
    m_read->setVisible(true);
    std::size_t bytes = 0;
    for (const StoredTensor& tensor : m_file->tensors())
        bytes += tensor.byteCount;
    m_summary->setText(
        tr("%1 tensors, %2 bytes").arg(m_file->tensors().size()).arg(count(static_cast<qint64>(bytes))));
    select(m_wanted);
    if (bytes <= readUnasked)
        readAll();
}

void TensorsPage::fitColumns()
{
    constexpr int widest = 280; // px; longer names are elided and have a tooltip
    for (const auto column : {TensorTableModel::NameColumn, TensorTableModel::ShapeColumn,
                              TensorTableModel::DtypeColumn, TensorTableModel::BytesColumn}) {
        m_table->resizeColumnToContents(column);
        m_table->setColumnWidth(column, std::min(widest, m_table->columnWidth(column) + 8));
    }
}

void TensorsPage::readAll()
{
    if (!m_file)
        return;
    std::vector<int> tensors;
    for (int tensor = 0; tensor < m_model->rowCount(); ++tensor)
        if (!m_model->isKnown(tensor))
            tensors.push_back(tensor);
    if (tensors.empty())
        return finishReading(Done{});
    m_read->setEnabled(false);
    m_mailbox = std::make_shared<Mailbox>();
    m_allJob.start(
        tr("Reading %1 tensors").arg(tensors.size()),
        [file = m_file, mailbox = m_mailbox, tensors](const Task& task) {
            return tensorStatistics(
                *file, tensors, histogramBins,
                [&mailbox](int tensor, const std::optional<TensorStatistics>& found) {
                    const std::lock_guard lock(mailbox->mutex);
                    mailbox->fresh.emplace_back(tensor, found);
                },
                task);
        },
        [this](const Result<Done>& result) { finishReading(result); });
}

void TensorsPage::collect()
{
    if (!m_mailbox)
        return;
    std::vector<std::pair<int, std::optional<TensorStatistics>>> fresh;
    {
        const std::lock_guard lock(m_mailbox->mutex);
        fresh.swap(m_mailbox->fresh);
    }
    for (const auto& [tensor, statistics] : fresh)
        m_model->setStatistics(tensor, statistics);
    m_read->setEnabled(!m_allJob.isRunning());
}

void TensorsPage::finishReading(const Result<Done>& result)
{
    collect();
    m_read->setEnabled(true);
    m_read->setVisible(!result);
    m_state->setText(result ? QString() : text(result.error()));
}

int TensorsPage::currentTensor() const
{
    const QModelIndex index = m_table->currentIndex();
    return index.isValid() ? m_sorted->mapToSource(index).row() : -1;
}

QString TensorsPage::tensorName(int tensor) const
{
    return text(m_file->tensors()[static_cast<std::size_t>(tensor)].name);
}

void TensorsPage::select(const QString& name)
{
    const int tensor = name.isEmpty() ? -1 : m_file->find(name.toStdString());
    const QModelIndex index =
        tensor < 0 ? m_sorted->index(0, 0) : m_sorted->mapFromSource(m_model->index(tensor, 0));
    if (!index.isValid())
        return clearDetail(tr("There are no tensors here."));
    m_table->setCurrentIndex(index);
    m_table->scrollTo(index);
}

void TensorsPage::showTensor()
{
    const int tensor = currentTensor();
    if (tensor < 0 || !m_file)
        return;
    m_wanted = tensorName(tensor);
    const StoredTensor& stored = m_file->tensors()[static_cast<std::size_t>(tensor)];
    m_name->setText(m_wanted);
    m_name->setToolTip(m_wanted);
    m_numbers->setText(
        tr("%1 · %2 · %3")
            .arg(text(shapeText(stored.shape)), text(dtypeName(stored.dtype)), m_model->useText(tensor)));
    m_save->setEnabled(m_file->holdsNumbers(tensor));
    readTensor(tensor);
}

void TensorsPage::readTensor(int tensor)
{
    m_panel->view()->setPending(true);
    std::optional<TensorStatistics> known;
    if (m_model->isKnown(tensor))
        known = m_model->statistics(tensor);
    m_detailJob.start(
        tr("Reading %1").arg(tensorName(tensor)),
        [file = m_file, tensor, known](const Task& task) -> Result<Detail> {
            Detail detail{known, {}};
            if (!known) {
                Result<std::optional<TensorStatistics>> found =
                    tensorStatistics(*file, tensor, histogramBins, task);
                if (!found)
                    return found.error();
                detail.statistics = *std::move(found);
            }
            Result<TensorPicture> picture = tensorPicture(*file, tensor, pictureLimit, task);
            if (!picture)
                return picture.error();
            detail.picture = *std::move(picture);
            return detail;
        },
        [this, tensor](const Result<Detail>& detail) {
            m_panel->view()->setPending(false);
            if (detail)
                return showDetail(tensor, *detail);
            m_panel->view()->setMatrix(nullptr);
            m_panel->view()->setMessage(text(detail.error()));
            showHistogram(std::nullopt);
        });
}

void TensorsPage::showDetail(int tensor, const Detail& detail)
{
    if (!m_model->isKnown(tensor))
        m_model->setStatistics(tensor, detail.statistics);
    const StoredTensor& stored = m_file->tensors()[static_cast<std::size_t>(tensor)];
    const TensorStatistics s = detail.statistics.value_or(TensorStatistics());
    QStringList parts{text(shapeText(stored.shape)), text(dtypeName(stored.dtype)), m_model->useText(tensor)};
    if (s.finiteCount() > 0)
        parts << tr("min %1").arg(number(s.minimum)) << tr("max %1").arg(number(s.maximum))
              << tr("mean %1").arg(number(s.mean)) << tr("std %1").arg(number(s.deviation));
    parts << tr("%1 numbers").arg(count(s.count)) << tr("%1 zeros").arg(count(s.zeroCount))
          << tr("%1 NaN").arg(count(s.nanCount)) << tr("%1 infinite").arg(count(s.infinityCount));
    m_numbers->setText(parts.join(QStringLiteral(" · ")));
    showHistogram(detail.statistics);
    showPicture(detail.picture);
}

void TensorsPage::showHistogram(const std::optional<TensorStatistics>& statistics)
{
    if (!statistics || statistics->histogram.counts.empty()) {
        m_histogram->setMessage(!statistics             ? tr("There are no numbers to count.")
                                    : statistics->count ? tr("None of its numbers is finite.")
                                                        : tr("This tensor has no elements."));
        return m_histogram->setSeries({});
    }
    m_histogram->setSeries({{QString(), outlineOf(statistics->histogram), SeriesStyle::Line}});
}

void TensorsPage::showPicture(const TensorPicture& picture)
{
    HeatmapView* view = m_panel->view();
    m_picture = picture;
    m_picture.cells.resize(0, 0);
    if (picture.cells.size() == 0) {
        view->setMessage(tr("This tensor has no elements."));
        return view->setMatrix(nullptr);
    }
    const auto axis = [](const QString& name, std::int64_t perCell) {
        return HeatmapAxis{
            perCell == 1 ? name : tr("%1, %2 to a cell: the strongest entry").arg(name).arg(perCell), {}};
    };
    view->setRowAxis(axis(tr("row"), picture.rowsPerCell));
    view->setColumnAxis(axis(tr("column"), picture.columnsPerCell));
    view->setMatrix(std::make_shared<Eigen::MatrixXf>(picture.cells));
}

void TensorsPage::clearDetail(const QString& message)
{
    m_detailJob.cancel();
    m_name->clear();
    m_numbers->clear();
    m_save->setEnabled(false);
    m_histogram->setMessage(QString());
    m_histogram->setSeries({});
    m_panel->view()->setPending(false);
    m_panel->view()->setMessage(message);
    m_panel->view()->setMatrix(nullptr);
}

QString TensorsPage::readOut(int row, int column, float value) const
{
    const std::int64_t firstRow = row * m_picture.rowsPerCell,
                       firstColumn = column * m_picture.columnsPerCell;
    QString words =
        tr("%1   row %2 col %3").arg(signedNumber(static_cast<double>(value))).arg(firstRow).arg(firstColumn);
    if (m_picture.rowsPerCell > 1 || m_picture.columnsPerCell > 1)
        words += tr("   strongest of %1 × %2").arg(m_picture.rowsPerCell).arg(m_picture.columnsPerCell);
    return words;
}

void TensorsPage::chooseNpy()
{
    auto* dialog = new QFileDialog(this, tr("Save the tensor"), QString(), tr("NumPy files (*.npy)"));
    dialog->setAttribute(Qt::WA_DeleteOnClose);
    dialog->setAcceptMode(QFileDialog::AcceptSave);
    dialog->setDefaultSuffix(QStringLiteral("npy"));
    dialog->selectFile(QString(m_wanted).replace(u'/', u'_') + QStringLiteral(".npy"));
    connect(dialog, &QFileDialog::fileSelected, this, &TensorsPage::saveAsNpy);
    dialog->open();
}

void TensorsPage::saveAsNpy(const QString& fileName)
{
    const int tensor = currentTensor();
    if (tensor < 0 || !m_file)
        return;
    m_saveJob.start(
        tr("Saving %1").arg(tensorName(tensor)),
        [file = m_file, tensor, path = std::filesystem::path(fileName.toStdString())](const Task& task) {
            return writeNpy(*file, tensor, path, task);
        },
        [this, fileName](const Result<Done>& result) {
            m_state->setText(result ? tr("Saved %1").arg(fileName) : text(result.error()));
        });
}

QJsonObject TensorsPage::viewState() const
{
    return {{QStringLiteral("tensor"), m_wanted},
            {QStringLiteral("search"), m_search->text()},
            {QStringLiteral("heatmap"), m_panel->viewState()}};
}

void TensorsPage::setViewState(const QJsonObject& state)
{
    m_search->setText(state[QStringLiteral("search")].toString());
    m_panel->setViewState(state[QStringLiteral("heatmap")].toObject());
    m_wanted = state[QStringLiteral("tensor")].toString();
    if (m_file && !m_wanted.isEmpty())
        select(m_wanted);
}

Provenance TensorsPage::storedProvenance() const
{
    // The file's content depends neither on a head nor on the processing.
    Provenance provenance;
    for (const auto& [key, value] : workspace()->provenance())
        if (key == QLatin1String("processing"))
            provenance.emplace_back(QStringLiteral("tensor"), tr("%1, as stored").arg(m_wanted));
        else if (key != QLatin1String("head") && key != QLatin1String("embedding"))
            provenance.emplace_back(key, value);
    return provenance;
}

QList<FigureSource*> TensorsPage::figures()
{
    if (!m_file || m_isLone || m_model->rowCount() == 0)
        return {};
    const QString model = text(workspace()->model()->card().name);
    QList<FigureSource*> sources;
    const auto add = [&](FigureSource* source, const QString& what) {
        describe(source, QStringLiteral("%1, %2").arg(what, model));
        source->setProvenance(storedProvenance());
        sources << source;
    };
    const int tensor = currentTensor();
    if (tensor >= 0 && m_panel->view()->matrix()) {
        add(m_panel->view(), tr("%1 as stored").arg(tensorName(tensor)));
        if (m_model->isKnown(tensor) && m_model->statistics(tensor)
            && !m_model->statistics(tensor)->histogram.counts.empty())
            add(m_histogram, tr("Histogram of %1 as stored").arg(tensorName(tensor)));
    }
    add(m_table, tr("Tensors as stored"));
    Provenance ofAll = storedProvenance();
    ofAll.removeIf([](const auto& line) { return line.first == QLatin1String("tensor"); });
    m_table->setProvenance(ofAll);
    return sources;
}

} // namespace headwise::ui
