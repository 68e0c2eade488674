#include "ui/pages/export/figure_export_batch.h"

#include "ui/base/text.h"
#include "ui/document/estimate.h"
#include "ui/document/workspace.h"
#include "ui/figures/figure_export_formats.h"
#include "ui/figures/figure_recording.h"
#include "ui/pages/parts/page.h"

#include <QDir>
#include <QRegularExpression>

#include <algorithm>
#include <chrono>

namespace headwise::ui {

namespace {

constexpr int figureExportBatchTurn = 15; // ms between checks of a page that is computing
constexpr int patience = 60'000;          // ms for one head's picture
constexpr std::size_t mostWaiting = 8;    // sheets in memory
constexpr auto step = std::chrono::milliseconds(20);

/// Matches the head's name as a whole word, so that L1H1 is not found in L1H10.
QRegularExpression nameOf(HeadId head)
{
    return QRegularExpression(QStringLiteral("\\b%1\\b").arg(text(head)));
}

} // namespace

FigureBatch::FigureBatch(const Workspace* workspace, QObject* parent)
    : QObject(parent)
    , m_workspace(workspace)
{
    m_timer.setInterval(figureExportBatchTurn);
    connect(&m_timer, &QTimer::timeout, this, &FigureBatch::look);
    connect(&m_job, &Job::finished, this, &FigureBatch::clear);
}

FigureBatch::~FigureBatch()
{
    m_job.disconnect(this);
    clear();
}

bool FigureBatch::isOfHead(const QString& title, HeadId head)
{
    return title.contains(nameOf(head));
}

QString FigureBatch::fileNameOf(const QString& title)
{
    static const QRegularExpression other(QStringLiteral("[^\\w.]+"));
    QString name = title;
    return name.replace(other, QStringLiteral("-")).left(120);
}

std::chrono::milliseconds FigureBatch::timeOfOne(const FigureSettings& settings)
{
    constexpr double ofPage = 120, ofMegapixel = 80;       // ms
    const double side = settings.dpi / millimetresPerInch; // pixels per mm
    const double megapixels =
        settings.format == FigureFormat::Png ? settings.width * settings.height * side * side / 1e6 : 0;
    return std::chrono::milliseconds(static_cast<qint64>(ofPage + ofMegapixel * megapixels));
}

Result<FigureBatch::Written> FigureBatch::write(std::vector<std::shared_future<Sheet>>& sheets,
                                                const FigureSettings& settings,
                                                std::atomic<std::size_t>& done, const Task& task)
{
    Written written;
    const int all = static_cast<int>(sheets.size());
    for (int i = 0; i < all; ++i) {
        std::shared_future<Sheet>& coming = sheets[static_cast<std::size_t>(i)];
        while (coming.wait_for(step) != std::future_status::ready)
            if (task.cancelled())
                return stopped();
        const Sheet sheet = coming.get();
        coming = {}; // a hundred pictures take much memory
        const Result<Done> onDisk =
            sheet.figure ? exportFigure(**sheet.figure, sheet.fileName, settings) : sheet.figure.error();
        if (onDisk)
            ++written.count;
        else
            written.failures << text(onDisk.error());
        ++done;
        task.report(i + 1, all, "figures");
        if (task.cancelled())
            return stopped();
    }
    return written;
}

void FigureBatch::start(const Order& order)
{
    m_job.cancel();
    clear();
    m_order = order;
    m_selected = m_workspace->selection()->head();
    m_sheets = std::vector<std::promise<Sheet>>(order.heads.size());
    m_done = std::make_shared<std::atomic<std::size_t>>(0);
    std::vector<std::shared_future<Sheet>> coming;
    for (std::promise<Sheet>& sheet : m_sheets)
        coming.push_back(sheet.get_future().share());
    const QString title = order.heads.size() == 1 ? tr("Export of 1 figure")
                                                  : tr("Export of %1 figures").arg(order.heads.size());
    const QString estimate =
        estimateText(timeOfOne(order.settings) * static_cast<qint64>(order.heads.size()));
    m_job.start(
        estimate.isEmpty() ? title : tr("%1 · %2").arg(title, estimate),
        [coming = std::move(coming), settings = order.settings, done = m_done](const Task& task) mutable {
            return write(coming, settings, *done, task);
        },
        [this, folder = order.folder](const Result<Written>& written) {
            if (written)
                emit finished(written->count, folder, written->failures);
            else
                emit finished(0, folder, {text(written.error())});
        });
    m_timer.start();
}

void FigureBatch::prepareNext()
{
    m_waited = 0;
    m_snapshot = m_workspace->snapshot(m_order.heads[m_next]);
    m_page.reset(m_order.makePage(m_snapshot.get()));
    // Pages compute only while they are shown; this one is shown but not on screen.
    m_page->setAttribute(Qt::WA_DontShowOnScreen);
    m_page->show();
}

void FigureBatch::look()
{
    if (m_next == m_order.heads.size())
        return m_timer.stop();
    if (!m_workspace->model()->isOpen())
        return m_job.cancel();
    if (m_next >= *m_done + mostWaiting)
        return; // The disk is slower than the painter.
    if (!m_page)
        return prepareNext();
    const QString wanted =
        QString(m_order.title).replace(nameOf(m_selected), text(m_snapshot->selection()->head()));
    const QList<FigureSource*> figures = m_page->figures();
    const auto found = std::ranges::find(figures, wanted, &FigureSource::figureTitle);
    if (found != figures.end())
        return hand(std::make_shared<const RecordedFigure>(**found, m_order.settings));
    m_waited += figureExportBatchTurn;
    if (m_waited > patience)
        hand(
            Error{ErrorCode::Internal, tr("'%1' did not appear within a minute.").arg(wanted).toStdString()});
}

void FigureBatch::hand(Result<std::shared_ptr<const RecordedFigure>> figure)
{
    const QString title = QString(m_order.title).replace(nameOf(m_selected), text(m_order.heads[m_next]));
    const QString name = fileNameOf(title) + u'.' + suffixOf(m_order.settings.format);
    m_sheets[m_next].set_value({QDir(m_order.folder).filePath(name), std::move(figure)});
    ++m_next;
    m_page.reset();
    m_snapshot.reset();
}

void FigureBatch::clear()
{
    m_timer.stop();
    m_page.reset();
    m_snapshot.reset();
    m_sheets.clear();
    m_next = 0;
    m_order.heads.clear();
}

} // namespace headwise::ui
