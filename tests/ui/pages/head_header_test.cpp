#include "ui/pages/head_header.h"

#include "tests/support/opened_page.h"
#include "ui/head_metrics.h"
#include "ui/text.h"

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
            const auto results = opened.workspace.results();
            return results->find(path) && results->find("spectra/ov/frobenius_norm");
        };
        QTRY_VERIFY_WITH_TIMEOUT(isThere(), patience);
        const HeadId head{1, 5};
        opened.workspace.setHead(head);
        const QString rank =
            QStringLiteral("<b>%1</b>").arg(number(metricAt(*opened.workspace.results()->find(path), head)));
        QLabel* line = nullptr;
        for (QLabel* label : opened.page.findChildren<QLabel*>())
            if (label->text().contains(rank))
                line = label;
        QVERIFY(line);
        QVERIFY(!line->text().endsWith(u'…'));
        QVERIFY(!line->toolTip().contains(rank));
        const QString all = line->accessibleDescription();
        QVERIFY(all.contains(QStringLiteral("‖OV‖ ")) && all.contains(QStringLiteral("eff. rank OV ")));
        opened.page.resize(300, 60);
        QTRY_VERIFY(line->text().endsWith(u'…'));
        QVERIFY(!line->text().contains(rank));
        QVERIFY(line->toolTip().contains(rank));
        QVERIFY(line->toolTip().contains(QStringLiteral("‖QK‖</span>")));
        QCOMPARE(line->accessibleDescription(), all);
        opened.page.resize(1600, 60);
        QTRY_VERIFY(line->text().contains(rank));
        QVERIFY(!line->toolTip().contains(rank));
    }
};

QTEST_MAIN(HeadHeaderTest)
#include "head_header_test.moc"
