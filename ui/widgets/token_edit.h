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

/// A line that finds tokens while the user types: by shown form, raw text, #id or a regular expression between slashes.
/// Text that is no single token offers the tokens it is made of. With offerHeads(), a head's name leads to that head.
class TokenEdit : public QLineEdit {
    Q_OBJECT

public:
    explicit TokenEdit(QWidget* parent = nullptr);

    void setTokenizer(std::shared_ptr<const Tokenizer> tokenizer); ///< Null: only #id is understood.
    void setVocabularySize(int size) { m_vocabularySize = size; }
    /// Uses the tokens of the workspace's current model from now on.
    void follow(const Workspace* workspace);
    void offerHeads(); ///< Offers the heads of the model it follows.

signals:
    void tokenChosen(int token);
    void headChosen(headwise::HeadId head);
    void notFound(const QString& message); ///< Enter was pressed on text that names no token.

private:
    struct Found {
        std::vector<int> ids;    ///< Tokens that the text may mean.
        std::vector<int> pieces; ///< Tokens that it is made of, if it is no single one.
    };
    void search();
    /// Finds the tokens that the text may mean.
    void find(const std::function<void(const Result<Found>&)>& done);
    void showMatches(const Result<Found>& found);
    void appendToken(int id);
    void appendPieces(const std::vector<int>& pieces);
    QString piecesText(const std::vector<int>& pieces) const; ///< "␣Paris, ian"
    void accept();
    std::optional<HeadId> headNamed() const; ///< The head named by the text, if it is offered.

    std::shared_ptr<const Tokenizer> m_tokenizer;
    int m_vocabularySize = 0;
    bool m_offersHeads = false;
    int m_layers = 0, m_heads = 0; // sizes of the model
    QStandardItemModel* m_matches;
    QCompleter* m_completer;
    QTimer m_pause;
    Job m_job;
};

} // namespace headwise::ui
