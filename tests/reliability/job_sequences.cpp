#include "tests/reliability/job_sequences.h"

#include "ui/base/job.h"

#include <QCoreApplication>
#include <QElapsedTimer>
#include <QThread>

#include <array>
#include <atomic>
#include <cstdio>
#include <memory>
#include <random>
#include <string>
#include <utility>
#include <vector>

namespace headwise::reliability {

namespace {

using ui::Job;

constexpr qint64 mostMilliseconds = 1000; // to close during any job
constexpr int pageCount = 3;

/// The question of a page: it must show the answer for the current model and theme.
struct Question {
    int model = 0;
    int theme = 0;
    int number = 0; ///< Number of the page's start.

    bool operator==(const Question&) const = default;
};

enum class Kind { Quick, Failing, Throwing, Long, Counting };

/// The numbers that a job reads on its thread, as those of a model.
using Numbers = std::shared_ptr<const std::vector<int>>;

Result<Question> answer(Kind kind, const Question& question, const Numbers& numbers, const Task& task)
{
    int sum = 0;
    for (const int number : *numbers)
        sum += number;
    if (sum != question.model * static_cast<int>(numbers->size()))
        return Error{ErrorCode::Internal, "the numbers are those of another model"};
    switch (kind) {
    case Kind::Quick: return question;
    case Kind::Failing: return Error{ErrorCode::NotFound, "There is no such head."};
    case Kind::Throwing: throw std::bad_alloc();
    case Kind::Long:
        for (int step = 0; !task.cancelled(); ++step) {
            task.report(step % 100, 100, "heads");
            QThread::usleep(200);
        }
        return stopped();
    case Kind::Counting:
        for (int step = 0; step <= 20; ++step) {
            if (task.cancelled())
                return stopped();
            task.report(step, 20, "heads");
            QThread::usleep(50);
        }
        return question;
    }
    return question;
}

/// Counts of faults over all pages.
struct Faults {
    int stale = 0;    ///< Answers to an outdated question.
    int unpaired = 0; ///< Ends without a start, or starts without an end.
    int wrong = 0;    ///< Answers that no work produced.
    int slow = 0;     ///< Closings that took too long.

    int all() const { return stale + unpaired + wrong + slow; }
};

/// A page with one job, which starts again when the model or the theme changes.
class AskingPage {
public:
    AskingPage(std::mt19937& random, Faults& faults, const JobSurroundings& surroundings)
        : m_random(random)
        , m_faults(faults)
    {
        QObject::connect(&m_job, &Job::started, &m_job, [this] {
            ++m_open;
            meddle();
        });
        QObject::connect(&m_job, &Job::finished, &m_job, [this] {
            m_faults.unpaired += --m_open < 0;
            meddle();
        });
        if (surroundings.show)
            surroundings.show(m_job);
    }
    ~AskingPage() { m_isClosed = true; }
    AskingPage(const AskingPage&) = delete;
    AskingPage& operator=(const AskingPage&) = delete;

    void ask(int model, int theme)
    {
        m_asked = {model, theme, m_asked.number + 1};
        m_isAsked = true;
        const auto kind = static_cast<Kind>(m_random() % 5);
        const auto numbers = std::make_shared<const std::vector<int>>(50, model);
        m_job.start(
            QStringLiteral("Asking"),
            [kind, numbers, question = m_asked](const Task& task) {
                return answer(kind, question, numbers, task);
            },
            [this, kind, question = m_asked](const Result<Question>& result) {
                hear(kind, question, result);
            });
    }

    void cancel()
    {
        m_job.cancel();
        if (!m_job.isRunning())
            m_isAsked = false;
    }

    bool isPaired() const { return m_open == (m_job.isRunning() ? 1 : 0); }

private:
    void hear(Kind kind, const Question& question, const Result<Question>& result)
    {
        m_faults.stale += m_isClosed || !m_isAsked || question != m_asked;
        const ErrorCode expected = kind == Kind::Failing ? ErrorCode::NotFound : ErrorCode::OutOfMemory;
        const bool isAnswer = kind == Kind::Quick || kind == Kind::Counting;
        m_faults.wrong +=
            isAnswer ? !result || *result != question : result || result.error().code != expected;
        m_isAsked = false;
    }

