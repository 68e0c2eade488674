// On every page of models of several kinds, parts lie beside each other and words are whole, inside pictures too.

#include "core/analysis/catalogue.h"
#include "tests/support/every_page.h"
#include "tests/support/painted_texts.h"
#include "tests/support/program.h"
#include "tests/support/window_driver.h"
#include "ui/base/text.h"
#include "ui/pages/analyses/result_page.h"

#include <QLabel>
#include <QRegularExpression>
#include <QSplitter>
#include <QStackedLayout>

using namespace headwise;
using namespace headwise::ui;
using test::WindowDriver;

namespace {

/// Adds the visible widgets of a layout and of the layouts in it.
void addParts(const QLayout& layout, QList<const QWidget*>& parts)
{
    for (int i = 0; i < layout.count(); ++i) {
        QLayoutItem* item = layout.itemAt(i);
        if (const QWidget* widget = item->widget(); widget && widget->isVisible())
            parts << widget;
        if (const QLayout* inner = item->layout())
            addParts(*inner, parts);
    }
}

/// Returns the parts of a widget that should be beside or below each other.
QList<const QWidget*> partsOf(const QWidget& whole)
{
    QList<const QWidget*> parts;
    if (const auto* splitter = qobject_cast<const QSplitter*>(&whole))
        for (int i = 0; i < splitter->count(); ++i)
            parts << splitter->widget(i);
    if (const QLayout* layout = whole.layout(); layout && !qobject_cast<const QStackedLayout*>(layout))
        addParts(*layout, parts);
    parts.removeIf([](const QWidget* part) { return !part->isVisible(); });
    return parts;
}

QString nameOf(const QWidget& part)
{
    const auto* label = qobject_cast<const QLabel*>(&part);
    const QRect at = part.geometry();
    return QStringLiteral("%1 \"%2\" (%3 to %4)")
        .arg(QLatin1String(part.metaObject()->className()), label ? label->text() : part.accessibleName())
        .arg(at.top())
        .arg(at.bottom());
}

/// Returns the pairs of parts that cover each other, anywhere in the widget.
QStringList coveredParts(const QWidget& whole)
{
    QStringList found;
    for (const QWidget* widget : whole.findChildren<QWidget*>() + QList{const_cast<QWidget*>(&whole)}) {
        if (!widget->isVisible())
            continue;
        const QList<const QWidget*> parts = partsOf(*widget);
        for (qsizetype a = 0; a < parts.size(); ++a)
            for (qsizetype b = a + 1; b < parts.size(); ++b)
                if (parts[a]->geometry().intersects(parts[b]->geometry()))
                    found << QStringLiteral("%1 covers %2").arg(nameOf(*parts[a]), nameOf(*parts[b]));
    }
    return found;
}

/// Returns the words that have less room than they need, anywhere in the widget. Words that are shortened on purpose end with "…".
QStringList cutWords(const QWidget& whole)
{
    QStringList found;
    for (const QLabel* label : whole.findChildren<QLabel*>()) {
        if (!label->isVisible() || label->text().isEmpty() || label->text().endsWith(u'…'))
            continue;
        const QSize room = label->size();
        const bool isCut = label->wordWrap() ? room.height() < label->heightForWidth(room.width())
                                             : room.width() < label->minimumSizeHint().width();
        if (isCut)
            found << nameOf(*label);
    }
    for (const auto* button : whole.findChildren<QAbstractButton*>())
        if (button->isVisible() && button->width() < button->minimumSizeHint().width())
            found << QStringLiteral("%1 \"%2\"")
                         .arg(QLatin1String(button->metaObject()->className()), button->text());
    return found;
}

/// Whether the letters of two texts overlap, or two numbers of a scale stand so close that they read as one.
bool runTogether(const test::PaintedText& a, const test::PaintedText& b)
{
    constexpr qreal slant =
        1; // px: letters of slanted or raised text may reach this far into each other's extent.
    constexpr qreal apart = 3; // px
    static const QRegularExpression number(QStringLiteral("^[−\\d.]+$"));
    const bool areNumbers = number.match(a.words).hasMatch() && number.match(b.words).hasMatch();
    const QRectF one =
        areNumbers ? a.ink.adjusted(-apart, 0, apart, 0) : a.ink.adjusted(slant, slant, -slant, -slant);
    return one.intersects(b.ink);
}

/// Returns the texts inside pictures that run into each other or leave their picture.
QStringList crowdedTexts(const QWidget& whole)
{
    QStringList found;
    for (QWidget* picture : whole.findChildren<QWidget*>()) {
        const QString name = QLatin1String(picture->metaObject()->className());
        if (!picture->isVisible() || !name.startsWith(QStringLiteral("headwise::")))
            continue;
        test::TextCollector paper(picture->size());
        picture->render(&paper, {}, {}, QWidget::RenderFlags());
        const std::vector<test::PaintedText>& texts = paper.texts();
        for (std::size_t a = 0; a < texts.size(); ++a) {
            if (!QRectF(picture->rect()).adjusted(-1, -1, 1, 1).contains(texts[a].ink))
                found << QStringLiteral("%1: \"%2\" is cut").arg(name, texts[a].words);
            for (std::size_t b = a + 1; b < texts.size(); ++b)
                if (runTogether(texts[a], texts[b]))
                    found << QStringLiteral("%1: \"%2\" touches \"%3\"")
                                 .arg(name, texts[a].words, texts[b].words);
        }
    }
    return found;
}

/// Returns what is covered or cut on the page, each with its name.
QStringList faultsOf(const QWidget& page, const QString& name)
{
    QStringList faults;
    const auto isGood = [&] {
        return (faults = coveredParts(page) + cutWords(page) + crowdedTexts(page)).isEmpty();
    };
    if (QTest::qWaitFor(isGood, 5000)) // Layouts follow each other; nothing is computed.
        return {};
    return faults.replaceInStrings(QRegularExpression(QStringLiteral("^")), name + QStringLiteral(": "));
}

} // namespace

