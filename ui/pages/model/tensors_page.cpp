#include "ui/pages/model/tensors_page.h"

#include "ui/base/text.h"
#include "ui/base/theme.h"
#include "ui/charts/spectrum_chart.h"
#include "ui/heatmaps/heatmap_panel.h"
#include "ui/models/tensor_table_model.h"
#include "ui/pages/model/tensor_detail.h"
#include "ui/pages/parts/figure_subject.h"
#include "ui/widgets/job_bar.h"
#include "ui/widgets/table_figure.h"

#include <QDialog>
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
} // namespace

TensorsPage::TensorsPage(Workspace* workspace, QWidget* parent)
    : Page(workspace, parent)
    , m_model(new TensorTableModel(this))
    , m_search(new QLineEdit(this))
    , m_summary(new QLabel(this))
    , m_read(new QPushButton(tr("Read all numbers"), this))
    , m_table(new TableFigure(this))
    , m_state(new QLabel(this))
    , m_detail(new TensorDetail(this))
{
    auto* splitter = new QSplitter(Qt::Vertical, this);
    splitter->setChildrenCollapsible(false);
    splitter->setHandleWidth(16);
    splitter->addWidget(createTable());
    splitter->addWidget(m_detail);
    splitter->setSizes({320, 400});
    auto* bottom = new QHBoxLayout;
    bottom->addWidget(m_state, 1);
    bottom->addWidget(new JobBar(&m_allJob, this));
    bottom->addWidget(new JobBar(m_detail->reading(), this));
    bottom->addWidget(new JobBar(m_detail->saving(), this));
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
        m_table->setColumnWidth(column, widthFor("−0.000123"));
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

void TensorsPage::connectSignals()
{
    connect(workspace()->model(), &OpenModel::opened, this, &TensorsPage::refresh);
    connect(workspace()->model(), &OpenModel::circuitsChanged, this, &TensorsPage::refresh);
    connect(workspace()->model(), &OpenModel::closed, this, &TensorsPage::refresh);
    connect(m_search, &QLineEdit::textChanged, m_sorted, &QSortFilterProxyModel::setFilterFixedString);
    connect(m_read, &QPushButton::clicked, this, &TensorsPage::readAll);
    connect(&m_allJob, &Job::progressed, this, &TensorsPage::collect);
    connect(&m_allJob, &Job::finished, this, &TensorsPage::collect); // also when it was cancelled
    connect(m_table->selectionModel(), &QItemSelectionModel::currentRowChanged, this,
            &TensorsPage::showTensor);
    connect(m_detail, &TensorDetail::readOutChanged, this, &TensorsPage::readOutChanged);
    connect(m_detail, &TensorDetail::saved, m_state, &QLabel::setText);
    connect(m_detail, &TensorDetail::statisticsRead, this, [this](int tensor) {
        if (!m_model->isKnown(tensor))
            m_model->setStatistics(tensor, m_detail->statistics());
    });
}

QString TensorsPage::whyNot(const Workspace& workspace)
{
    const OpenModel& model = *workspace.model();
    return model.isOpen() && !model.hasModel()
        ? tr("The tensors need the model's files; use File → Locate model…")
        : QString();
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
        return m_detail->clear(whyNot(*workspace()));
    }
    showFile({weights, &weights->file()});
}

void TensorsPage::showFileOver(Workspace* workspace, const std::filesystem::path& path, QWidget* over)
{
    auto* dialog = new QDialog(over); // A window of the question's own is not blocked by it.
    dialog->setAttribute(Qt::WA_DeleteOnClose);
    dialog->setWindowTitle(tr("Tensors of %1").arg(text(path.filename().string())));
    dialog->setWindowModality(Qt::NonModal);
    dialog->resize(960, 720);
    auto* layout = new QVBoxLayout(dialog);
    layout->setContentsMargins(0, 0, 0, 0);
    auto* page = new TensorsPage(workspace, dialog);
    layout->addWidget(page);
    page->showLoneFile(path);
    dialog->show();
}

void TensorsPage::showLoneFile(const std::filesystem::path& path)
{
    m_isLone = true;
    forgetFile();
    m_detail->clear(QString());
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
                return m_detail->clear(text(file.error()));
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
    // px; longer names are elided and have a tooltip
    const int widest = std::max(280, m_table->width() / 3);
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
        return m_detail->clear(tr("This file has no tensors."));
    m_table->setCurrentIndex(index);
    m_table->scrollTo(index);
}

void TensorsPage::showTensor()
{
    const int tensor = currentTensor();
    if (tensor < 0 || !m_file)
        return;
    m_wanted = tensorName(tensor);
    std::optional<TensorStatistics> known;
    if (m_model->isKnown(tensor))
        known = m_model->statistics(tensor);
    m_detail->showTensor(m_file, tensor, m_model->useText(tensor), known);
}

ViewFields TensorsPage::viewFields()
{
    return ViewFields()
        .add("search", m_search)
        .addPart("heatmap", m_detail->panel())
        .add(
            "tensor", [this] { return m_wanted; },
            [this](const QJsonValue& tensor) {
                m_wanted = tensor.toString();
                if (m_file && !m_wanted.isEmpty())
                    select(m_wanted);
            });
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
        setView(source, pageViewName(this, *source));
        sources << source;
    };
    const int tensor = currentTensor();
    if (tensor >= 0 && m_detail->panel()->view()->matrix()) {
        add(m_detail->panel()->view(), tr("%1 as stored").arg(tensorName(tensor)));
        if (m_model->isKnown(tensor) && m_model->statistics(tensor)
            && !m_model->statistics(tensor)->histogram.counts.empty())
            add(m_detail->histogram(), tr("Histogram of %1 as stored").arg(tensorName(tensor)));
    }
    add(m_table, tr("Tensors as stored"));
    Provenance ofAll = m_table->provenance();
    ofAll.removeIf([](const auto& line) { return line.first == QLatin1String("tensor"); });
    m_table->setProvenance(ofAll);
    return sources;
}

} // namespace headwise::ui