    /// In a slot: sometimes cancels the job that sent the signal, or starts another question.
    void meddle()
    {
        if (m_depth > 2 || m_random() % 12 != 0)
            return;
        ++m_depth;
        m_random() % 2 == 0 ? cancel() : ask(m_asked.model, m_asked.theme);
        --m_depth;
    }

    std::mt19937& m_random;
    Faults& m_faults;
    Question m_asked;
    bool m_isAsked = false; ///< Started, and neither answered nor cancelled.
    bool m_isClosed = false;
    int m_open = 0; ///< Starts without an end.
    int m_depth = 0;
    Job m_job;
};

/// One window: pages on a model.
class Window {
public:
    Window(std::mt19937& random, Faults& faults, const JobSurroundings& surroundings)
        : m_random(random)
        , m_faults(faults)
        , m_surroundings(surroundings)
    {
        for (auto& page : m_pages)
            page = made();
    }

    void step()
    {
        auto& page = m_pages[m_random() % pageCount];
        switch (m_random() % 10) {
        case 0:
        case 1:
        case 2: return page->ask(m_model, m_theme); // starts, or supersedes
        case 3: return page->cancel();
        case 4: // closes the page and opens it again
            page = made();
            return;
        case 5: ++m_model; return askAll();
        case 6:
            ++m_theme;
            if (m_surroundings.changeTheme)
                m_surroundings.changeTheme(m_theme);
            return askAll();
        case 7: return QThread::usleep(m_random() % 2000);
        default: QCoreApplication::processEvents();
        }
    }

    /// Closes everything in the middle of its work. \returns milliseconds until nothing runs any more
    qint64 close()
    {
        QElapsedTimer timer;
        timer.start();
        for (auto& page : m_pages) {
            m_faults.unpaired += !page->isPaired();
            page.reset();
        }
        m_faults.slow += !ui::waitForJobs(std::chrono::milliseconds(mostMilliseconds));
        const qint64 elapsed = timer.elapsed();
        QCoreApplication::processEvents(); // a stale answer would be in the queue by now
        m_faults.unpaired += !ui::JobBoard::instance().running().isEmpty();
        return elapsed;
    }

private:
    std::unique_ptr<AskingPage> made()
    {
        return std::make_unique<AskingPage>(m_random, m_faults, m_surroundings);
    }
    void askAll()
    {
        for (auto& page : m_pages)
            page->ask(m_model, m_theme);
    }

    std::mt19937& m_random;
    Faults& m_faults;
    const JobSurroundings& m_surroundings;
    std::array<std::unique_ptr<AskingPage>, pageCount> m_pages;
    int m_model = 1;
    int m_theme = 0;
};

} // namespace

bool checkJobSequences(int count, unsigned seed, const JobSurroundings& surroundings)
{
    std::mt19937 random(seed);
    Faults faults;
    qint64 longest = 0;
    int sequence = 0;
    QElapsedTimer timer;
    timer.start();
    for (; sequence < count && faults.all() == 0; ++sequence) {
        Window window(random, faults, surroundings);
        for (auto steps = 5 + random() % 20; steps > 0; --steps)
            window.step();
        longest = std::max(longest, window.close());
    }
    const bool isGood = faults.all() == 0;
    std::printf(
        "%-6s %6d  sequences of start, cancel, supersede, close, model and theme change on jobs: stale %d, unpaired %d, wrong %d, slow %d; longest closing %lld ms; %lld s\n",
        isGood ? "good" : "FAILED", sequence, faults.stale, faults.unpaired, faults.wrong, faults.slow,
        static_cast<long long>(longest), static_cast<long long>(timer.elapsed() / 1000));
    std::fflush(stdout);
    return isGood;
}

} // namespace headwise::reliability
