#pragma once

#include "core/model/head_id.h"

#include <QDialog>

#include <chrono>
#include <vector>

class QComboBox;
class QLabel;
class QLineEdit;
class QPushButton;

namespace headwise::app {

/// Dialog that chooses the heads whose pictures are exported, and the folder.
class ExportHeadsDialog : public QDialog {
    Q_OBJECT

public:
    struct Model {
        int layers, heads;
        HeadId selected;
        std::chrono::milliseconds perFigure{}; ///< Estimated time for one figure.
    };

    /// \param example example of a file name
    ExportHeadsDialog(const Model& model, const QString& example, const QString& folder,
                      QWidget* parent = nullptr);

    const std::vector<HeadId>& heads() const { return m_chosen; }
    QString folder() const;

private:
    void chooseFolder();
    void update(); ///< Updates the chosen heads, the message and the button.

    Model m_model;
    QString m_example;
    std::vector<HeadId> m_chosen;
    QComboBox* m_heads;
    QLineEdit* m_folder;
    QLabel* m_message;
    QPushButton* m_start;
};

} // namespace headwise::app
