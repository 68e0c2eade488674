// A picture or table dragged out of the window: the forms that another program is given, and the drag itself.

#include "ui/figures/figure_drag.h"

#include "tests/support/matchers.h"
#include "tests/support/program.h"
#include "ui/base/theme.h"
#include "ui/charts/spectrum_chart.h"
#include "ui/heatmaps/heatmap_view.h"
#include "ui/widgets/drag_out.h"
#include "ui/widgets/table_figure.h"

#include <QApplication>
#include <QDir>
#include <QFile>
#include <QFileInfo>
#include <QSignalSpy>
#include <QStandardItemModel>
#include <QSvgRenderer>
#include <QTemporaryDir>
#include <QTest>
#include <QUrl>

#include <chrono>
#include <filesystem>
#include <memory>

using namespace headwise;
using namespace headwise::ui;

namespace {

const FigureSettings dragSettings{.format = FigureFormat::Png, .dpi = 100};

QByteArray draggedFile(const QString& name)
{
    QFile file(name);
    return file.open(QIODevice::ReadOnly) ? file.readAll() : QByteArray();
}

std::unique_ptr<HeatmapView> draggedHeatmap()
{
    auto view = std::make_unique<HeatmapView>();
    view->resize(300, 300);
    view->setMatrix(std::make_shared<const Eigen::MatrixXf>(Eigen::MatrixXf::Random(20, 20)));
    view->content()->setRowAxis({QStringLiteral("query"), {}});
    view->content()->setColumnAxis({QStringLiteral("key"), {}});
    view->setFigureTitle(QStringLiteral("L1H2 full QK"));
    return view;
}

std::unique_ptr<LineChart> draggedChart()
{
    auto view = std::make_unique<LineChart>();
    view->setSeries({{QStringLiteral("OV"), {{0, 3}, {1, 2}, {2, 0.5}}}});
    view->setFigureTitle(QStringLiteral("Spectrum"));
    return view;
}

/// Sends a mouse event with Ctrl or without, as a window system does.
void sendMouse(QWidget& view, QEvent::Type type, const QPoint& at, Qt::KeyboardModifiers keys)
{
    const bool isMove = type == QEvent::MouseMove;
    QMouseEvent event(type, at, view.mapToGlobal(at), isMove ? Qt::NoButton : Qt::LeftButton,
                      type == QEvent::MouseButtonRelease ? Qt::NoButton : Qt::LeftButton, keys);
    QApplication::sendEvent(&view, &event);
}

void dragBy(QWidget& view, const QPoint& from, const QPoint& by, Qt::KeyboardModifiers keys)
{
    sendMouse(view, QEvent::MouseButtonPress, from, keys);
    sendMouse(view, QEvent::MouseMove, from + by / 2, keys);
    sendMouse(view, QEvent::MouseMove, from + by, keys);
    sendMouse(view, QEvent::MouseButtonRelease, from + by, keys);
}

} // namespace

class FigureDragTest : public QObject {
    Q_OBJECT

private:
    QTemporaryDir m_folder;
    QStandardItemModel m_model;

    std::unique_ptr<TableFigure> table()
    {
        m_model.clear();
        m_model.setHorizontalHeaderLabels({QStringLiteral("token"), QStringLiteral("value")});
        m_model.appendRow(
            {new QStandardItem(QStringLiteral("␣Paris")), new QStandardItem(QStringLiteral("1"))});
        m_model.appendRow(
            {new QStandardItem(QStringLiteral("a,\"b\"")), new QStandardItem(QStringLiteral("2"))});
        auto view = std::make_unique<TableFigure>();
        view->setSource(&m_model, Qt::DisplayRole);
        view->setFigureTitle(QStringLiteral("Tokens"));
        return view;
    }

    void checkForms(const FigureSource& source)
    {
        const FigureMime mime(source, dragSettings, QStringLiteral("figure-of-it"),
                              std::make_shared<DragFolder>(m_folder.path()));
        const QImage picture = QImage::fromData(mime.data(QStringLiteral("image/png")), "PNG");
        QVERIFY(picture.width() > 100 && picture.height() > 100);
        const QByteArray svg = mime.data(QStringLiteral("image/svg+xml"));
        QVERIFY(svg.contains("<svg") && QSvgRenderer(svg).isValid());
        const auto exported = renderFigure(source, {.format = FigureFormat::Csv});
        QVERIFY(test::isOk(exported));
        QVERIFY(exported->bytes.count('\n') > 1);
        QCOMPARE(mime.data(QStringLiteral("text/csv")), exported->bytes);
        QVERIFY(mime.hasText() && mime.text().count(u'\t') > 1);
        QStringList endings;
        for (const QUrl& url : mime.urls()) {
            const QFileInfo file(url.toLocalFile());
            QCOMPARE(file.completeBaseName(), QStringLiteral("figure-of-it"));
            endings << file.suffix();
            const QString type = file.suffix() == u"csv" ? QStringLiteral("text/csv")
                : file.suffix() == u"svg"                ? QStringLiteral("image/svg+xml")
                                                         : QStringLiteral("image/png");
            QVERIFY(!draggedFile(file.filePath()).isEmpty());
            QCOMPARE(draggedFile(file.filePath()), mime.data(type));
        }
        QCOMPARE(endings, (QStringList{QStringLiteral("png"), QStringLiteral("svg"), QStringLiteral("csv")}));
    }

private slots:
    void initTestCase()
    {
        applyTheme(*qApp, ThemeMode::Light);
        QVERIFY(m_folder.isValid());
    }

