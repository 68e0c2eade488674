#include "core/session/session.h"
#include "core/session/views.h"
#include "core/tokenizer/model_tokenizer.h"
#include "tests/support/every_input.h"
#include "tests/support/matchers.h"
#include "tests/support/pdf_page.h"
#include "tests/support/program.h"
#include "ui/base/text.h"
#include "ui/base/theme.h"
#include "ui/figures/figure_export.h"
#include "ui/figures/figure_metadata.h"
#include "ui/pictures/described_figure.h"
#include "ui/widgets/table_figure.h"

#include <QApplication>
#include <QTemporaryDir>
#include <QTest>

#include <algorithm>
#include <cmath>
#include <map>
#include <memory>

using namespace headwise;
using namespace headwise::ui;
using test::PdfPage;
using test::PdfText;

namespace {

constexpr double promised = 8, leastSize = 6, tolerance = 0.01; // points
constexpr double edge = 2;                                      // points that stay white

bool isAlong(const PdfText& text)
{
    return std::abs(text.end.x() - text.begin.x()) > std::abs(text.end.y() - text.begin.y());
}

/// Returns the box of a text in the promised size about the same middle, with the space between lines.
QRectF grownBox(const PdfText& text)
{
    constexpr double line = 1.43; // of the box
    const double factor = promised / text.size;
    const QSizeF size(text.box.width() * factor * (isAlong(text) ? 1 : line),
                      text.box.height() * factor * (isAlong(text) ? line : 1));
    QRectF grown(QPointF(), size);
    grown.moveCenter(text.box.center());
    return grown;
}

/// Tells whether a text is the script of a larger one, at whose end it stands.
bool isScript(const PdfText& text, const PdfPage& page)
{
    return std::ranges::any_of(page.texts, [&text](const PdfText& other) {
        const QPointF step = text.begin - other.end;
        return other.size > text.size + tolerance && std::hypot(step.x(), step.y()) < 0.5 * other.size;
    });
}

/// Returns the texts of a size below the promised one of which none lacks the room for it; empty: there are none.
QString shrunkWithoutNeed(const PdfPage& page)
{
    std::map<int, std::vector<const PdfText*>> sizes; // in hundredths of a point
    for (const PdfText& text : page.texts)
        if (text.size < promised - tolerance && !isScript(text, page))
            sizes[qRound(100 * text.size)].push_back(&text);
    const QRectF room = QRectF(QPointF(), page.size).adjusted(edge, edge, -edge, -edge);
    for (const auto& [size, texts] : sizes) {
        bool isNeeded = false;
        for (const PdfText* text : texts) {
            const QRectF grown = grownBox(*text);
            isNeeded = isNeeded || !room.contains(grown)
                || std::ranges::any_of(page.texts, [&](const PdfText& other) {
                           const bool isAlike = std::abs(other.size - text->size) < tolerance;
                           return &other != text && grown.intersects(isAlike ? grownBox(other) : other.box);
                       });
        }
        if (!isNeeded)
            return QStringLiteral("'%1' has %2 pt and room for %3 pt")
                .arg(texts.front()->text)
                .arg(texts.front()->size)
                .arg(promised);
    }
    return {};
}

/// The first fault of the type of a page; empty: none.
QString faultOfType(const PdfPage& page)
{
    const QRectF paper = QRectF(QPointF(), page.size);
    double largest = 0;
    for (const PdfText& text : page.texts) {
        largest = std::max(largest, text.size);
        if (text.size < leastSize - tolerance || text.size > promised + tolerance)
            return QStringLiteral("'%1' has %2 pt").arg(text.text).arg(text.size);
        if (!paper.contains(text.box))
            return QStringLiteral("'%1' is not on the page, but at %2, %3 to %4, %5")
                .arg(text.text)
                .arg(text.box.left())
                .arg(text.box.top())
                .arg(text.box.right())
                .arg(text.box.bottom());
    }
    if (largest < promised - tolerance)
        return QStringLiteral("the largest of %1 texts has %2 pt").arg(page.texts.size()).arg(largest);
    return shrunkWithoutNeed(page);
}

/// The first text that ends with an ellipsis; empty: none.
QString cutText(const PdfPage& page)
{
    const auto isCut = [](const PdfText& text) { return text.text.size() > 1 && text.text.endsWith(u'…'); };
    const auto cut = std::ranges::find_if(page.texts, isCut);
    return cut == page.texts.end() ? QString() : QStringLiteral("'%1' is cut").arg(cut->text);
}

QString faultOfPdf(const FigureSource& figure, double width)
{
    constexpr double perMillimetre = 72 / 25.4;
    const FigureSettings settings{
        .format = FigureFormat::Pdf, .width = width, .height = width < 100 ? 70.0 : 100.0};
    const Result<RenderedFigure> pdf = renderFigure(figure, settings);
    if (!pdf)
        return text(pdf.error().message);
    const PdfPage page = test::readPdfPage(pdf->bytes);
    if (std::abs(page.size.width() - settings.width * perMillimetre) > 1
        || std::abs(page.size.height() - settings.height * perMillimetre) > 1)
        return QStringLiteral("the page has %1 × %2 pt").arg(page.size.width()).arg(page.size.height());
    if (!page.unread.isEmpty())
        return QStringLiteral("its text is set by ") + text(page.unread.toStdString());
    const bool isTable = dynamic_cast<const TableFigure*>(&figure) != nullptr;
    if (const QString cut = isTable ? cutText(page) : QString(); !cut.isEmpty())
        return cut;
    return faultOfType(page);
}

} // namespace

