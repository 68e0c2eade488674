#pragma once

#include "core/checkpoint/tensor_statistics.h"
#include "ui/pages/parts/page.h"

#include <filesystem>
#include <memory>
#include <mutex>
#include <optional>
#include <utility>
#include <vector>

class QLabel;
class QLineEdit;
class QPushButton;
class QSortFilterProxyModel;

namespace headwise::ui {

class TableFigure;
class TensorDetail;
class TensorTableModel;

/// Every tensor of the checkpoint as stored: a table with statistics, and histogram and picture of the selected one.
///
/// Up to two gigabytes are read when the page is first shown, row by row; larger files on request. The selected tensor is
/// always read.
class TensorsPage : public Page {
    Q_OBJECT

public:
    explicit TensorsPage(Workspace* workspace, QWidget* parent = nullptr);

    /// Explains why this page has nothing to show for the open model or session; empty if it has.
    static QString whyNot(const Workspace& workspace);

    /// Shows a file of which no model is open, whatever the workspace has open.
    void showLoneFile(const std::filesystem::path& path);
    /// The same in a window over a dialog that asks about the file.
    static void showFileOver(Workspace* workspace, const std::filesystem::path& path, QWidget* over);

    ViewFields viewFields() override;
    QList<FigureSource*> figures() override;

private:
    /// Statistics that a running job hands over.
    struct Mailbox {
        std::mutex mutex;
        std::vector<std::pair<int, std::optional<TensorStatistics>>> fresh;
    };

    QWidget* createTable();
    void connectSignals();
    void recompute() override;
    void forgetFile();
    void showFile(std::shared_ptr<const WeightMap> file);
    void fitColumns();
    void readAll();
    void collect(); ///< Moves the mailbox's contents into the table.
    void finishReading(const Result<Done>& result);
    int currentTensor() const; ///< Index in the file; −1: none.
    void select(const QString& name);
    void showTensor();
    QString tensorName(int tensor) const;
    Provenance storedProvenance() const;

    std::shared_ptr<const WeightMap> m_file; // file whose tensors are shown; null without one
    bool m_isLone = false;                   // it is not that of the workspace's model
    std::shared_ptr<Mailbox> m_mailbox;
    TensorTableModel* m_model;
    QLineEdit* m_search;
    QLabel* m_summary;
    QPushButton* m_read;
    TableFigure* m_table;
    QSortFilterProxyModel* m_sorted = nullptr; // proxy of the table
    QLabel* m_state;
    TensorDetail* m_detail;
    QString m_wanted; // name of the tensor to select once it exists
    Job m_openJob, m_allJob;
};

} // namespace headwise::ui
