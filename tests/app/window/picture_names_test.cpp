// Pictures have one name, in the window and on the command line.

#include "app/commands/export/page_pictures.h"
#include "app/figure_command_line.h"
#include "app/window/pages.h"
#include "core/analysis/catalogue.h"
#include "core/series/series_record.h"
#include "core/session/view_names.h"
#include "core/session/views.h"
#include "tests/support/copying_series.h"
#include "tests/support/every_page.h"
#include "tests/support/matchers.h"
#include "tests/support/program.h"
#include "ui/base/text.h"
#include "ui/document/compared_model.h"
#include "ui/document/training_series.h"
#include "ui/pages/parts/figure_subject.h"
#include "ui/pictures/picture_card.h"

#include <QComboBox>
#include <QFile>
#include <QJsonDocument>
#include <QProcess>
#include <QSet>

#include <algorithm>
#include <memory>

using namespace headwise;
using namespace headwise::ui;
using app::Pages;
using test::WindowDriver;

namespace {

constexpr HeadId shownHead{1, 5};

QString nameOf(const app::PagePicture& picture)
{
    return text(std::string(picture.page).append(pageColon).append(picture.name));
}

QByteArray bytesOf(const QString& file)
{
    QFile read(file);
    return read.open(QIODevice::ReadOnly) ? read.readAll() : QByteArray();
}

} // namespace

class PictureNamesTest : public QObject {
    Q_OBJECT

private:
    QTemporaryDir m_folder;
    std::unique_ptr<WindowDriver> m_demo;
    QSet<QString> m_names;     // of every picture of every page
    QStringList m_withoutName; // titles

    static Pages& pagesOf(WindowDriver& driver) { return *driver.window.findChild<Pages*>(); }

    void gather(WindowDriver& driver)
    {
        QVERIFY(test::hasNoJob());
        QSet<QString> here;
        for (const FigureSource* figure : pagesOf(driver).figures()) {
            const QString name = figureViewName(*figure);
            if (name.isEmpty())
                m_withoutName << figure->figureTitle();
            else {
                QVERIFY2(!here.contains(name), qPrintable(name + QStringLiteral(" twice")));
                here << name;
            }
        }
        m_names += here;
    }

    void gatherAll(WindowDriver& driver)
    {
        test::visitAllPages(driver, [&](const QString&) { gather(driver); });
    }

    void gatherOn(WindowDriver& driver, const char* page, const QByteArray& choice)
    {
        pagesOf(driver).showOn(QLatin1String(page), QJsonDocument::fromJson(choice).object());
        gather(driver);
    }

    FigureSource* pictureNamed(const QString& name)
    {
        const QList<FigureSource*> figures = pagesOf(*m_demo).figures();
        const auto found =
            std::ranges::find_if(figures, [&](FigureSource* one) { return figureViewName(*one) == name; });
        return found == figures.end() ? nullptr : *found;
    }

    /// A series of two checkpoints of a toy model.
    std::filesystem::path writeSeries() const
    {
        SeriesRecord record;
        record.entries = test::copyingEntries(2, 3);
        record.frame.model.name = record.frame.model.architecture = "toy";
        record.frame.model.nLayers = 2;
        record.frame.model.nHeads = record.frame.model.nKvHeads = 3;
        record.frame.model.dModel = record.frame.model.dHead = record.frame.model.dVocab = 8;
        SeriesChange change;
        change.score = "copying";
        change.after = 1;
        change.text = "L0H0 became a copying head";
        record.changes = {change};
        const std::filesystem::path file = m_folder.filePath(QStringLiteral("series.h5")).toStdString();
        return writeSeriesRecord(file, record, Task{}) ? file : std::filesystem::path();
    }

private slots:
    void initTestCase()
    {
        test::beginWithOwnSettings(m_folder);
        m_demo = std::make_unique<WindowDriver>();
        m_demo->openDemo();
        Workspace& workspace = m_demo->workspace();
        workspace.selection()->setReference(HeadId{0, 1});
        workspace.selection()->setHead(shownHead);
        for (const char* analysis : {"relations", "six_terms", "similarity", "induction"}) {
            workspace.runs()->runAnalysis(analysis);
            QVERIFY(test::hasNoJob());
        }
        ComparedModel::of(&workspace)->compare({HEADWISE_DEMO_MODEL, std::nullopt, {}});
        QVERIFY(test::hasNoJob());
        m_demo->window.saveTo(m_folder.filePath(QStringLiteral("demo.h5"))); // commands name it
        QVERIFY(test::hasNoJob());
    }

