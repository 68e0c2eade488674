#include "ui/pages/model/cache_dialog.h"

#include "ui/base/text.h"
#include "ui/base/theme.h"
#include "ui/pages/parts/model_line.h"

#include <QDateTime>
#include <QDialogButtonBox>
#include <QHeaderView>
#include <QKeyEvent>
#include <QLabel>
#include <QLineEdit>
#include <QLocale>
#include <QPushButton>
#include <QSortFilterProxyModel>
#include <QStandardItemModel>
#include <QTableView>
#include <QVBoxLayout>

#include <algorithm>

namespace headwise::ui {

namespace {

enum CacheColumn { CacheName, CacheRevision, CacheSize, CacheDate };
constexpr int cacheSortRole = Qt::UserRole;       // numbers in their order
constexpr int cacheFolderRole = Qt::UserRole + 1; // of the first column

QStandardItem* cacheItem(const QString& words, const QVariant& order)
{
    auto* item = new QStandardItem(words);
    item->setData(order, cacheSortRole);
    return item;
}

} // namespace

CacheDialog::CacheDialog(QWidget* parent)
    : QDialog(parent)
    , m_filter(new QLineEdit(this))
    , m_models(new QStandardItemModel(0, 4, this))
    , m_found(new QSortFilterProxyModel(this))
    , m_table(new QTableView(this))
    , m_words(new QLabel(tr("Reading the Hugging Face cache…"), this))
{
    setWindowTitle(tr("Open from the Hugging Face cache"));
    m_filter->setPlaceholderText(tr("Filter by name or revision"));
    m_filter->setAccessibleName(tr("Filter by name or revision"));
    m_filter->setClearButtonEnabled(true);
    m_filter->installEventFilter(this);
    makeSecondary(m_words);
    m_words->setWordWrap(true);
    m_words->setTextFormat(Qt::PlainText);
    createTable();
    auto* buttons = new QDialogButtonBox(QDialogButtonBox::Open | QDialogButtonBox::Cancel, this);
    m_open = buttons->button(QDialogButtonBox::Open);
    m_open->setDefault(true);
    m_open->setEnabled(false);
    connect(buttons, &QDialogButtonBox::accepted, this, &QDialog::accept);
    connect(buttons, &QDialogButtonBox::rejected, this, &QDialog::reject);
    connect(m_filter, &QLineEdit::textChanged, this, [this](const QString& words) {
        m_found->setFilterFixedString(words);
        selectFirst();
    });
    auto* layout = new QVBoxLayout(this);
    layout->setSpacing(12);
    layout->addWidget(m_filter);
    layout->addWidget(m_table, 1);
    layout->addWidget(m_words);
    layout->addWidget(buttons);
    resize(720, 440);
    m_filter->setFocus();
    m_job.start(
        tr("Reading the Hugging Face cache"), [](const Task&) { return cachedModels(); },
        [this](const Result<std::vector<CachedModel>>& models) { showModels(models); });
}

void CacheDialog::createTable()
{
    m_models->setHorizontalHeaderLabels({tr("Model"), tr("Revision"), tr("Size"), tr("Date")});
    m_found->setSourceModel(m_models);
    m_found->setSortRole(cacheSortRole);
    m_found->setFilterKeyColumn(-1);
    m_found->setFilterCaseSensitivity(Qt::CaseInsensitive);
    m_table->setModel(m_found);
    m_table->setSelectionBehavior(QAbstractItemView::SelectRows);
    m_table->setSelectionMode(QAbstractItemView::SingleSelection);
    m_table->setEditTriggers(QAbstractItemView::NoEditTriggers);
    m_table->setAccessibleName(tr("Models in the cache"));
    m_table->setSortingEnabled(true);
    m_table->sortByColumn(CacheName, Qt::AscendingOrder);
    m_table->setTabKeyNavigation(false);
    m_table->setShowGrid(false);
    m_table->verticalHeader()->hide();
    m_table->horizontalHeader()->setHighlightSections(false);
    m_table->horizontalHeader()->setDefaultAlignment(Qt::AlignLeft | Qt::AlignVCenter);
    m_models->horizontalHeaderItem(CacheSize)->setTextAlignment(Qt::AlignRight | Qt::AlignVCenter);
    m_table->horizontalHeader()->setSectionResizeMode(QHeaderView::ResizeToContents);
    m_table->horizontalHeader()->setSectionResizeMode(CacheName, QHeaderView::Stretch);
    // Enter opens by the default button.
    connect(m_table, &QTableView::doubleClicked, this, &QDialog::accept);
    connect(m_table->selectionModel(), &QItemSelectionModel::currentRowChanged, this,
            [this] { m_open->setEnabled(!folder().isEmpty()); });
}

void CacheDialog::showModels(const Result<std::vector<CachedModel>>& models)
{
    if (!models)
        return m_words->setText(text(models.error()));
    for (const CachedModel& model : *models)
        for (const CachedRevision& revision : model.revisions)
            addRow(model, revision);
    const QString cache = text(modelCacheFolder().string());
    m_words->setText(models->empty()
                         ? tr("The Hugging Face cache %1 holds no models. Nothing is downloaded.").arg(cache)
                         : tr("In %1. Nothing is downloaded.").arg(cache));
    selectFirst();
}

void CacheDialog::addRow(const CachedModel& model, const CachedRevision& revision)
{
    QString words = text(revision.commit.substr(0, 12));
    for (const std::string& ref : revision.refs)
        words += QStringLiteral(", ") + text(ref);
    const QDateTime date = QDateTime::fromSecsSinceEpoch(revision.modified);
    const auto bytes = static_cast<double>(revision.bytes);
    QStandardItem* name = cacheItem(text(model.name), text(model.name).toLower());
    name->setData(QString::fromStdString(revision.folder.string()), cacheFolderRole);
    QStandardItem* size = cacheItem(modelDataSize(bytes), bytes);
    size->setTextAlignment(Qt::AlignRight | Qt::AlignVCenter);
    m_models->appendRow({name, cacheItem(words, words), size,
                         cacheItem(QLocale().toString(date.date(), QLocale::ShortFormat), date)});
}

void CacheDialog::selectFirst()
{
    if (m_found->rowCount() > 0)
        m_table->setCurrentIndex(m_found->index(0, CacheName));
    m_open->setEnabled(!folder().isEmpty());
}

QString CacheDialog::folder() const
{
    const QModelIndex current = m_table->currentIndex();
    return current.isValid() ? current.siblingAtColumn(CacheName).data(cacheFolderRole).toString()
                             : QString();
}

bool CacheDialog::eventFilter(QObject* watched, QEvent* event)
{
    if (watched == m_filter && event->type() == QEvent::KeyPress) {
        const auto* pressed = static_cast<QKeyEvent*>(event);
        const int step = pressed->key() == Qt::Key_Down ? 1 : pressed->key() == Qt::Key_Up ? -1 : 0;
        const QModelIndex next = m_found->index(std::max(0, m_table->currentIndex().row() + step), CacheName);
        if (step != 0 && next.isValid())
            m_table->setCurrentIndex(next);
        if (step != 0)
            return true;
    }
    return QDialog::eventFilter(watched, event);
}

} // namespace headwise::ui
