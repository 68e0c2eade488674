#pragma once

#include "core/checkpoint/weight_map.h"
#include "core/model/architecture.h"

#include <QDialog>
#include <QJsonObject>

#include <memory>
#include <optional>

class QHBoxLayout;
class QLabel;
class QLineEdit;
class QPushButton;

namespace headwise::ui {

class NamesChoice;
class NamesTable;
class NamesTree;
class NamesTrial;
struct NamesAnswer;

/// Describes a model whose tensors have names of their own: each kind of tensor gets a part of the transformer and its axes. A tree
/// of these parts shows which ones are assigned, and a prompt can be run. Saving writes the names map beside the weights, or into
/// the user's folder if that is not possible.
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
    QHBoxLayout* createFacts();
    void linkSelections();
    QJsonObject facts() const; ///< Typed ones, and the place of norms behind their parts.
    void ask();                ///< Asks what is open about the selected row.
    void take(const NamesAnswer& answer);
    QStringList todo() const; ///< Sentences on rows without a part and parts without a row.
    void showState();
    void markRows(const QString& problem);
    void save();

    ModelSource m_source;
    std::shared_ptr<const WeightMap> m_file;
    QJsonObject m_proposal; ///< Everything but the rows stays as it was proposed.
    NamesTree* m_tree;
    NamesTable* m_table;
    NamesChoice* m_choice;
    std::optional<bool> m_normsTheSum; ///< Answer of the user; none: unless there are norms before the parts.
    QLineEdit* m_facts;
    NamesTrial* m_trial;
    QLabel* m_state;
    QPushButton* m_save;
};

} // namespace headwise::ui
