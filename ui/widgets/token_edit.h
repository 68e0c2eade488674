#pragma once

#include "core/model/head_id.h"
#include "core/tokenizer/tokenizer.h"
#include "ui/base/job.h"

#include <QLineEdit>
#include <QTimer>

#include <functional>
#include <memory>
#include <optional>
#include <vector>

class QCompleter;
class QStandardItemModel;

namespace headwise::ui {

class Workspace;

/// A line that finds tokens while one types: by their shown form, their raw text, #id or a regular expression between slashes;
/// where heads are offered, a head's name leads there.
class TokenEdit : public QLineEdit {
    Q_OBJECT

public:
    explicit TokenEdit(QWidget* parent = nullptr);

    void setTokenizer(std::shared_ptr<const Tokenizer> tokenizer); ///< Null: only #id is understood.
    void setVocabularySize(int size) { m_vocabularySize = size; }
    void follow(const Workspace* workspace); ///< The tokens of whatever is open, from now on.
    void offerHeads();                       ///< Of the model that it follows.

signals:
    void tokenChosen(int token);
    void headChosen(headwise::HeadId head);
    void notFound(const QString& message); ///< Enter was pressed on something that names no token.

private:
    using Ids = std::vector<int>;
    void search();
    void find(const std::function<void(const Result<Ids>&)>& done); ///< The tokens that the text may mean.
    void showMatches(const Result<Ids>& ids);
    void accept();
    std::optional<HeadId> headNamed() const; ///< By the text, of those offered.

    std::shared_ptr<const Tokenizer> m_tokenizer;
    int m_vocabularySize = 0;
    bool m_offersHeads = false;
    int m_layers = 0, m_heads = 0; // of the model
    QStandardItemModel* m_matches;
    QCompleter* m_completer;
    QTimer m_pause;
    Job m_job;
};

} // namespace headwise::ui