class PageLayoutTest : public QObject {
    Q_OBJECT

private slots:
    void initTestCase() { test::beginWithOwnSettings(m_folder); }

    void everyPage_data()
    {
        QTest::addColumn<QString>("model");
        QTest::addColumn<QSize>("size");
        const QString demo = QStringLiteral(HEADWISE_DEMO_MODEL),
                      models = QStringLiteral(HEADWISE_TEST_DATA "/models/");
        QTest::newRow("demo, 1024 x 640") << demo << QSize(1024, 640);
        QTest::newRow("demo, 1360 x 860") << demo << QSize(1360, 860);
        QTest::newRow("rotary, 1024 x 640") << models + QStringLiteral("stories260k") << QSize(1024, 640);
        QTest::newRow("one layer, 1024 x 640") << models + QStringLiteral("modadd-1l") << QSize(1024, 640);
    }

    void everyPage()
    {
        QFETCH(QString, model);
        QFETCH(QSize, size);
        WindowDriver driver;
        driver.window.resize(size);
        driver.window.openPath(model);
        QTRY_VERIFY(driver.workspace().model()->isOpen());
        QVERIFY(test::hasNoJob());
        driver.workspace().selection()->setReference(HeadId{0, 1});
        QStringList all;
        test::visitAllPages(driver, [&](const QString& name) { all << faultsOf(*driver.page(), name); });
        QVERIFY2(all.isEmpty(), qPrintable(all.join(u'\n')));
        test::discardNotes(driver.window);
    }

    void everyAnalysis()
    {
        WindowDriver driver;
        driver.window.resize(1024, 640);
        driver.openDemo();
        driver.workspace().selection()->setReference(HeadId{0, 1});
        driver.window.showPage(QStringLiteral("analyses"));
        auto* page = dynamic_cast<ResultPage*>(driver.page());
        QStringList all;
        for (const Analysis& analysis : catalogue()) {
            page->showAnalysis(analysis.id);
            page->run();
            QVERIFY(test::hasNoJob());
            all << faultsOf(*page, text(analysis.title));
        }
        QVERIFY2(all.isEmpty(), qPrintable(all.join(u'\n')));
        test::discardNotes(driver.window);
    }

private:
    QTemporaryDir m_folder;
};

HEADWISE_TEST(PageLayoutTest)
#include "page_layout_test.moc"
