#include "app/window/remote.h"

#include "core/base/log.h"
#include "core/files/utf8.h"
#include "ui/base/text.h"

#include <QCoreApplication>
#include <QDir>
#include <QFileInfo>
#include <QJsonArray>
#include <QJsonDocument>
#include <QJsonObject>
#include <QLocalSocket>
#include <QLockFile>

#include <chrono>
#include <cstdlib>

#include <sys/socket.h>
#include <unistd.h>

namespace headwise::app {
namespace {

using namespace std::chrono_literals;
using ui::text;

constexpr int protocolVersion = 1;
constexpr qint64 longestMessage = 64LL * 1024;
constexpr int longestPath = 4096;
constexpr int mostPaths = 64;
constexpr auto patienceOfServer = 2s; ///< Longest wait for a client that sends nothing.
constexpr auto retryInterval = 3s;

Error remoteWrong(const char* what)
{
    return Error{ErrorCode::InvalidArgument, std::string("The request cannot be read: ") + what + "."};
}

/// Whether the kernel says that the other end runs as this user.
bool isOfThisUser(const QLocalSocket& socket)
{
    ucred peer{};
    socklen_t size = sizeof peer;
    return getsockopt(static_cast<int>(socket.socketDescriptor()), SOL_SOCKET, SO_PEERCRED, &peer, &size) == 0
        && peer.uid == geteuid();
}

QByteArray lineOf(const QJsonObject& object)
{
    return QJsonDocument(object).toJson(QJsonDocument::Compact) + '\n';
}

QByteArray messageOf(const WindowRequest& request)
{
    QJsonObject message{{QStringLiteral("headwise"), protocolVersion},
                        {QStringLiteral("display"), displayName()}};
    QJsonArray paths;
    for (const std::filesystem::path& path : request.toOpen)
        paths << QFileInfo(text(path.string())).absoluteFilePath();
    message[QStringLiteral("open")] = paths;
    if (request.address) {
        Address address = *request.address;
        address.model = QFileInfo(text(address.model.string())).absoluteFilePath().toStdString();
        message[QStringLiteral("goto")] = text(addressText(address));
    }
    return lineOf(message);
}

/// The answer of the running headwise; nothing where it is none of ours, or too busy to answer.
std::optional<Result<Done>> answered(QLocalSocket& socket)
{
    while (!socket.canReadLine())
        if (!socket.waitForReadyRead(3000))
            return std::nullopt;
    const QJsonObject answer = QJsonDocument::fromJson(socket.readLine(longestMessage)).object();
    const QString what = answer[QStringLiteral("answer")].toString();
    if (what == QLatin1String("done"))
        return Done{};
    if (what == QLatin1String("refused"))
        return Error{ErrorCode::InvalidArgument, answer[QStringLiteral("message")].toString().toStdString()};
    return std::nullopt;
}

} // namespace

QString displayName()
{
    for (const char* name : {"WAYLAND_DISPLAY", "DISPLAY"})
        if (const QString value = qEnvironmentVariable(name); !value.isEmpty())
            return value;
    return qEnvironmentVariable("QT_QPA_PLATFORM");
}

QString remoteFolder()
{
    const QFileInfo runtime(qEnvironmentVariable("XDG_RUNTIME_DIR"));
    const auto others = QFile::WriteGroup | QFile::WriteOther;
    if (!runtime.filePath().isEmpty() && runtime.isAbsolute() && runtime.isDir()
        && runtime.ownerId() == geteuid() && !(runtime.permissions() & others))
        return runtime.filePath();
    return text(stateFolder().string());
}

std::optional<Result<Done>> passToRunningWindow(const WindowRequest& request)
{
    if (request.newWindow || request.fresh || !request.screenshot.empty()
        || (request.toOpen.empty() && !request.address))
        return std::nullopt;
    QLocalSocket socket;
    socket.connectToServer(remoteFolder() + QStringLiteral("/headwise-window"));
    if (!socket.waitForConnected(500) || !isOfThisUser(socket))
        return std::nullopt;
    socket.write(messageOf(request));
    if (!socket.waitForBytesWritten(1000))
        return std::nullopt;
    return answered(socket);
}

Result<RemoteRequest> parseRemoteRequest(const QByteArray& line)
{
    if (line.size() > longestMessage)
        return remoteWrong("it is longer than 64 KiB");
    if (firstInvalidUtf8({line.constData(), static_cast<std::size_t>(line.size())}))
        return remoteWrong("it is not UTF-8");
    const QJsonDocument document = QJsonDocument::fromJson(line);
    if (!document.isObject())
        return remoteWrong("it is not a JSON object");
    const QJsonObject message = document.object();
    if (message[QStringLiteral("headwise")].toInt() != protocolVersion)
        return remoteWrong("it comes from another version of headwise");
    RemoteRequest request;
    request.display = message[QStringLiteral("display")].toString();
    const QJsonArray paths = message[QStringLiteral("open")].toArray();
    if (paths.size() > mostPaths)
        return remoteWrong("it opens more than 64 files");
    for (const auto& value : paths) {
        const QString path = value.toString();
        if (!QDir::isAbsolutePath(path) || path.size() > longestPath || path.contains(QChar(0)))
            return remoteWrong("a file to open is not an absolute path");
        request.toOpen << path;
    }
    if (!message.contains(QStringLiteral("goto")))
        return request;
    Result<Address> address = parseAddress(message[QStringLiteral("goto")].toString().toStdString());
    if (!address)
        return address.error();
    if (!address->model.is_absolute())
        return remoteWrong("the address does not have an absolute path");
    request.address = std::move(address).value();
    return request;
}

RemoteServer::RemoteServer(Handler handler, QObject* parent)
    : QObject(parent)
    , m_handler(std::move(handler))
    , m_path(remoteFolder() + QStringLiteral("/headwise-window"))
    , m_lock(std::make_unique<QLockFile>(m_path + QStringLiteral(".lock")))
{
    QDir().mkpath(remoteFolder());
    m_lock->setStaleLockTime(0); // stale when its process is gone, however old it is
    m_server.setSocketOptions(QLocalServer::UserAccessOption);
    m_server.setMaxPendingConnections(16);
    connect(&m_server, &QLocalServer::newConnection, this, &RemoteServer::accept);
    m_retry.setInterval(retryInterval);
    connect(&m_retry, &QTimer::timeout, this, &RemoteServer::listen);
    m_retry.start();
    listen();
}

RemoteServer::~RemoteServer() = default;

void RemoteServer::listen()
{
    if (!m_lock->isLocked() && !m_lock->tryLock(0))
        return; // another one listens
    m_retry.stop();
    QLocalServer::removeServer(m_path); // left by one that was killed
    if (!m_server.listen(m_path))
        logWarning("no other headwise can reach this one: " + m_server.errorString().toStdString());
}

void RemoteServer::accept()
{
    while (QLocalSocket* socket = m_server.nextPendingConnection()) {
        socket->setParent(this);
        socket->setReadBufferSize(longestMessage + 1);
        connect(socket, &QLocalSocket::disconnected, socket, &QObject::deleteLater);
        if (!isOfThisUser(*socket)) {
            socket->abort();
            continue;
        }
        connect(socket, &QLocalSocket::readyRead, this, [this, socket] { read(socket); });
        QTimer::singleShot(patienceOfServer, socket, [socket] { socket->disconnectFromServer(); });
        read(socket);
    }
}

void RemoteServer::read(QLocalSocket* socket)
{
    if (!socket->canReadLine() && socket->bytesAvailable() <= longestMessage)
        return; // the rest is under way
    const QByteArray line = socket->readLine(longestMessage + 2);
    QJsonObject answer{{QStringLiteral("answer"), QStringLiteral("done")}};
    const Result<RemoteRequest> request = parseRemoteRequest(line);
    const Result<Answer> done = request ? m_handler(*request) : Result<Answer>(request.error());
    if (!done) {
        logWarning("refused a request of another headwise: " + done.error().message);
        answer = {{QStringLiteral("answer"), QStringLiteral("refused")},
                  {QStringLiteral("message"), text(done.error())}};
    } else if (*done == Answer::Declined) {
        answer = {{QStringLiteral("answer"), QStringLiteral("declined")}};
    }
    socket->disconnect(this); // one request each
    socket->write(lineOf(answer));
    socket->disconnectFromServer();
}

} // namespace headwise::app
