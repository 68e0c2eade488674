#include "ui/pages/export/export_dialog.h"

#include "tests/support/dialog_driver.h"
#include "tests/support/program.h"

#include "ui/base/theme.h"
#include "ui/heatmaps/heatmap_view.h"

#include <QApplication>
#include <QCheckBox>
#include <QClipboard>
#include <QComboBox>
#include <QDoubleSpinBox>
#include <QFile>
#include <QLabel>
#include <QPlainTextEdit>
#include <QPushButton>
#include <QScreen>
#include <QSignalSpy>
#include <QTemporaryDir>
#include <QTest>

#include <algorithm>
#include <cmath>

using namespace headwise;
using namespace headwise::ui;

class ExportDialogTest : public QObject {
    Q_OBJECT

private slots:
    void initTestCase()
    {
        applyTheme(*qApp, ThemeMode::Light);
        m_view.setMatrix(std::make_shared<Eigen::MatrixXf>(Eigen::MatrixXf::Identity(3, 3)));
        m_view.setFigureTitle(QStringLiteral("L1H2 OV"));
    }

    void remembersWhatItWasGiven()
    {
        FigureSettings settings{.format = FigureFormat::Svg, .width = 100, .height = 50, .dpi = 150};
        settings.style.title = false;
        const ExportDialog dialog(&m_view, settings, QStringLiteral("fig"));
        QVERIFY(dialog.settings() == settings);
    }

    void aPresetSetsSizeAndFont()
    {
        ExportDialog dialog(&m_view, {}, QStringLiteral("fig"));
        QCOMPARE(figurePresets[0].width, 85.0);
        QCOMPARE(figurePresets[1].width, 178.0);
        dialog.applyPreset(2);
        QCOMPARE(dialog.settings().width, 254.0);
        QCOMPARE(dialog.settings().height, 142.9);
        QCOMPARE(dialog.settings().style.fontSize, 16.0);
    }

    /// Two layers of eight heads need no square page; a typed height stays.
    void aPresetIsAsHighAsTheViewNeeds()
    {
        HeatmapView grid;
        grid.setMatrix(std::make_shared<Eigen::MatrixXf>(Eigen::MatrixXf::Random(2, 8)));
        grid.setCellShape(HeatmapView::CellShape::Square);
        ExportDialog dialog(&grid, {}, QStringLiteral("fig"));
        const double fitted = dialog.settings().height;
        QVERIFY2(fitted > 15 && fitted < 45, qPrintable(QString::number(fitted)));
        QCOMPARE(dialog.settings().width, 85.0);
        QCOMPARE(dialog.remembered().height, 70.0); // the next view has another shape
        QVERIFY(named<QComboBox>(dialog, "Size")->currentText().startsWith(QStringLiteral("Single")));
        const QImage image = figureImage(grid, dialog.settings(), 100);
        int drawn = 0;
        for (int y = 0; y < image.height(); ++y)
            for (int x = 0; x < image.width(); ++x)
                if (image.pixel(x, y) != qRgb(255, 255, 255))
                    drawn = y;
        QVERIFY2(drawn > 0.85 * image.height(), qPrintable(QString::number(drawn)));
        named<QDoubleSpinBox>(dialog, "Height")->setValue(60);
        QCOMPARE(dialog.remembered().height, 60.0);
        dialog.applyPreset(0);
        QCOMPARE(dialog.settings().height, fitted);
        const ExportDialog typed(&grid, {.width = 85, .height = 60}, QStringLiteral("fig"));
        QCOMPARE(typed.settings().height, 60.0);
    }

    void theControlsChangeTheSettings()
    {
        ExportDialog dialog(&m_view, {}, QStringLiteral("fig"));
        const bool title = dialog.settings().style.title;
        for (QCheckBox* box : dialog.findChildren<QCheckBox*>())
            if (box->text() == QStringLiteral("Title"))
                box->click();
        QCOMPARE(dialog.settings().style.title, !title);
    }

    void lengthsAreAskedForInEitherUnitAndStayTheSame()
    {
        ExportDialog dialog(&m_view, {}, QStringLiteral("fig"));
        auto* width = named<QDoubleSpinBox>(dialog, "Width");
        auto* unit = named<QComboBox>(dialog, "Unit of length");
        QCOMPARE(width->value(), 85.0);
        choose(unit, 1);
        QCOMPARE(width->value(), 3.346);
        QCOMPARE(dialog.settings().width, 85.0); // Showing it in inches does not round it.
        width->setValue(2);
        QCOMPARE(dialog.settings().width, 50.8);
        choose(unit, 0);
        QCOMPARE(width->value(), 50.8);
        QCOMPARE(dialog.settings().height, 70.0);
    }

    void settingsAreCopiedAndPasted()
    {
        FigureSettings settings{.format = FigureFormat::Svg, .width = 33, .height = 44};
        settings.style = {{}, 7, 2.5, false, true, false};
        settings.transparent = true;
        ExportDialog from(&m_view, settings, QStringLiteral("fig"));
        test::press(from, QStringLiteral("Copy settings"));
        ExportDialog to(&m_view, {}, QStringLiteral("fig"));
        test::press(to, QStringLiteral("Paste settings"));
        QVERIFY(to.settings() == settings);
        QApplication::clipboard()->setText(QStringLiteral("nonsense"));
        test::press(to, QStringLiteral("Paste settings"));
        QVERIFY(to.settings() == settings);
        QVERIFY(test::says(to, QStringLiteral("no figure settings")));
    }

