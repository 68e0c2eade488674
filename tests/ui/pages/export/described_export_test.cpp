#include "ui/pages/export/described_export.h"

#include "core/series/series_record.h"
#include "core/series/series_steps.h"
#include "core/session/figure_description.h"
#include "core/session/kept_figures.h"
#include "core/session/session_file.h"
#include "tests/support/copying_series.h"
#include "tests/support/matchers.h"
#include "tests/support/pdf_page.h"
#include "tests/support/program.h"
#include "ui/base/theme.h"
#include "ui/document/training_series.h"
#include "ui/document/workspace.h"
#include "ui/figures/figure_metadata.h"
#include "ui/pages/export/export_dialog.h"

#include <QApplication>
#include <QDoubleSpinBox>
#include <QFile>
#include <QTemporaryDir>
#include <QTest>

#include <algorithm>
#include <filesystem>
#include <memory>
#include <utility>

using namespace headwise;
using namespace headwise::ui;

namespace {

constexpr const char* panelsOfComposition = R"({"version": 1, "session": "elsewhere/absent.h5",
    "page": {"width": 160, "height": 90, "font_size": 8}, "title": "Two panels of what is open",
    "panels": [{"view": "composition-k"}, {"view": "composition-v"}]})";

} // namespace

/// The figures that descriptions ask for, exported from the window's results.
class DescribedExportTest : public QObject {
    Q_OBJECT

private:
    QTemporaryDir m_folder;
    Workspace m_workspace;

    QString written(const QString& name, const QByteArray& json) const
    {
        QFile file(m_folder.filePath(name));
        return file.open(QIODevice::WriteOnly) && file.write(json) == json.size() ? file.fileName()
                                                                                  : QString();
    }

private slots:
    void initTestCase()
    {
        applyTheme(*qApp, ThemeMode::Light);
        m_workspace.opener()->openModel({HEADWISE_DEMO_MODEL, {}, {}});
        QTRY_VERIFY(m_workspace.model()->isOpen());
        QTRY_VERIFY(m_workspace.model()->results()->find("composition/v"));
    }
    void cleanupTestCase() { QTRY_VERIFY(!m_workspace.runs()->job()->isRunning()); }

    /// The session that the description names need not exist. The file says how it was made.
    void aDescriptionIsDrawnFromTheOpenResults()
    {
        auto made =
            describedExport(written(QStringLiteral("two.json"), panelsOfComposition), m_workspace, nullptr);
        QVERIFY(test::isOk(made));
        const std::unique_ptr<ExportDialog> dialog = std::move(made).value();
        QCOMPARE(dialog->settings().width, 160.0);
        QCOMPARE(dialog->settings().height, 90.0);
        const QString file = m_folder.filePath(QStringLiteral("two.pdf"));
        dialog->exportTo(file);
        QTRY_VERIFY(QFile::exists(file));
        QFile pdf(file);
        QVERIFY(pdf.open(QIODevice::ReadOnly));
        const QString words = test::textOf(pdf.readAll());
        for (const char* part : {"Two panels of what is open", "K-composition", "V-composition"})
            QVERIFY2(words.contains(QLatin1String(part)), qPrintable(words));
        const Result<Provenance> lines = figureMetadata(file);
        QVERIFY(test::isOk(lines));
        const auto kept = std::ranges::find_if(
            *lines, [](const auto& line) { return line.first == QLatin1StringView(figureDescriptionKey); });
        QVERIFY(kept != lines->end());
        const auto description = parseFigureDescription(kept->second.toStdString(), "kept");
        QVERIFY(test::isOk(description));
        QCOMPARE(description->session, std::string("absent.h5")); // its folder stays private
        QCOMPARE(description->panels.size(), 2U);
    }

    /// A session keeps the figure with the page that was chosen, and draws it without the model's files.
    void theSessionKeepsTheFigureAndHowViewsWereExported()
    {
        auto made =
            describedExport(written(QStringLiteral("kept.json"), panelsOfComposition), m_workspace, nullptr);
        QVERIFY(test::isOk(made));
        const std::unique_ptr<ExportDialog> dialog = std::move(made).value();
        const QList<QDoubleSpinBox*> boxes = dialog->findChildren<QDoubleSpinBox*>();
        const auto width = std::ranges::find(boxes, QStringLiteral("Width"), &QWidget::accessibleName);
        QVERIFY(width != boxes.end());
        (*width)->setValue(150);
        QCOMPARE(dialog->settings().width, 150.0);
        dialog->reject();
        FigureSettings settings{.format = FigureFormat::Svg, .width = 99};
        settings.style.edits.title = "Another title";
        m_workspace.session()->keepSettings(QStringLiteral("L1H5 OV"), settings);
        const QString file = m_folder.filePath(QStringLiteral("kept.h5"));
        m_workspace.session()->save(file.toStdString(), {});
        QTRY_COMPARE(m_workspace.session()->path(), std::filesystem::path(file.toStdString()));
        Session moved = readSession(file.toStdString(), Task{}).value();
        moved.model.source = "/gone";
        QVERIFY(test::isOk(writeSession(file.toStdString(), moved, Task{})));

        Workspace other;
        other.opener()->openSession(file.toStdString());
        QTRY_VERIFY(other.model()->isOpen());
        QVERIFY(!other.model()->hasModel());
        QVERIFY(other.session()->settingsOf(QStringLiteral("L1H5 OV")) == settings);
        QVERIFY(!other.session()->settingsOf(QStringLiteral("L1H4 OV")));
        auto again = keptExport(QStringLiteral("kept"), m_folder.path(), other, nullptr);
        QVERIFY(test::isOk(again));
        QCOMPARE(again.value()->settings().width, 150.0);
        QCOMPARE(again.value()->settings().height, 90.0);
        QVERIFY(!keptExport(QStringLiteral("none"), m_folder.path(), other, nullptr));
    }

