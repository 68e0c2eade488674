#include "tests/support/pdf_page.h"

#include "tests/support/program.h"

#include <QBuffer>
#include <QPainter>
#include <QPdfWriter>
#include <QTest>

#include <cmath>

using namespace headwise::test;

namespace {

/// A page of 200 × 100 points with texts whose sizes and places are known.
QByteArray knownPdf()
{
    QByteArray bytes;
    QBuffer buffer(&bytes);
    buffer.open(QIODevice::WriteOnly);
    QPdfWriter writer(&buffer);
    writer.setPageSize(QPageSize(QSizeF(200, 100), QPageSize::Point));
    writer.setPageMargins({});
    writer.setResolution(72);
    QPainter painter(&writer);
    QFont font;
    font.setPointSizeF(8);
    painter.setFont(font);
    painter.drawText(QPointF(10, 20), QStringLiteral("a plain text"));
    painter.save();
    painter.translate(50, 60);
    painter.rotate(-90);
    painter.drawText(QPointF(0, 0), QStringLiteral("up"));
    painter.scale(0.5, 0.5);
    painter.drawText(QPointF(0, 40), QStringLiteral("half"));
    painter.restore();
    font.setPointSizeF(12);
    painter.setFont(font);
    painter.drawText(QPointF(195, 90), QStringLiteral("over the edge"));
    return bytes;
}

bool isNear(const QPointF& place, const QPointF& expected)
{
    return std::hypot(place.x() - expected.x(), place.y() - expected.y()) < 0.1;
}

} // namespace

/// The reader of PDFs by which figures are tested.
class PdfPageTest : public QObject {
    Q_OBJECT

private slots:
    void sizesAndPlacesAreThoseThatWerePainted()
    {
        const PdfPage page = readPdfPage(knownPdf());
        QCOMPARE(page.size, QSizeF(200, 100));
        QCOMPARE(page.unread, QByteArray());
        QCOMPARE(page.texts.size(), 4U);
        const std::vector<std::pair<QString, double>> expected{{QStringLiteral("a plain text"), 8},
                                                               {QStringLiteral("up"), 8},
                                                               {QStringLiteral("half"), 4},
                                                               {QStringLiteral("over the edge"), 12}};
        for (std::size_t i = 0; i < expected.size(); ++i) {
            QCOMPARE(page.texts[i].text, expected[i].first);
            QVERIFY2(std::abs(page.texts[i].size - expected[i].second) < 0.01,
                     qPrintable(QString::number(page.texts[i].size)));
        }
        QVERIFY(isNear(page.texts[0].begin, {10, 20}));
        QVERIFY(isNear(page.texts[1].begin, {50, 60}));
        QVERIFY(
            isNear(page.texts[2].begin, {70, 60})); // 40 half points to the right of the line that goes up
    }

    void textRunsInItsDirectionAsFarAsItIsLong()
    {
        const PdfPage page = readPdfPage(knownPdf());
        const PdfText &plain = page.texts[0], &up = page.texts[1];
        QVERIFY(plain.end.y() == plain.begin.y() && plain.end.x() > 30 && plain.end.x() < 90);
        QVERIFY(std::abs(up.end.x() - up.begin.x()) < 1e-6 && up.end.y() < 56);
        QVERIFY(plain.box.top() > 12 && plain.box.top() < 16 && plain.box.bottom() > 20);
        QVERIFY(up.box.left() < 46 && up.box.right() > 50);
        const QRectF paper(QPointF(), page.size);
        QVERIFY(paper.contains(plain.box) && paper.contains(up.box));
        QVERIFY(!paper.contains(page.texts[3].box));
    }

    void anotherFileHasNoPage()
    {
        QVERIFY(readPdfPage({}).size.isEmpty());
        QVERIFY(readPdfPage("%PDF-1.4\nstartxref\n7\n%%EOF\n").size.isEmpty());
        QVERIFY(readPdfPage(knownPdf().chopped(40)).size.isEmpty());
    }
};

HEADWISE_TEST(PdfPageTest)
#include "pdf_page_test.moc"