    void aPictureIsGivenInEveryForm()
    {
        checkForms(*draggedHeatmap());
        checkForms(*draggedChart());
        checkForms(*table());
    }

    /// An analysis that ends during the drag may replace the picture.
    void thePictureMayGoDuringTheDrag()
    {
        auto view = draggedHeatmap();
        const auto exported = renderFigure(*view, {.format = FigureFormat::Csv});
        QVERIFY(test::isOk(exported));
        const FigureMime mime(*view, dragSettings, {}, std::make_shared<DragFolder>(m_folder.path()));
        view.reset();
        QCOMPARE(mime.data(QStringLiteral("text/csv")), exported->bytes);
        QVERIFY(!mime.data(QStringLiteral("image/png")).isEmpty());
    }

    void filesGoWithTheProgramAndLeftoversAreSwept()
    {
        QTemporaryDir where;
        const QString old = where.filePath(QStringLiteral("headwise-drag-old"));
        const QString recent = where.filePath(QStringLiteral("headwise-drag-new"));
        const QString other = where.filePath(QStringLiteral("other"));
        for (const QString& folder : {old, recent, other})
            QVERIFY(QDir().mkdir(folder));
        const auto longAgo = std::filesystem::file_time_type::clock::now() - std::chrono::hours(49);
        std::filesystem::last_write_time(old.toStdString(), longAgo);
        std::filesystem::last_write_time(other.toStdString(), longAgo);
        QString own;
        {
            DragFolder folder(where.path());
            QVERIFY(QFileInfo::exists(old)); // nothing was dragged yet
            own = folder.path();
            QVERIFY(QFileInfo(own).isDir());
            QVERIFY(!QFileInfo(own).permission(QFileDevice::ReadOther));
            QCOMPARE(folder.path(), own);
            QVERIFY(!QFileInfo::exists(old));
            QVERIFY(QFileInfo::exists(recent) && QFileInfo::exists(other));
        }
        QVERIFY(!QFileInfo::exists(own));
    }

    void onlyADragWithCtrlTakesThePictureOut()
    {
        const auto view = draggedHeatmap();
        view->show();
        QVERIFY(QTest::qWaitForWindowExposed(view.get()));
        view->zoom()->setState({.zoomX = 4, .zoomY = 4});
        DragOut drags([&view](QWidget* widget) { return widget == view.get() ? widget : nullptr; });
        const QSignalSpy dragged(&drags, &DragOut::dragged);
        const QSignalSpy clicked(view.get(), &HeatmapView::cellClicked);
        const QPointF before = view->cells().rect(5, 5).topLeft();
        dragBy(*view, {150, 150}, {40, 30}, Qt::ControlModifier);
        QCOMPARE(dragged.count(), 1);
        QCOMPARE(dragged.first().first().value<QWidget*>(), view.get());
        QCOMPARE(view->cells().rect(5, 5).topLeft(), before);
        QCOMPARE(clicked.count(), 0);
        // The picture does not believe that a button is still down.
        QMouseEvent hover(QEvent::MouseMove, QPoint(100, 100), view->mapToGlobal(QPoint(100, 100)),
                          Qt::NoButton, Qt::NoButton, Qt::NoModifier);
        QApplication::sendEvent(view.get(), &hover);
        QCOMPARE(view->cells().rect(5, 5).topLeft(), before);
        dragBy(*view, {150, 150}, {40, 30}, Qt::NoModifier);
        QCOMPARE(dragged.count(), 1);
        QVERIFY(view->cells().rect(5, 5).topLeft() != before); // moved, as ever
    }

    void aClickWithCtrlReachesThePicture()
    {
        const auto rows = table();
        rows->setSelectionMode(QAbstractItemView::ExtendedSelection);
        rows->resize(300, 200);
        rows->show();
        QVERIFY(QTest::qWaitForWindowExposed(rows.get()));
        QWidget* viewport = rows->viewport();
        DragOut drags([&](QWidget* widget) -> QWidget* {
            return widget == viewport ? rows.get() : static_cast<QWidget*>(nullptr);
        });
        const QSignalSpy dragged(&drags, &DragOut::dragged);
        for (int row = 0; row < 2; ++row)
            QTest::mouseClick(viewport, Qt::LeftButton, Qt::ControlModifier,
                              rows->visualRect(rows->model()->index(row, 0)).center());
        QVERIFY(rows->selectionModel()->isSelected(rows->model()->index(0, 0)));
        QVERIFY(rows->selectionModel()->isSelected(rows->model()->index(1, 0)));
        QCOMPARE(dragged.count(), 0);
        rows->clearSelection();
        dragBy(*viewport, rows->visualRect(rows->model()->index(0, 0)).center(), {0, 40},
               Qt::ControlModifier);
        QCOMPARE(dragged.count(), 1);
        QVERIFY(!rows->selectionModel()->hasSelection());
    }
};

HEADWISE_TEST(FigureDragTest)
#include "figure_drag_test.moc"
