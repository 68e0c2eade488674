#include "tests/support/dialog_driver.h"
#include "tests/support/program.h"
#include "ui/base/theme.h"
#include "ui/charts/spectrum_chart.h"
#include "ui/heatmaps/heatmap_view.h"
#include "ui/pages/export/edits_editor.h"
#include "ui/pages/export/export_dialog.h"
#include "ui/pages/export/preset_menu.h"

#include <QApplication>
#include <QCheckBox>
#include <QComboBox>
#include <QFile>
#include <QInputDialog>
#include <QLabel>
#include <QLineEdit>
#include <QListWidget>
#include <QMenu>
#include <QPlainTextEdit>
#include <QPushButton>
#include <QSpinBox>
#include <QTabWidget>
#include <QTemporaryDir>
#include <QTest>

#include <algorithm>

using namespace headwise;
using namespace headwise::ui;

class ExportDialogWordsTest : public QObject {
    Q_OBJECT

private slots:
    void initTestCase()
    {
        applyTheme(*qApp, ThemeMode::Light);
        m_view.setMatrix(std::make_shared<Eigen::MatrixXf>(Eigen::MatrixXf::Identity(3, 3)));
        m_view.setFigureTitle(QStringLiteral("L1H2 OV"));
        m_view.content()->setValueTitle(QStringLiteral("score (logits)"));
        m_chart.setSeries(
            {{QStringLiteral("one"), {{0, 0}, {1, 2}}}, {QStringLiteral("two"), {{0, 1}, {1, 1}}}});
        m_chart.setFigureTitle(QStringLiteral("curves"));
    }

    void wordsAreEditedUndoneAndReset()
    {
        ExportDialog dialog(&m_view, {}, QStringLiteral("fig"));
        auto* title = find<QLineEdit>(dialog, "Title of the figure");
        auto* bar = find<QLineEdit>(dialog, "Label of the colour bar");
        QCOMPARE(title->text(), QStringLiteral("L1H2 OV"));
        QCOMPARE(bar->text(), QStringLiteral("score (logits)"));
        QVERIFY(dialog.settings().style.edits == FigureEdits{});
        title->selectAll();
        title->insert(QStringLiteral("A copying head"));
        bar->selectAll();
        bar->insert(QStringLiteral("effect"));
        QCOMPARE(dialog.settings().style.edits.title, "A copying head");
        QCOMPARE(dialog.settings().style.edits.valueTitle, "effect");
        test::press(dialog, QStringLiteral("Automatic words"));
        QVERIFY(dialog.settings().style.edits == FigureEdits{});
        title->undo();
        QCOMPARE(dialog.settings().style.edits.title, "A copying head");
        QVERIFY(dialog.remembered().style.edits == FigureEdits{}); // not for the next figure
    }

    /// Ctrl+Z takes back any change, whatever has the focus; what is typed into one field goes together.
    void anyChangeIsTakenBack()
    {
        ExportDialog dialog(&m_chart, {}, QStringLiteral("fig"));
        dialog.show();
        QVERIFY(QTest::qWaitForWindowActive(&dialog));
        const FigureSettings first = dialog.settings();
        find<QComboBox>(dialog, "Format")->setFocus();
        dialog.applyPreset(2); // slide
        find<QSpinBox>(dialog, "Resolution")->setValue(96);
        find<QListWidget>(dialog, "Series of the figure")->item(0)->setCheckState(Qt::Unchecked);
        const FigureSettings beforeWords = dialog.settings();
        auto* title = find<QLineEdit>(dialog, "Title of the figure");
        dialog.findChild<QTabWidget*>()->setCurrentIndex(1);
        title->setFocus();
        title->selectAll();
        QTest::keyClicks(title, QStringLiteral("Mine"));
        QCOMPARE(dialog.settings().style.edits.title, "Mine");
        const auto undo = [&] { QTest::keyClick(title, Qt::Key_Z, Qt::ControlModifier); };
        undo();
        QVERIFY(dialog.settings() == beforeWords);
        QCOMPARE(title->text(), QStringLiteral("curves"));
        undo();
        QVERIFY(dialog.settings().style.edits == FigureEdits{});
        QCOMPARE(find<QListWidget>(dialog, "Series of the figure")->item(0)->checkState(), Qt::Checked);
        undo();
        QCOMPARE(dialog.settings().dpi, first.dpi);
        QCOMPARE(dialog.settings().width, 254.0);
        undo();
        QVERIFY(dialog.settings() == first);
        QVERIFY(find<QComboBox>(dialog, "Size")->currentText().startsWith(QStringLiteral("Single")));
        undo(); // nothing is left
        QVERIFY(dialog.settings() == first);
        for (QAction* action : dialog.actions())
            if (action->text().startsWith(QStringLiteral("Redo")))
                for (int i = 0; i < 3; ++i)
                    action->trigger();
        QVERIFY(dialog.settings() == beforeWords);
    }

