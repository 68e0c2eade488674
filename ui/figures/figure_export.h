#pragma once

#include "core/base/result.h"

#include <QByteArray>
#include <QImage>
#include <QList>
#include <QSizeF>
#include <QString>
#include <QStringList>

#include <functional>
#include <optional>
#include <utility>
#include <vector>

class QPainter;

namespace headwise::ui {

/// Facts needed to make a figure again: model, head, processing, scale, …, in the order in which they are written.
using Provenance = QList<std::pair<QString, QString>>;

/// How a figure on paper differs from the same view in the window.
struct FigureStyle {
    QString fontFamily = {}; ///< Empty: the program's.
    double fontSize = 8;     // points
    double lineWidth = 1;    // points, of curves; hairlines follow
    bool title = true;
    bool colorBar = true;
    bool axes = true; ///< Ticks, labels and titles of the axes.

    bool operator==(const FigureStyle&) const = default;
};

/// The numbers of a picture of a matrix.
struct FigureArray {
    std::vector<std::size_t> shape;
    std::vector<float> values; // row-major, product of shape
};

/// A view that can be taken away as a figure and as its numbers.
class FigureSource {
public:
    virtual ~FigureSource() = default;

    /// Paints the whole figure, one unit of `painter` being one point (1/72 inch), in the light theme.
    virtual void paintFigure(QPainter& painter, const QSizeF& size, const FigureStyle& style) const = 0;
    /// Calls `writeRow` with the header and then with each row of the numbers shown, C locale.
    virtual void forEachDataRow(const std::function<void(const QStringList&)>& writeRow) const = 0;
    /// The same numbers where they are a matrix; else they are written as records.
    virtual std::optional<FigureArray> figureArray() const { return std::nullopt; }

    void setFigureTitle(const QString& title) { m_title = title; } ///< "L10H7 full OV, processed".
    const QString& figureTitle() const { return m_title; }
    void setProvenance(const Provenance& provenance) { m_provenance = provenance; }
    const Provenance& provenance() const { return m_provenance; }

private:
    QString m_title;
    Provenance m_provenance;
};

enum class FigureFormat { Png, Svg, Pdf, Csv, Tsv, Npy, Latex, Markdown };
bool isData(FigureFormat format); ///< The numbers, no picture.

enum class FigureBackground { White, Transparent };
enum class LengthUnit { Millimetres, Inches };

/// A size, a resolution and a style, remembered as a whole.
struct FigureSettings {
    FigureFormat format = FigureFormat::Pdf;
    double width = 85;             // mm
    double height = 70;            // mm
    int dpi = 300;                 ///< PNG only.
    bool dataBeside = false;       ///< Also the numbers, as NAME.csv.
    bool provenanceInData = false; ///< Lines starting with "# " before the header; RFC 4180 has no comments.
    FigureStyle style = {};
    FigureBackground background = FigureBackground::White;
    LengthUnit unit = LengthUnit::Millimetres; ///< In which the sizes are asked for.

    bool operator==(const FigureSettings&) const = default;
};

/// One line for the program's settings, the session and the clipboard; reads back as an equal value.
QString text(const FigureSettings& settings);
/// Reads the line of text(). Parts it does not understand keep their defaults: a figure's settings are a convenience.
FigureSettings parseFigureSettings(const QString& line);
bool isFigureSettings(const QString& line); ///< Whether text() could have written it.

QString suffixOf(FigureFormat format); ///< "png", …
/// The format that the name's ending asks for. Errors: InvalidArgument, listing the endings we write.
Result<FigureFormat> figureFormatOf(const QString& fileName);

/// A sentence for the paper: what is shown, of which model, processed how, made with which version.
QString figureCaption(const FigureSource& source);

/// A figure as it will be in its file; a value that any thread may write.
struct RenderedFigure {
    QByteArray bytes;               ///< Contents of the file; empty while `picture` holds them.
    QImage picture;                 ///< PNG, not yet packed.
    Provenance texts;               ///< Text chunks of the PNG.
    std::optional<QByteArray> data; ///< Contents of the data file beside it; none: no such file.
};
/// Errors: InvalidArgument (a size that makes no picture, a table too long to be set in type), OutOfMemory (too many pixels).
Result<RenderedFigure> renderFigure(const FigureSource& source, const FigureSettings& settings);
/// Beside it and renamed, so that a failure leaves an old file as it was. Errors: Io naming the file and the reason.
Result<Done> writeFigure(const RenderedFigure& figure, const QString& fileName);

/// Writes `source` to `fileName` in `settings.format`. Errors: those of renderFigure() and writeFigure().
Result<Done> exportFigure(const FigureSource& source, const QString& fileName,
                          const FigureSettings& settings);

/// "fig.pdf", or where that exists "fig-2.pdf", "fig-3.pdf", …
QString nextFreeFileName(const QString& fileName);

/// The figure as it will look, `dpi` device pixels per inch.
QImage figureImage(const FigureSource& source, const FigureSettings& settings, double dpi);
/// The figure at its resolution and its SVG, for the clipboard.
void copyFigure(const FigureSource& source, const FigureSettings& settings);
/// The numbers as text, for the clipboard. `format` is one of text: Csv, Tsv, Latex, Markdown.
/// Errors: InvalidArgument (a table too long to be set in type).
Result<Done> copyData(const FigureSource& source, FigureFormat format);

} // namespace headwise::ui
