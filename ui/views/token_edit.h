#pragma once

#include "core/io/tokenizer.h"
#include "ui/job.h"

#include <QLineEdit>
#include <QTimer>

#include <memory>
#include <vector>

class QCompleter;
class QStandardItemModel;

namespace headwise::ui {

class Workspace;

/// A line that finds tokens while one types: by their shown form, their raw text or #id.
class TokenEdit : public QLineEdit {
    Q_OBJECT

public:
    explicit TokenEdit(QWidget* parent = nullptr);

    void setTokenizer(std::shared_ptr<const Tokenizer> tokenizer); ///< Null: only #id is understood.
    void setVocabularySize(int size) { m_vocabularySize = size; }
    void follow(const Workspace* workspace); ///< The tokens of whatever is open, from now on.

signals:
    void tokenChosen(int token);
    void notFound(const QString& message); ///< Enter was pressed on something that names no token.

private:
    void search();
    void showMatches(const std::vector<int>& ids);
    void accept();

    std::shared_ptr<const Tokenizer> m_tokenizer;
    int m_vocabularySize = 0;
    QStandardItemModel* m_matches;
    QCompleter* m_completer;
    QTimer m_pause;
    Job m_job;
};

} // namespace headwise::ui
