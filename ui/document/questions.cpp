#include "ui/document/questions.h"

#include <QCoreApplication>

#include <algorithm>
#include <array>
#include <charconv>
#include <string_view>

namespace headwise::ui {

namespace {

struct QuestionRow {
    Question question;
    const char* title;
    std::string_view letters; ///< First letters of the catalogue numbers of its analyses.
};

constexpr std::array questionRows{
    QuestionRow{Question::Findings, "", ""},
    QuestionRow{Question::ReadsAndWrites, QT_TRANSLATE_NOOP("Questions", "Reads and writes"), "ABE"},
    QuestionRow{Question::WhereItLooks, QT_TRANSLATE_NOOP("Questions", "Where it looks"), "CG"},
    QuestionRow{Question::WhoTalksToWhom, QT_TRANSLATE_NOOP("Questions", "Who talks to whom"), "D"},
    QuestionRow{Question::Comparison, QT_TRANSLATE_NOOP("Questions", "Compare"), "F"},
    QuestionRow{Question::TheModel, QT_TRANSLATE_NOOP("Questions", "The model"), "HI"},
};

/// Returns the letter and the first count of "A6, A7": A and 6.
std::pair<char, int> orderOf(const Analysis& analysis)
{
    const std::string_view number = analysis.number;
    if (number.empty())
        return {'Z', 0};
    int count = 0;
    std::from_chars(number.data() + 1, number.data() + number.size(), count);
    return {number.front(), count};
}

} // namespace

QString questionTitle(Question question)
{
    const auto row = std::ranges::find(questionRows, question, &QuestionRow::question);
    return *row->title ? QCoreApplication::translate("Questions", row->title) : QString();
}

Question questionOf(const Analysis& analysis)
{
    if (analysis.isAboutModel)
        return Question::TheModel;
    const char letter = orderOf(analysis).first;
    const auto row = std::ranges::find_if(questionRows, [letter](const QuestionRow& candidate) {
        return candidate.letters.find(letter) != std::string_view::npos;
    });
    return row == questionRows.end() ? Question::TheModel : row->question;
}

std::vector<std::pair<QString, std::vector<const Analysis*>>> analysesByQuestion()
{
    std::vector<std::pair<QString, std::vector<const Analysis*>>> groups;
    for (const QuestionRow& row : questionRows) {
        std::vector<const Analysis*> found;
        for (const Analysis& analysis : catalogue())
            if (questionOf(analysis) == row.question)
                found.push_back(&analysis);
        std::stable_sort(found.begin(), found.end(),
                         [](const Analysis* a, const Analysis* b) { return orderOf(*a) < orderOf(*b); });
        if (!found.empty())
            groups.emplace_back(questionTitle(row.question), std::move(found));
    }
    return groups;
}

} // namespace headwise::ui