    void theFigureHasTheEditedWords()
    {
        FigureSettings settings{.format = FigureFormat::Svg, .width = 100, .height = 80};
        settings.style.edits = {.title = "My title", .caption = "My caption.", .valueTitle = "my label"};
        const auto figure = renderFigure(m_view, settings);
        QVERIFY(figure);
        QVERIFY(figure->bytes.contains(">My title<") && figure->bytes.contains(">my label<"));
        QVERIFY(!figure->bytes.contains(">score (logits)<"));
        QCOMPARE(figureCaption(m_view, settings.style), QStringLiteral("My caption."));
        QVERIFY(parseFigureSettings(text(settings)) == settings); // export --again keeps them
    }

    /// The automatic caption follows the title; an edited one stays.
    void theCaptionIsEditedUndoneAndReset()
    {
        ExportDialog dialog(&m_view, {}, QStringLiteral("fig"));
        auto* caption = find<QPlainTextEdit>(dialog, "Caption");
        auto* title = find<QLineEdit>(dialog, "Title of the figure");
        title->setText(QStringLiteral("Copying"));
        QVERIFY(caption->toPlainText().startsWith(QStringLiteral("Copying. ")));
        caption->selectAll();
        caption->insertPlainText(QStringLiteral("A sentence of mine."));
        QCOMPARE(dialog.settings().style.edits.caption, "A sentence of mine.");
        title->setText(QStringLiteral("Other"));
        QCOMPARE(caption->toPlainText(), QStringLiteral("A sentence of mine."));
        test::press(dialog, QStringLiteral("Automatic caption"));
        QVERIFY(dialog.settings().style.edits.caption.empty());
        caption->undo();
        QCOMPARE(dialog.settings().style.edits.caption, "A sentence of mine.");
    }

    void seriesAreHiddenAndMoved()
    {
        ExportDialog dialog(&m_chart, {}, QStringLiteral("fig"));
        auto* list = find<QListWidget>(dialog, "Series of the figure");
        QCOMPARE(list->count(), 2);
        list->item(0)->setCheckState(Qt::Unchecked);
        const std::vector<FigureSeriesChoice> hidden{{"one", false}, {"two", true}};
        QVERIFY(dialog.settings().style.edits.series == hidden);
        list->setCurrentRow(1);
        test::press(dialog, QStringLiteral("Move up"));
        const std::vector<FigureSeriesChoice> moved{{"two", true}, {"one", false}};
        QTRY_VERIFY(dialog.settings().style.edits.series == moved);
        // The next dialog for this picture begins with them.
        ExportDialog again(&m_chart, dialog.settings(), QStringLiteral("fig"));
        QCOMPARE(find<QListWidget>(again, "Series of the figure")->item(0)->text(), QStringLiteral("two"));
        QVERIFY(again.settings().style.edits == dialog.settings().style.edits);
    }

    void labelsThatNoPointHasAreNamed()
    {
        LineChart chart;
        ChartSeries heads{QStringLiteral("heads"), {{1, 1}, {2, 3}}, SeriesStyle::Points};
        heads.labels = {QStringLiteral("L0H0"), QStringLiteral("L0H1")};
        chart.setSeries({heads});
        ExportDialog dialog(&chart, {}, QStringLiteral("fig"));
        find<QLineEdit>(dialog, "Points to label")->setText(QStringLiteral("L0H1; L9H9"));
        QVERIFY(dialog.settings().style.edits.labels == std::vector<std::string>{"L0H1"});
        QVERIFY(test::says(dialog, QStringLiteral("No point is called L9H9.")));
    }

