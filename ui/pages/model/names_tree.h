#pragma once

#include <QTreeWidget>

#include <map>

namespace headwise::ui {

/// The tensors that a description gives to parts of the transformer.
struct GivenRoles {
    QString tensors; ///< Name with {layer} and {head}.
    QStringList roles;
    bool fits = true; ///< False if the description contradicts these tensors.
};

/// The parts that a transformer has. An assigned part is green and names its tensors; a missing one that the model needs is marked.
class NamesTree : public QTreeWidget {
    Q_OBJECT

public:
    explicit NamesTree(QWidget* parent = nullptr);

    void setGiven(const QList<GivenRoles>& given);
    void selectRoles(const QStringList& roles);       ///< Without rolesChosen().
    QStringList missing() const { return m_missing; } ///< Roles that no model can do without, unassigned.

signals:
    void rolesChosen(const QStringList& roles); ///< All those of a group that is chosen.

private:
    enum class State { Absent, Fits, Missing, Contradicts };

    QTreeWidgetItem* group(const QString& path);
    void showRole(QTreeWidgetItem* item, State state, const QString& tensors);
    void showGroups(QTreeWidgetItem* parent);
    QStringList rolesUnder(const QTreeWidgetItem* item) const;

    std::map<QString, QTreeWidgetItem*> m_groups; // by path
    std::map<QString, QTreeWidgetItem*> m_roles;
    QStringList m_missing;
};

} // namespace headwise::ui