    /// An unreadable description is named once, is not lost by saving, and hides nothing else.
    void aDamagedTextIsToldAmongTheWarnings()
    {
        Session session = m_workspace.session()->snapshot({})();
        session.model.source = "/gone";
        session.notes = {{"1.5", "a note"}};
        session.figures = "{\"version\": 1, \"views\": 3}";
        const std::string file = m_folder.filePath(QStringLiteral("damaged.h5")).toStdString();
        QVERIFY(test::isOk(writeSession(file, session, Task{})));
        Workspace other;
        other.opener()->openSession(file);
        QTRY_VERIFY(other.model()->isOpen());
        QCOMPARE(other.notebook()->note({1, 5}), QStringLiteral("a note"));
        QVERIFY(other.session()->figures() == KeptFigures{});
        QCOMPARE(warningsOf(*other.model()).filter(QStringLiteral("cannot be read")).size(), 1);
        QCOMPARE(other.session()->snapshot({})().figures, session.figures);
    }

    /// Panels at steps, and over all of them, are drawn from the open series.
    void aDescriptionIsDrawnFromTheOpenSeries()
    {
        SeriesRecord record;
        record.frame.model.name = "toy";
        record.frame.model.nLayers = record.frame.model.nHeads = record.frame.model.nKvHeads = 2;
        record.frame.model.dModel = record.frame.model.dHead = record.frame.model.dVocab = 8;
        record.entries = test::copyingEntries(2, 2);
        const std::filesystem::path file = m_folder.filePath(QStringLiteral("series.h5")).toStdString();
        QVERIFY(test::isOk(writeSeriesRecord(file, record, Task{})));
        const QString json = written(QStringLiteral("steps.json"),
                                     R"({"session": "elsewhere.h5", "panels": [
            {"view": "copying", "step": 1}, {"view": "training/copying", "head": "1.0"}]})");
        QVERIFY(!describedExport(json, m_workspace, nullptr)); // no series is open
        Workspace other;
        other.opener()->openSeries(file);
        QTRY_VERIFY(TrainingSeries::isOpenIn(other));
        auto made = describedExport(json, other, nullptr);
        QVERIFY(test::isOk(made));
        const std::unique_ptr<ExportDialog> dialog = std::move(made).value();
        const QString svg = m_folder.filePath(QStringLiteral("steps.svg"));
        dialog->exportTo(svg);
        QTRY_VERIFY(QFile::exists(svg));
        const Result<Provenance> lines = figureMetadata(svg);
        QVERIFY(test::isOk(lines));
        QVERIFY(lines->contains({QString::fromLatin1(seriesKey), QStringLiteral("series.h5")}));
    }

    void refusesWhatItCannotDraw_data()
    {
        QTest::addColumn<QByteArray>("from");
        QTest::addColumn<QByteArray>("to");
        QTest::addColumn<QByteArray>("part");
        QTest::newRow("no JSON") << QByteArray("\"version\": 1,") << QByteArray("\"version\": 1")
                                 << QByteArray("bad.json");
        QTest::newRow("view") << QByteArray("composition-v") << QByteArray("colour")
                              << QByteArray("Panel b: There is no view 'colour'");
        QTest::newRow("small page") << QByteArray("\"width\": 160, \"height\": 90")
                                    << QByteArray("\"width\": 20, \"height\": 20")
                                    << QByteArray("there is too little room");
    }
    void refusesWhatItCannotDraw()
    {
        QFETCH(const QByteArray, from);
        QFETCH(const QByteArray, to);
        QFETCH(const QByteArray, part);
        QByteArray json = panelsOfComposition;
        QVERIFY(json.contains(from));
        const auto dialog = describedExport(written(QStringLiteral("bad.json"), json.replace(from, to)),
                                            m_workspace, nullptr);
        QVERIFY(!dialog);
        QVERIFY2(test::printed(dialog.error()).contains(part), test::printed(dialog.error()).constData());
        QVERIFY(!describedExport(m_folder.filePath(QStringLiteral("none.json")), m_workspace, nullptr));
    }
};

HEADWISE_TEST(DescribedExportTest)
#include "described_export_test.moc"
