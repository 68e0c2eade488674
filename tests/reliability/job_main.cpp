#include "tests/reliability/job_sequences.h"

#include <QCoreApplication>

// The jobs without the window, for ThreadSanitizer: headwise_job_sequences [COUNT [SEED]]

int main(int argc, char** argv)
{
    const QCoreApplication application(argc, argv);
    const QStringList arguments = QCoreApplication::arguments();
    const int count = arguments.value(1, QStringLiteral("10000")).toInt();
    return headwise::reliability::checkJobSequences(count, arguments.value(2, QStringLiteral("17")).toUInt(),
                                                    {})
        ? 0
        : 1;
}