    void cleanupTestCase()
    {
        m_demo.reset();
        QVERIFY(waitForJobs(std::chrono::minutes(1)));
    }

    void windowAndCommandLineHaveTheSameNames()
    {
        gatherAll(*m_demo);
        gatherOn(*m_demo, "tokens", R"({"side": 2})");
        gatherOn(*m_demo, "vectors", R"({"search": " king"})");
        for (const char* way : {R"({"way": 1})", R"({"way": 2})", R"({"way": 3})"})
            gatherOn(*m_demo, "compare", way);
        gatherOn(*m_demo, "tensors", R"({"tensor": "transformer.h.0.attn.c_attn.weight"})");
        m_demo->workspace().selection()->setHead({0, 3});
        gatherOn(*m_demo, "scores", "{}");
        gatherOn(*m_demo, "analyses", R"({"analysis": "six_terms"})");
        m_demo->workspace().selection()->setHead(shownHead);
        const Session session = m_demo->workspace().session()->snapshot({})();
        {
            WindowDriver rotary;
            rotary.window.openPath(text(test::testData("models/stories260k").string()));
            rotary.waitForAnalyses();
            gatherAll(rotary);
            rotary.workspace().selection()->setRotaryOffset(1);
            gatherOn(rotary, "position", "{}");
        }
        {
            WindowDriver training;
            training.window.openPath(text(writeSeries().string()));
            QTRY_VERIFY(training.tabs()->currentName() == QLatin1String("training"));
            gather(training);
        }
        QSet<QString> onPages;
        for (const app::PagePicture& picture : app::pagePictures())
            onPages << nameOf(picture);
        QStringList unknown, absent = (onPages - m_names).values();
        for (const QString& name : m_names - onPages)
            if (!viewOf(session, name.toStdString(), std::nullopt)
                && !viewOf(session, name.toStdString(), shownHead))
                unknown << name;
        QVERIFY2(unknown.isEmpty(), qPrintable(unknown.join(u'\n')));
        QVERIFY2(absent.isEmpty(), qPrintable(absent.join(u'\n')));
        m_withoutName.removeDuplicates();
        QVERIFY2(m_withoutName.isEmpty(), qPrintable(m_withoutName.join(u'\n')));
    }

    void everyPictureHasANameWhateverItsBoxesShow()
    {
        int boxes = 0;
        for (const app::PagePicture& picture : app::pagePictures())
            m_names << nameOf(picture);
        m_withoutName.clear();
        for (const Analysis& analysis : catalogue()) {
            if (!isComputed(analysis, *m_demo->workspace().model()->results()))
                continue;
            gatherOn(*m_demo, "analyses",
                     QJsonDocument(QJsonObject{{QStringLiteral("analysis"), text(analysis.id)}}).toJson());
            for (const PictureCard* card : m_demo->page()->findChildren<PictureCard*>())
                for (QComboBox* box : card->findChildren<QComboBox*>())
                    if (box->isVisibleTo(card) && box->count() > 1) {
                        box->setCurrentIndex(box->count() - 1);
                        ++boxes;
                    }
            gather(*m_demo);
        }
        QVERIFY(boxes > 20);
        m_withoutName.removeDuplicates();
        QVERIFY2(m_withoutName.isEmpty(), qPrintable(m_withoutName.join(u'\n')));
    }

