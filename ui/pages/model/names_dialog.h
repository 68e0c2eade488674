#pragma once

#include "core/checkpoint/weight_map.h"
#include "core/model/architecture.h"

#include <QDialog>
#include <QJsonObject>

#include <memory>

class QLabel;
class QPushButton;

namespace headwise::ui {

class NamesTable;
class NamesTree;

/// Describes a model whose tensors have names of their own: each kind of tensor gets a part of the transformer and its axes. A tree
/// of these parts shows which ones are assigned. Saving writes the names map beside the weights, or into the user's folder if that
/// is not possible.
class NamesDialog : public QDialog {
    Q_OBJECT

public:
    NamesDialog(const ModelSource& source, std::shared_ptr<const WeightMap> file, QWidget* parent = nullptr);

    const ModelSource& source() const { return m_source; }

protected:
    void changeEvent(QEvent* event) override;

private:
    std::string map() const; ///< As JSON.
    QString doubts() const;  ///< The doubtful rows that are still as proposed, and why.
    void linkSelections();
    void showState();
    void markRows(const QString& problem);
    void save();

    ModelSource m_source;
    std::shared_ptr<const WeightMap> m_file;
    QJsonObject m_proposal; ///< Everything but the rows stays as it was proposed.
    NamesTree* m_tree;
    NamesTable* m_table;
    QLabel* m_state;
    QPushButton* m_save;
};

} // namespace headwise::ui
