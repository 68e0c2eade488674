#include "ui/pages/parts/model_line.h"

#include "ui/base/text.h"
#include "ui/document/workspace.h"

#include <QLocale>
#include <QStringList>

namespace headwise::ui {

namespace {

QString normWords(const std::string& normalization)
{
    if (normalization == "none")
        return QObject::tr("no norms");
    const QString kind =
        normalization.starts_with("RMS") ? QStringLiteral("RMSNorm") : QStringLiteral("LayerNorm");
    return normalization.ends_with("Pre") ? QObject::tr("%1 without weights").arg(kind) : kind;
}

QString positionWords(const std::string& positional)
{
    if (positional == "none")
        return QObject::tr("no positions");
    return positional == "alibi" ? QStringLiteral("ALiBi")
                                 : QObject::tr("%1 positions").arg(text(positional));
}

} // namespace

QString modelDataSize(double bytes)
{
    return QLocale().formattedDataSize(static_cast<qint64>(bytes), 1, QLocale::DataSizeSIFormat);
}

QString modelLine(const Workspace& workspace)
{
    const ModelCard& card = workspace.model()->card();
    QStringList words{QObject::tr("%1 × %2 heads").arg(card.nLayers).arg(card.nHeads)};
    if (workspace.model()->isSeries()) // nothing else is known
        return QStringList{words.first(), text(card.architecture)}.join(QStringLiteral(", "));
    if (card.nKvHeads != card.nHeads)
        words << QObject::tr("%1 KV heads").arg(card.nKvHeads);
    words << QObject::tr("d %1").arg(card.dModel) << normWords(card.normalization)
          << positionWords(card.positional);
    if (const auto weights = workspace.model()->weights())
        words << (weights->config().tiedEmbeddings ? QObject::tr("tied embeddings")
                                                   : QObject::tr("untied embeddings"))
              << modelDataSize(static_cast<double>(weights->file().fileBytes()));
    return words.join(QStringLiteral(", "));
}

} // namespace headwise::ui