/// Sizes and places of the type of every view that the demo has, and uncut tables, read back from its PDFs. Each function takes the analyses of a
/// share of the catalogue, so that parts of the test run side by side.
class FigureSizesTest : public QObject {
    Q_OBJECT

private:
    static constexpr std::size_t shares = 6;
    static constexpr HeadId shownHead{1, 5}, otherHead{0, 1};

    Session m_session;
    QTemporaryDir m_folder;
    int m_drawn = 0, m_again = 0;

    static std::optional<HeadId> headIf(bool ofHead)
    {
        return ofHead ? std::optional(shownHead) : std::nullopt;
    }

    /// Computes the share and adds a row for each of its views, as a whole and at a head, and for each width.
    void addViews(std::size_t share)
    {
        QTest::addColumn<QString>("view");
        QTest::addColumn<bool>("ofHead");
        QTest::addColumn<double>("width");
        static const Circuits circuits = test::circuitsOf(HEADWISE_DEMO_MODEL);
        const auto tokenizer = openModelTokenizer(circuits.weights().original().file());
        QVERIFY(test::isOk(tokenizer));
        AnalysisOptions options = test::everyInput(circuits.config(), {otherHead, shownHead});
        options.inputs.tokenizer = std::make_shared<const Tokenizer>(*tokenizer);
        options.inputs.prompt = {300, 310, 320, 330, 340, 350, 300, 310, 320, 330, 340, 350};
        const std::vector<std::string> all = test::fittingAnalyses(circuits.config(), options);
        std::vector<std::string> analyses, names;
        for (std::size_t i = share; i < all.size(); i += shares) {
            analyses.push_back(all[i]);
            for (const Picture& picture : findAnalysis(all[i])->pictures)
                names.push_back(all[i] + ": " + picture.title);
        }
        m_session =
            makeSession(circuits.weights(), "raw", &*tokenizer, test::analysed(circuits, analyses, options));
        for (const ViewDescription& view : viewsOf(m_session))
            names.push_back(view.name);
        std::ranges::sort(names);
        names.erase(std::unique(names.begin(), names.end()), names.end());
        int rows = 0;
        for (const std::string& name : names)
            for (const bool ofHead : {false, true}) {
                const Result<View> view = viewOf(m_session, name, headIf(ofHead));
                if (!view || view->dimensions < 1 || view->dimensions > 2)
                    continue;
                ++rows;
                for (const double width : {85.0, 170.0})
                    QTest::addRow("%s%s, %.0f mm", name.c_str(), ofHead ? " of a head" : "", width)
                        << text(name) << ofHead << width;
            }
        QVERIFY2(rows > 10, qPrintable(QString::number(rows)));
    }

