#pragma once

#include "tests/support/opened_page.h"
#include "ui/document/array_part.h"
#include "ui/document/head_metrics.h"
#include "ui/pages/analyses/result_page.h"
#include "ui/pages/analyses/text_inputs.h"

#include <QComboBox>
#include <QLabel>
#include <QPushButton>
#include <QTemporaryDir>

#include <memory>

namespace headwise::test {

/// Drives the page of analyses with models and sessions.
class ResultPageDriver {
protected:
    QTemporaryDir m_folder;
    std::unique_ptr<ui::Workspace> m_workspace;
    std::unique_ptr<ui::ResultPage> m_page;

    QLabel* labelled(const QString& name) const
    {
        for (auto* file : m_page->findChildren<ui::InputFile*>())
            if (file->accessibleName() == name)
                return file->findChild<QLabel*>();
        return nullptr;
    }

    QLabel* labelThatSays(const QString& words) const ///< Null: none does.
    {
        for (QLabel* label : m_page->findChildren<QLabel*>())
            if (label->isVisible() && label->text().contains(words))
                return label;
        return nullptr;
    }

    bool says(const QString& words) const { return labelThatSays(words); }

    /// Whether nothing of the label is cut off, neither by what it is in nor by itself.
    static bool isInSight(const QLabel* label)
    {
        return label->visibleRegion() == QRegion(label->rect())
            && label->heightForWidth(label->width()) <= label->height();
    }

    QPushButton* button(const QString& words) const ///< Null: there is none.
    {
        for (QPushButton* one : m_page->findChildren<QPushButton*>())
            if (one->text() == words)
                return one;
        return nullptr;
    }

    void open(const std::filesystem::path& path)
    {
        m_page.reset();
        m_workspace = std::make_unique<ui::Workspace>();
        m_page = std::make_unique<ui::ResultPage>(m_workspace.get());
        m_page->resize(1100, 800);
        m_page->show();
        if (path.extension() == ".h5")
            m_workspace->opener()->openSession(path);
        else
            m_workspace->opener()->openModel({path, {}, {}});
        QTRY_VERIFY(m_workspace->model()->isOpen());
    }

    void openDemo()
    {
        open(HEADWISE_DEMO_MODEL);
        QTRY_VERIFY(m_workspace->model()->results()->find("composition/k"));
        m_workspace->selection()->setReference(HeadId{0, 1});
        m_workspace->selection()->setHead({1, 5});
    }

    template <typename Field>
    Field* field(const QString& name) const
    {
        for (Field* one : m_page->findChildren<Field*>())
            if (one->accessibleName() == name)
                return one;
        return nullptr;
    }

    static void choose(QComboBox* box, const QString& words)
    {
        box->setCurrentIndex(box->findText(words));
        emit box->activated(box->currentIndex());
    }

    const ResultArray* array(const std::string& path) { return m_workspace->model()->results()->find(path); }

    template <typename View>
    View* view(const QString& name)
    {
        for (View* one : m_page->findChildren<View*>())
            if (one->accessibleName() == name)
                return one;
        return nullptr;
    }

    void run(std::string_view id)
    {
        m_page->showAnalysis(id);
        m_page->run();
        QTRY_VERIFY(ui::isComputed(m_page->analysis(), *m_workspace->model()->results())
                    && !m_workspace->runs()->job()->isRunning());
        QCoreApplication::processEvents(); // draws what is in sight
    }
};

} // namespace headwise::test