    void thePresetsKeepTheirLastSettings()
    {
        ExportDialog dialog(&m_view, {}, QStringLiteral("fig"));
        dialog.applyPreset(2); // slide
        find<QSpinBox>(dialog, "Resolution")->setValue(96);
        dialog.applyPreset(0);
        find<QSpinBox>(dialog, "Resolution")->setValue(600);
        dialog.applyPreset(2);
        QCOMPARE(dialog.settings().dpi, 96);
        ExportDialog next(&m_view, dialog.remembered(), QStringLiteral("fig"));
        next.setPresets(dialog.presets());
        QCOMPARE(next.settings().dpi, 96);
        next.applyPreset(0);
        QCOMPARE(next.settings().dpi, 600);
    }

    void ownPresetsAreSavedRenamedAndDeleted()
    {
        ExportDialog dialog(&m_view, {.width = 140, .height = 90}, QStringLiteral("fig"));
        auto* size = find<QComboBox>(dialog, "Size");
        QCOMPARE(size->currentText(), QStringLiteral("Custom"));
        trigger(dialog, QStringLiteral("Save as preset…"), QStringLiteral("Thesis"));
        QCOMPARE(size->currentText(), QStringLiteral("Thesis, 140 mm"));
        trigger(dialog, QStringLiteral("Rename preset…"), QStringLiteral("Book"));
        QCOMPARE(size->currentText(), QStringLiteral("Book, 140 mm"));
        dialog.applyPreset(0);
        QVERIFY(!menuAction(dialog, QStringLiteral("Delete preset"))->isEnabled());
        dialog.applyPreset(4);
        QCOMPARE(dialog.settings().width, 140.0);
        menuAction(dialog, QStringLiteral("Delete preset"))->trigger();
        QCOMPARE(size->currentText(), QStringLiteral("Custom"));
        QVERIFY(dialog.presets().own().empty());
    }

    void presetsAreSharedAsAFile()
    {
        QTemporaryDir folder;
        const QString file = folder.filePath(QStringLiteral("presets.json"));
        ExportDialog from(&m_view, {.width = 140, .height = 90}, QStringLiteral("fig"));
        from.findChild<PresetMenu*>()->saveAs(QStringLiteral("Thesis"));
        from.findChild<PresetMenu*>()->exportTo(file);
        ExportDialog to(&m_view, {}, QStringLiteral("fig"));
        to.findChild<PresetMenu*>()->importFrom(file);
        QVERIFY(test::says(to, QStringLiteral("Imported 1 preset.")));
        QVERIFY(to.presets().own() == from.presets().own());
        QFile damaged(file);
        QVERIFY(damaged.open(QIODevice::WriteOnly) && damaged.write("{\"schema\": 1}") > 0);
        damaged.close();
        to.findChild<PresetMenu*>()->importFrom(file);
        QVERIFY(test::says(to, QStringLiteral("is not a usable file of figure presets")));
        QCOMPARE(to.presets().own().size(), 1U);
    }

private:
    template <typename Widget>
    static Widget* find(const QDialog& dialog, const char* name)
    {
        for (Widget* widget : dialog.findChildren<Widget*>())
            if (widget->accessibleName() == QLatin1StringView(name))
                return widget;
        return nullptr;
    }
    static QAction* menuAction(const QDialog& dialog, const QString& words)
    {
        for (QAction* action : dialog.findChild<PresetMenu*>()->menu()->actions())
            if (action->text() == words)
                return action;
        return nullptr;
    }
    /// Triggers an action of the menu and answers its question with a name.
    static void trigger(const QDialog& dialog, const QString& words, const QString& name)
    {
        menuAction(dialog, words)->trigger();
        auto* question = dialog.findChild<QInputDialog*>();
        QVERIFY(question);
        question->setTextValue(name);
        question->accept();
        delete question;
    }

    HeatmapView m_view;
    LineChart m_chart;
};

HEADWISE_TEST(ExportDialogWordsTest)
#include "export_dialog_words_test.moc"