    void theCopiedCommandDrawsTheSame_data()
    {
        QTest::addColumn<QString>("page");
        QTest::addColumn<QByteArray>("choice");
        QTest::addColumn<QString>("picture");
        const auto row = [](const char* page, const char* choice, const char* picture) {
            QTest::newRow(QByteArray(page).append(' ').append(choice).constData())
                << QString(QLatin1String(page)) << QByteArray(choice)
                << QStringLiteral("%1: %2").arg(QLatin1String(page), QLatin1String(picture));
        };
        row("matrix", R"({"circuit": 3, "which": 0, "text": " the cats"})", "Matrix of the circuit");
        row("tokens", R"({"circuit": 1, "side": 1})", "Tokens of the row or column");
        row("prompt", R"({"prompt": "A cat, a dog", "without_first": true})", "Attention of the head");
        row("composition", R"({"kind": "q"})", "Principal angles of the pair");
        row("composition", R"({"kind": "q", "tab": 1})", "Wiring");
        row("composition", R"({"kind": "v", "tab": 1, "wiring": {"least": 600, "colors": 2}})", "Wiring");
        row("vectors", R"({"search": " king"})", "Directions with the token");
        row("compare", R"({"way": 2})", "Selected head minus reference");
        row("all_heads", R"({"x": "scores/matching"})", "Two scores of every head");
        // Choices in the boxes over a picture of an analysis, which is named by its analysis.
        const auto chosen = [](const char* analysis, const char* title, const char* choices) {
            const QString name = QStringLiteral("%1: %2").arg(QLatin1String(analysis), QLatin1String(title));
            const QJsonObject choice{
                {QStringLiteral("analysis"), QLatin1String(analysis)},
                {QStringLiteral("pictures"), QJsonObject{{name, QJsonDocument::fromJson(choices).object()}}}};
            QTest::newRow(qPrintable(name))
                << QStringLiteral("analyses") << QJsonDocument(choice).toJson() << name;
        };
        chosen("spectra", "Heads by effective rank", R"({"heads": 1})");
        chosen("spectra", "Effective ranks of QK and OV",
               R"({"x": "scores/matching", "color": "scores/copying"})");
        chosen("spectra", "Singular values of QK and OV on a log axis, selected head", R"({"heads": 2})");
        chosen("similarity", "Cosine of W_QK", R"({"order": 1})");
        chosen("induction", "Strongest induction circuits", R"({"least": 500, "colors": 1})");
    }

    void theCopiedCommandDrawsTheSame()
    {
        QFETCH(QString, page);
        QFETCH(QByteArray, choice);
        QFETCH(QString, picture);
        pagesOf(*m_demo).showOn(page, QJsonDocument::fromJson(choice).object());
        QVERIFY(test::hasNoJob());
        QTRY_VERIFY(pictureNamed(picture));
        FigureSource* figure = pictureNamed(picture);
        const QString shown = m_folder.filePath(QStringLiteral("shown.csv")),
                      drawn = m_folder.filePath(QStringLiteral("drawn.csv"));
        const auto written = exportFigure(*figure, shown, {.format = FigureFormat::Csv});
        QVERIFY2(written, written ? "" : written.error().message.c_str());
        QString command = app::figureCommandLine(&m_demo->workspace(), &pagesOf(*m_demo), figure);
        QVERIFY2(command.startsWith(QLatin1String("headwise export ")), qPrintable(command));
        command.replace(0, 8, QStringLiteral(HEADWISE_BINARY));
        command.replace(QStringLiteral("figure.svg"), drawn);
        QProcess process;
        process.start(QStringLiteral("/bin/sh"), {QStringLiteral("-c"), command});
        QVERIFY(process.waitForFinished(120'000));
        QVERIFY2(process.exitCode() == 0, process.readAllStandardError() + command.toUtf8());
        QVERIFY(!bytesOf(shown).isEmpty());
        QCOMPARE(bytesOf(drawn), bytesOf(shown));
        QFile::remove(drawn);
    }
};

HEADWISE_TEST(PictureNamesTest)
#include "picture_names_test.moc"