    void theCaptionIsShownAndCopied()
    {
        ExportDialog dialog(&m_view, {}, QStringLiteral("fig"));
        QCOMPARE(named<QPlainTextEdit>(dialog, "Caption")->toPlainText(), figureCaption(m_view));
        test::press(dialog, QStringLiteral("Copy caption"));
        QCOMPARE(QApplication::clipboard()->text(), figureCaption(m_view));
    }

    void theSheetHasItsTrueSizeOrSaysHowLargeItIs()
    {
        ExportDialog dialog(&m_view, {.width = 60, .height = 40}, QStringLiteral("fig"));
        dialog.show();
        const double physical = dialog.screen()->physicalDotsPerInch();
        const double dots = physical >= 50 && physical <= 600 ? physical : 96;
        const auto sheet = [&dialog] {
            return named<QLabel>(dialog, "Preview of the figure")->pixmap().deviceIndependentSize();
        };
        QTRY_VERIFY(std::abs(sheet().width() - 60 / 25.4 * dots) <= 1.5);
        QVERIFY(std::abs(sheet().height() - 40 / 25.4 * dots) <= 1.5);
        QVERIFY(test::says(dialog, QStringLiteral("100 %, true size")));
        dialog.applyPreset(3); // a poster
        QTRY_VERIFY(test::says(dialog, QStringLiteral("% of true size")));
        QVERIFY(sheet().width() < dialog.width());
        choose(named<QComboBox>(dialog, "Size of the preview"), 1);
        QTRY_VERIFY(std::abs(sheet().width() - 420 / 25.4 * dots) <= 2);
    }

    void thePreviewOfNumbersIsHowTheyBegin()
    {
        ExportDialog dialog(&m_view, {.format = FigureFormat::Csv}, QStringLiteral("fig"));
        dialog.show();
        const auto* data = named<QPlainTextEdit>(dialog, "Preview of the numbers");
        QTRY_VERIFY(data->isVisible() && data->toPlainText().endsWith(QStringLiteral("2,0,0,1\n")));
        QVERIFY(!named<QDoubleSpinBox>(dialog, "Width")->isEnabled());
    }

    void itClosesWhenItsPictureIsGone()
    {
        auto view = std::make_unique<HeatmapView>();
        view->setMatrix(m_view.matrix());
        ExportDialog dialog(view.get(), {}, QStringLiteral("fig"));
        dialog.show();
        connect(view.get(), &QObject::destroyed, &dialog, &ExportDialog::forgetSource);
        view.reset();
        QVERIFY(!dialog.isVisible());
        // The preview it waited for must not arrive before that of a dialog opened later.
        ExportDialog later(&m_view, {}, QStringLiteral("fig"));
        later.show();
        QTRY_VERIFY(!named<QLabel>(later, "Preview of the figure")->pixmap().isNull());
    }

    void thePreviewIsTheFigure()
    {
        ExportDialog dialog(&m_view, {}, QStringLiteral("fig"));
        dialog.show();
        QVERIFY(QTest::qWaitForWindowExposed(&dialog));
        const auto hasPreview = [&dialog] {
            for (const QLabel* label : dialog.findChildren<QLabel*>()) {
                const QImage image = label->pixmap().toImage();
                for (int y = 0; y < image.height(); ++y)
                    for (int x = 0; x < image.width(); ++x)
                        if (image.pixel(x, y) == colorOf(1, ColorScale{}))
                            return true;
            }
            return false;
        };
        QTRY_VERIFY(hasPreview());
    }

    void writesTheFileOrSaysWhyNot()
    {
        QTemporaryDir directory;
        ExportDialog dialog(&m_view, {}, QStringLiteral("fig"));
        QSignalSpy exported(&dialog, &ExportDialog::exported);
        dialog.show();
        dialog.exportTo(directory.filePath(QStringLiteral("no/such/fig.pdf")));
        QTRY_VERIFY(test::says(dialog, QStringLiteral("no/such/fig.pdf")));
        QVERIFY(dialog.isVisible());
        QCOMPARE(exported.count(), 0);
        const QString fileName = directory.filePath(QStringLiteral("fig.pdf"));
        dialog.exportTo(fileName);
        QTRY_COMPARE(exported.count(), 1);
        QVERIFY(QFile::exists(fileName));
        QVERIFY(!dialog.isVisible());
    }

private:
    template <typename Widget>
    static Widget* named(const QDialog& dialog, const char* name)
    {
        for (Widget* widget : dialog.findChildren<Widget*>())
            if (widget->accessibleName() == QLatin1StringView(name))
                return widget;
        return nullptr;
    }
    static void choose(QComboBox* box, int index)
    {
        box->setCurrentIndex(index);
        emit box->activated(index); // as a click does
    }

    HeatmapView m_view;
};

HEADWISE_TEST(ExportDialogTest)
#include "export_dialog_test.moc"
