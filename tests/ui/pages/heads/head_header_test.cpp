#include "ui/pages/heads/head_header.h"

#include "tests/support/opened_page.h"
#include "tests/support/program.h"
#include "ui/base/text.h"
#include "ui/document/head_metrics.h"

#include <QLabel>

using namespace headwise;
using namespace headwise::test;
using namespace headwise::ui;

class HeadHeaderTest : public QObject {
    Q_OBJECT

private slots:
    void whatHasNoRoomIsSaidOnHover()
    {
        OpenedPage<HeadHeader> opened(HEADWISE_DEMO_MODEL, {1600, 60});
        const std::string path = "spectra/ov/effective_rank"; // not in two short lines
        const auto isThere = [&] {
            const auto results = opened.workspace.model()->results();
            return results->find(path) && results->find("spectra/ov/frobenius_norm");
        };
        QTRY_VERIFY(isThere());
        const HeadId head{1, 5};
        opened.workspace.selection()->setHead(head);
        const QString value = number(metricAt(*opened.workspace.model()->results()->find(path), head));
        const QString rank = QStringLiteral("<b>%1</b>").arg(value);
        const QString hovered = QStringLiteral("eff. rank OV ") + value; // no markup there
        QLabel* line = nullptr;
        for (QLabel* label : opened.page.findChildren<QLabel*>())
            if (label->text().contains(rank))
                line = label;
        QVERIFY(line);
        QVERIFY(!line->text().endsWith(u'…'));
        QVERIFY(!line->toolTip().contains(hovered));
        const QString all = line->accessibleDescription();
        QVERIFY(all.contains(QStringLiteral("‖OV‖ ")) && all.contains(QStringLiteral("eff. rank OV ")));
        opened.page.resize(300, 60);
        QTRY_VERIFY(line->text().endsWith(u'…'));
        QVERIFY(!line->text().contains(rank));
        QVERIFY(line->toolTip().contains(hovered));
        QVERIFY(line->toolTip().contains(QStringLiteral("‖QK‖ ")));
        QCOMPARE(line->accessibleDescription(), all);
        opened.page.resize(1600, 60);
        QTRY_VERIFY(line->text().contains(rank));
        QVERIFY(!line->toolTip().contains(hovered));
    }

    /// An entry too long for the rest of the lines does not hide those after it.
    void onlyWhatDoesNotFitIsLeftOut()
    {
        OpenedPage<HeadHeader> opened(HEADWISE_DEMO_MODEL, {1800, 60});
        const auto line = [&]() -> QLabel* {
            for (QLabel* label : opened.page.findChildren<QLabel*>())
                if (label->text().contains(QStringLiteral("‖OV‖")))
                    return label;
            return nullptr;
        };
        QTRY_VERIFY(line() && line()->text().count(QStringLiteral("<a href")) == 3
                    && line()->text().contains(QStringLiteral("previous")));
        QVERIFY(line()->text().contains(QStringLiteral("eff.&nbsp;rank&nbsp;OV")));
        bool someAreLeftOut = false;
        for (int width = 1700; width > 700; width -= 20) {
            opened.page.resize(width, 60);
            QTRY_VERIFY(line());
            const QString shown = line()->text();
            const qsizetype near = shown.count(QStringLiteral("<a href"));
            const bool hasLast = shown.contains(QStringLiteral("matching"))
                && shown.contains(QStringLiteral("previous&nbsp;token"));
            someAreLeftOut =
                someAreLeftOut || (near > 0 && near < 3 && shown.contains(QStringLiteral("‖QK‖")));
            QCOMPARE(shown.endsWith(u'…'), near < 3 || !hasLast);
        }
        QVERIFY(someAreLeftOut);
    }
};

HEADWISE_TEST(HeadHeaderTest)
#include "head_header_test.moc"
