#pragma once

#include "core/checkpoint/weight_map.h"

#include <QJsonObject>
#include <QTableWidget>

#include <memory>

class QComboBox;

namespace headwise::ui {

/// Choices of a row that are no part of a transformer, as a proposal writes them.
inline constexpr QLatin1String notAWeight("-"), unknownPart("?");

/// The roles of a row of a names map, as the table writes them: "blocks.{layer}.attn.W_Q + blocks.{layer}.attn.W_K".
QString joinedRoles(const QJsonValue& is);
QStringList rolesIn(const QString& joined); ///< Empty for the choices that are no part.

/// The kinds of tensors of a file with their shapes, and for each a part of the transformer and axes to choose.
class NamesTable : public QTableWidget {
    Q_OBJECT

public:
    enum class Mark { Fits, Open, Contradicts };

    explicit NamesTable(std::shared_ptr<const WeightMap> file, QWidget* parent = nullptr);

    void addRow(const QJsonObject& proposed);

    QString tensors(int row) const; ///< Name with {layer} and {head}.
    QString roles(int row) const;   ///< Joined, or one of the choices that are no part.
    QString axes(int row) const;
    const StoredTensor* first(int row) const; ///< Null if the file has no such tensor.
    QString doubt(int row) const;             ///< Reason to check the guess; empty once it is changed.
    void answer(int row, const QString& roles, const QString& axes);

    void mark(int row, Mark mark);
    QList<int> selectedRows() const;
    void selectRows(const QList<int>& rows);

signals:
    void changed();

private:
    QComboBox* createParts(const QString& name, const QString& roles);
    QComboBox* createAxes(const QString& name, const QString& axes);
    void selectOnChoice(const QComboBox* box, int row);

    std::shared_ptr<const WeightMap> m_file;
    QList<QJsonObject> m_proposed;     // one for each row
    QList<QComboBox*> m_parts, m_axes; // one for each row
};

} // namespace headwise::ui
