#pragma once

#include "core/checkpoint/model_cache.h"
#include "ui/base/job.h"

#include <QDialog>

class QLabel;
class QLineEdit;
class QPushButton;
class QSortFilterProxyModel;
class QStandardItemModel;
class QTableView;

namespace headwise::ui {

/// The models in the Hugging Face cache, a row for each revision; the chosen one is opened.
class CacheDialog : public QDialog {
    Q_OBJECT

public:
    explicit CacheDialog(QWidget* parent = nullptr);

    QString folder() const; ///< The snapshot in the current row; empty without one.

protected:
    bool eventFilter(QObject* watched,
                     QEvent* event) override; ///< Lets the arrow keys of the filter move in the table.

private:
    void createTable();
    void showModels(const Result<std::vector<CachedModel>>& models);
    void addRow(const CachedModel& model, const CachedRevision& revision);
    void selectFirst();

    QLineEdit* m_filter;
    QStandardItemModel* m_models;
    QSortFilterProxyModel* m_found;
    QTableView* m_table;
    QLabel* m_words;
    QPushButton* m_open;
    Job m_job;
};

} // namespace headwise::ui
