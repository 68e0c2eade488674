#pragma once

#include "core/base/result.h"
#include "core/results/figure_settings.h"

#include <QByteArray>
#include <QImage>
#include <QList>
#include <QRectF>
#include <QSizeF>
#include <QString>
#include <QStringList>

#include <functional>
#include <optional>
#include <utility>
#include <vector>

class QPainter;

namespace headwise::ui {

/// Everything needed to make a figure again: model, head, processing, scale, …, in the order in which it is written.
using Provenance = QList<std::pair<QString, QString>>;

/// The numbers of a matrix picture.
struct FigureArray {
    std::vector<std::size_t> shape;
    std::vector<float> values; // row-major, product of shape
};

/// Parts of a figure that can be edited for an export.
struct FigureParts {
    QString valueTitle = {};   ///< Automatic label of the colour bar; empty: there is none.
    QStringList series = {};   ///< Names of the series of a chart, in the order in which they are drawn.
    QStringList points = {};   ///< Names of the points that can be labelled.
    bool hasSelection = false; ///< The figure can mark the selection.
};

/// A view that can be exported as a figure and as numbers.
class FigureSource {
public:
    virtual ~FigureSource() = default;

    /// Paints the whole figure in the light theme, with one unit of `painter` being one point (1/72 inch).
    virtual void paintFigure(QPainter& painter, const QSizeF& size, const FigureStyle& style) const = 0;
    /// Says what a figure of that size leaves out for lack of room, a few words each; empty: nothing.
    virtual QStringList omissions(const QSizeF& /*size*/, const FigureStyle& /*style*/) const { return {}; }
    virtual FigureParts parts() const { return {}; }
    /// Returns the least height, in points, in which a figure of that width can be read; 0: any.
    virtual double leastHeight(double /*width*/, const FigureStyle& /*style*/) const { return 0; }
    /// Calls `writeRow` with the header and then with each displayed row of numbers, C locale.
    virtual void forEachDataRow(const std::function<void(const QStringList&)>& writeRow) const = 0;
    /// Returns the same numbers if they are a matrix; otherwise they are written as records.
    virtual std::optional<FigureArray> figureArray() const { return std::nullopt; }
    /// Returns the place of the data in a figure of that size, without labels and legends; nothing: it has none.
    virtual std::optional<QRectF> dataArea(const QSizeF& /*size*/, const FigureStyle& /*style*/) const
    {
        return std::nullopt;
    }

    void setFigureTitle(const QString& title) { m_title = title; } ///< "L10H7 full OV, processed".
    const QString& figureTitle() const { return m_title; }
    void setProvenance(const Provenance& provenance) { m_provenance = provenance; }
    const Provenance& provenance() const { return m_provenance; }
    /// Says what the colours of points, bands and brackets mean, which no bar does: a sentence of the caption.
    void setColorWords(const QString& sentence) { m_colorWords = sentence; }
    const QString& colorWords() const { return m_colorWords; }

private:
    QString m_title, m_colorWords;
    Provenance m_provenance;
};

/// Writes one line for the program's settings, the session and the clipboard. parseFigureSettings() reads it back as an
/// equal value.
QString text(const FigureSettings& settings);
/// Reads the line of text(). Parts it does not understand keep their defaults.
FigureSettings parseFigureSettings(const QString& line);
/// Returns settings that suit any figure.
FigureSettings withoutEdits(FigureSettings settings);
bool isFigureSettings(const QString& line); ///< Tells whether text() could have written the line.

QString suffixOf(FigureFormat format); ///< "png", …
Result<FigureFormat> figureFormatOf(const QString& fileName);

/// Returns the size of the page without the white margin that keeps lines and letters off its edge, in points.
QSizeF paintedSize(const FigureSettings& settings);

/// Returns the edited title, else the automatic one.
QString figureTitleOf(const FigureSource& source, const FigureStyle& style);
/// Returns the edited caption, else a sentence for the paper: content, model, processing and version.
QString figureCaption(const FigureSource& source, const FigureStyle& style = {});

/// A figure as it will be written. A plain value that any thread may write.
struct RenderedFigure {
    QByteArray bytes;               ///< Contents of the file; empty if `picture` holds them.
    QImage picture;                 ///< A PNG before compression.
    Provenance texts;               ///< Text chunks of the PNG.
    std::optional<QByteArray> data; ///< Contents of the data file beside it, if there is one.
};
/// Errors: InvalidArgument (an impossible size, a table too long to typeset), OutOfMemory (too many pixels).
Result<RenderedFigure> renderFigure(const FigureSource& source, const FigureSettings& settings);
/// Writes beside the target and renames, so that a failure leaves an old file untouched. Errors: Io naming the file and
/// the reason.
Result<Done> writeFigure(const RenderedFigure& figure, const QString& fileName);

/// Writes `source` to `fileName` in `settings.format`. Errors: those of renderFigure() and writeFigure().
Result<Done> exportFigure(const FigureSource& source, const QString& fileName,
                          const FigureSettings& settings);

/// Returns "fig.pdf", or if that exists "fig-2.pdf", "fig-3.pdf", …
QString nextFreeFileName(const QString& fileName);

/// Renders a preview of the figure at `dpi` device pixels per inch.
QImage figureImage(const FigureSource& source, const FigureSettings& settings, double dpi);

} // namespace headwise::ui