    /// Returns the page of a description, as SVG. \param pdf also written, if it has a name
    QByteArray pageOf(const FigureDescription& description, const QString& pdf)
    {
        const auto figure = DescribedFigure::make(description, m_session);
        if (!figure)
            return {};
        (*figure)->addRecipe(description, {});
        const auto svg = renderFigure((*figure)->page(), figureSettings(description, FigureFormat::Svg));
        const bool isWritten = pdf.isEmpty()
            || exportFigure((*figure)->page(), pdf, figureSettings(description, FigureFormat::Pdf));
        return svg && isWritten ? svg->bytes : QByteArray();
    }

    /// The description in the metadata of a view's PDF makes the same figure. Views of several pictures are drawn by their arrays.
    void checkAgain(const View& view)
    {
        FigureDescription first;
        first.session = "s.h5";
        first.panels = {{.view = view.name,
                         .head = view.head ? dottedHead(*view.head) : std::string(),
                         .row = 1,
                         .column = 1}};
        const QString file = m_folder.filePath(QStringLiteral("view.pdf"));
        const QByteArray drawn = pageOf(first, file);
        if (drawn.isEmpty())
            return;
        const Result<Provenance> lines = figureMetadata(file);
        QVERIFY(test::isOk(lines));
        QString json;
        for (const auto& [key, value] : *lines)
            if (key == QLatin1StringView(figureDescriptionKey))
                json = value;
        const auto again = parseFigureDescription(json.toStdString(), "view.pdf");
        QVERIFY(test::isOk(again));
        QCOMPARE(pageOf(*again, {}), drawn);
        ++m_again;
    }

    void checkView()
    {
        QFETCH(const QString, view);
        QFETCH(const bool, ofHead);
        QFETCH(const double, width);
        const Result<View> drawn = viewOf(m_session, view.toStdString(), headIf(ofHead));
        QVERIFY(test::isOk(drawn));
        if (width < 100)
            checkAgain(*drawn);
        const std::unique_ptr<PictureBody> body(newPictureBody(drawn->picture.kind, {}, nullptr));
        PictureContext context = paperContext(m_session, drawn->head);
        context.reference = otherHead;
        body->setContext(context);
        body->showPicture(pictureData(drawn->picture, context.results));
        const auto figures = body->figures();
        for (const auto& [widget, name] : figures) {
            auto* figure = dynamic_cast<FigureSource*>(widget);
            QVERIFY(figure);
            figure->setFigureTitle(text(drawn->picture.title + " (" + drawn->subtitle + ")"));
            const QString fault = faultOfPdf(*figure, width);
            QVERIFY2(fault.isEmpty(), qPrintable(fault));
            ++m_drawn;
        }
    }

private slots:
    void initTestCase() { applyTheme(*qApp, ThemeMode::Light); }
    void cleanupTestCase() { QVERIFY(m_drawn > 0 && m_again > m_drawn / 4); }

    void typeOfTheFirstShare_data() { addViews(0); }
    void typeOfTheFirstShare() { checkView(); }
    void typeOfTheSecondShare_data() { addViews(1); }
    void typeOfTheSecondShare() { checkView(); }
    void typeOfTheThirdShare_data() { addViews(2); }
    void typeOfTheThirdShare() { checkView(); }
    void typeOfTheFourthShare_data() { addViews(3); }
    void typeOfTheFourthShare() { checkView(); }
    void typeOfTheFifthShare_data() { addViews(4); }
    void typeOfTheFifthShare() { checkView(); }
    void typeOfTheSixthShare_data() { addViews(5); }
    void typeOfTheSixthShare() { checkView(); }
};

HEADWISE_TEST(FigureSizesTest)
#include "figure_sizes_test.moc"
