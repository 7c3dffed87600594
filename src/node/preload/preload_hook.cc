#include "node/preload/preload_hook.h"

#include <array>
#include <cstdint>
#include <string_view>
#include <vector>

namespace dlaunch {

namespace {

// Python before 3.8 has no os.memfd_create; its ranks start as usual. The last line imports the
// user's own sitecustomize. If there is none, site.py ignores the ImportError.
constexpr std::string_view kSite = R"py(
def clean(variables):
    here = variables.pop('DLAUNCH_PRELOAD').partition(':')[2]
    path = variables.get('PYTHONPATH', '')
    if here + ':' in path:
        variables['PYTHONPATH'] = path.replace(here + ':', '', 1)
    elif path == here:
        del variables['PYTHONPATH']
    elif here in path:
        variables['PYTHONPATH'] = path.replace(here, '', 1)

def inherited():
    import os
    found = []
    for name in os.listdir('/proc/self/fd'):
        try:
            if os.get_inheritable(int(name)):
                found.append(int(name))
        except OSError:
            pass
    return sorted(found)

def be_template(waiting, address, order, here):
    # Returns in forks that have become a rank, and nowhere else.
    import os, _socket
    try:
        middle = os.getpid()
        if os.fork() != 0:
            os._exit(0)
        os.close(waiting.detach())
        link = _socket.socket(_socket.AF_UNIX, _socket.SOCK_SEQPACKET)
        link.connect('\0' + address)
        number, modules, *dropped = order.split(b'\0')
        link.send(b'template ' + number)
        try:
            import zipimport
            scope = {}
            exec(zipimport.zipimporter(here).get_code('dlaunch_template'), scope)
        except Exception as error:
            why = 'the template cannot start: %s: %s' % (type(error).__name__, error)
            link.send(b'unfit ' + os.fsencode(why)[:2000])
            os._exit(1)
        scope['serve'](link, modules.decode().split(','), dropped, middle, clean)
    except BaseException:
        os._exit(1)

def begin():
    import os, sys
    here = __file__.rpartition('/')[0]
    if 'DLAUNCH_PRELOAD' not in os.environ:
        return
    address = os.environ['DLAUNCH_PRELOAD'].partition(':')[0]
    clean(os.environ)
    sys.path[:] = [entry for entry in sys.path if entry != here]
    sys.path_importer_cache.pop(here, None)
    if not hasattr(os, 'memfd_create'):
        return
    import _socket
    link = _socket.socket(_socket.AF_UNIX, _socket.SOCK_SEQPACKET)
    try:
        link.connect('\0' + address)
        link.send(b'rank %d' % len(sys.argv))
        while True:
            order = link.recv(65536)
            if order[:1] == b't':
                middle = os.fork()
                if middle == 0:
                    return be_template(link, address, order[1:], here)
                if os.waitpid(middle, 0)[1] != 0:
                    return
            elif order[:1] == b'd':
                numbers = inherited()
                rights = b''.join(n.to_bytes(4, sys.byteorder) for n in numbers)
                link.sendmsg([b'd' + b' '.join(b'%d' % n for n in numbers)],
                             [(_socket.SOL_SOCKET, _socket.SCM_RIGHTS, rights)])
            elif order[:1] == b'x':
                try:
                    link.send(b'x')
                finally:
                    os._exit(0)
            else:
                return
    except OSError:
        return
    finally:
        link.close()

import sys
ours = sys.modules.get('sitecustomize')
begin()
if sys.modules.get('sitecustomize') is ours:
    del sys.modules['sitecustomize']
import sitecustomize
)py";

// Any error before a rank has its streams ends the process: the rank's program then starts as usual
// in the process that waits for it.
constexpr std::string_view kTemplate = R"py(
import _socket, ctypes, fcntl, os, sys

class Unfit(Exception):
    pass

def files_of_modules():
    """What an import of today would read: a template may outlive an installation."""
    found = {}
    for module in list(sys.modules.values()):
        path = getattr(module, '__file__', None)
        if isinstance(path, str):
            try:
                info = os.stat(path)
                found[path] = (info.st_mtime_ns, info.st_size, info.st_ino)
            except OSError:
                found[path] = None
    return found

def numbers_of(rights):
    return [int.from_bytes(data[i:i + 4], sys.byteorder)
            for _, _, data in rights for i in range(0, len(data), 4)]

def own_descriptors():
    found = set()
    for name in os.listdir('/proc/self/fd'):
        try:
            os.fstat(int(name))
            found.add(int(name))
        except OSError:
            pass
    return found

def wait_for_reaper(middle, agent):
    while os.getppid() == middle:
        os.sched_yield()
    ctypes.CDLL(None).prctl(1, 9)  # PR_SET_PDEATHSIG, SIGKILL
    if os.getppid() != agent:
        os._exit(1)

def import_all(modules):
    before = dict(os.environb)
    if 'sitecustomize' in sys.modules:
        del sys.modules['sitecustomize']
    try:
        import sitecustomize
    except ImportError:
        pass
    for name in modules:
        try:
            __import__(name)
        except BaseException as error:
            why = str(error).strip().splitlines()
            raise Unfit('cannot import %s: %s%s' % (
                name, type(error).__name__, ': ' + why[0] if why else ''))
    if os.environb != before:
        names = sorted({n for n, v in set(before.items()) ^ set(os.environb.items())})
        raise Unfit('an import sets ' + ', '.join(os.fsdecode(n) for n in names))

def check(link):
    # Libraries such as OpenBLAS end their threads for a fork and start them again when needed.
    child = os.fork()
    if child == 0:
        os._exit(0)
    os.waitpid(child, 0)
    threads = len(os.listdir('/proc/self/task'))
    if threads > 1:
        raise Unfit('an import leaves %d thread%s running' % (
            threads - 1, '' if threads == 2 else 's'))
    opened = own_descriptors() - {0, 1, 2, link.fileno()}
    for number in opened:
        target = os.readlink('/proc/self/fd/%d' % number)
        if target.startswith('socket:'):
            raise Unfit('an import leaves an open socket')
        if target.startswith('/dev/') and target not in ('/dev/null', '/dev/urandom', '/dev/random'):
            raise Unfit('an import opened ' + target)
    return opened

def serve(link, modules, dropped, middle, clean):
    try:
        agent = int.from_bytes(link.getsockopt(_socket.SOL_SOCKET, 17, 12)[:4], sys.byteorder)
        wait_for_reaper(middle, agent)
        os.setpgid(0, 0)
        for number, name in ((0, None), (1, 'stdout'), (2, 'stderr')):
            fd = os.open('/dev/null', os.O_RDONLY) if name is None else os.memfd_create(name)
            os.dup2(fd, number)
        for number in own_descriptors() - {0, 1, 2, link.fileno()}:
            os.close(number)
        for name in dropped:
            os.environb.pop(name, None)
        try:
            import_all(modules)
            for stream in (sys.stdout, sys.stderr):
                stream.flush()
            opened = check(link)
        except Unfit as error:
            link.send(b'unfit ' + os.fsencode(str(error))[:2000])
            os._exit(0)
        said = [os.pread(n, os.fstat(n).st_size, 0) for n in (1, 2)]
        files = files_of_modules()
        link.send(b'ready')
        while True:
            text, rights, _, _ = link.recvmsg(4096, 4096)
            if text == b'check' and files_of_modules() == files:
                link.send(b'ready')
                continue
            if text in (b'', b'check'):
                os._exit(0)
            wanted = list(zip([int(word) for word in text.split()], numbers_of(rights)))
            ended, alive = os.pipe()
            middle = os.fork()
            if middle == 0:
                middle = os.getpid()
                for number, fd in wanted:
                    if os.fork() == 0:
                        os.close(alive)
                        return become(number, fd, link, agent, middle, ended, opened, said, clean)
                os._exit(0)
            for fd in [ended, alive] + [fd for _, fd in wanted]:
                os.close(fd)
            os.waitpid(middle, 0)
    except BaseException:
        os._exit(1)

def take_streams(conn, link, opened):
    """Makes our descriptors those of the process that waits; returns both links at new numbers."""
    conn.send(b'd')
    text, rights, _, _ = conn.recvmsg(8192, 4096)
    numbers = [int(word) for word in text[1:].split()]
    given = numbers_of(rights)
    if not numbers or len(given) != len(numbers) or opened.intersection(numbers):
        os._exit(1)
    above = max(numbers + list(opened)) + 1
    links = [fcntl.fcntl(one.detach(), fcntl.F_DUPFD_CLOEXEC, above) for one in (conn, link)]
    given = [fcntl.fcntl(one, fcntl.F_DUPFD_CLOEXEC, above) for one in given]
    for number in own_descriptors() - opened - set(links) - set(given):
        os.close(number)
    for fd, number in zip(given, numbers):
        os.dup2(fd, number)
        os.close(fd)
    return [_socket.socket(fileno=one) for one in links]

def read_of(process, name):
    with open('/proc/%d/%s' % (process, name), 'rb') as file:
        return file.read()

class MemoryMap(ctypes.Structure):  # struct prctl_mm_map, linux/prctl.h
    NAMES = ('start_code', 'end_code', 'start_data', 'end_data', 'start_brk', 'brk', 'start_stack',
             'arg_start', 'arg_end', 'env_start', 'env_end', 'auxv')
    _fields_ = [(name, ctypes.c_uint64) for name in NAMES] + [
        ('auxv_size', ctypes.c_uint32), ('exe_fd', ctypes.c_uint32)]

def show_in_proc(words, variables):
    """Lets /proc, and ps, show the rank's command line and environment. A kernel may not allow it."""
    libc = ctypes.CDLL(None)
    libc.malloc.restype = libc.sbrk.restype = ctypes.c_void_p
    fields = read_of(os.getpid(), 'stat').rpartition(b')')[2].split()
    field = lambda number: int(fields[number - 3])  # as proc(5) counts them
    text = words + variables
    begin = libc.malloc(len(text))
    ctypes.memmove(begin, text, len(text))
    middle = begin + len(words)
    shown = MemoryMap(field(26), field(27), field(45), field(46), field(47), libc.sbrk(0), field(28),
                      begin, middle, middle, begin + len(text), 0, 0, 0xffffffff)
    libc.prctl(35, 14, ctypes.byref(shown), ctypes.sizeof(shown), 0)  # PR_SET_MM, PR_SET_MM_MAP

def take_words(process):
    words = [os.fsdecode(word) for word in read_of(process, 'cmdline').split(b'\0')[:-1]]
    own = read_of(os.getpid(), 'cmdline').count(b'\0')
    sys.argv[1:] = words[own - len(sys.argv) + 1:]
    if hasattr(sys, 'orig_argv'):
        sys.orig_argv[:] = words

def take_environment(process, clean):
    variables = {}
    for entry in read_of(process, 'environ').split(b'\0'):
        name, equals, value = entry.partition(b'=')
        if equals:
            variables.setdefault(os.fsdecode(name), os.fsdecode(value))
    clean(variables)
    for name in list(os.environ):
        # LC_CTYPE: set by the interpreter in the C locale (PEP 538), which /proc does not show.
        if name not in variables and name != 'LC_CTYPE':
            del os.environ[name]
    for name, value in variables.items():
        if os.environ.get(name) != value:
            os.environ[name] = value
    return variables

def write_all(fd, data):
    while data:
        data = data[os.write(fd, data):]

def become(number, fd, link, agent, middle, ended, opened, said, clean):
    conn = _socket.socket(fileno=fd)
    conn.setblocking(True)  # the agent has set O_NONBLOCK
    process = int.from_bytes(conn.getsockopt(_socket.SOL_SOCKET, 17, 12)[:4], sys.byteorder)
    os.read(ended, 1)  # shortly before we get another parent; watching for that takes a processor
    wait_for_reaper(middle, agent)
    conn, link = take_streams(conn, link, opened)
    take_words(process)
    variables = take_environment(process, clean)
    show_in_proc(read_of(process, 'cmdline'),
                 b''.join(os.fsencode('%s=%s\0' % entry) for entry in variables.items()))
    os.sched_setaffinity(0, os.sched_getaffinity(process))
    ctypes.CDLL(None).prctl(0x59616d61, agent)  # PR_SET_PTRACER
    link.send(b'set %d %d' % (number, os.getpid()))
    link.close()
    if conn.recv(1) != b'x':
        os._exit(1)
    conn.close()
    os.setpgid(0, 0)  # until now that of the template
    random = sys.modules.get('numpy.random')
    if random is not None:
        random.seed()
    for stream, data in enumerate(said):
        write_all(stream + 1, data)
)py";

void put(std::string& bytes, std::uint32_t value, int size) {
  for (int i = 0; i < size; ++i) bytes += static_cast<char>(value >> (8 * i) & 0xff);
}

/// CRC-32 as PKZIP's APPNOTE.TXT 4.4.7 defines it.
std::uint32_t checksum(std::string_view bytes) {
  std::uint32_t crc = 0xffffffff;
  for (const char c : bytes) {
    crc ^= static_cast<unsigned char>(c);
    for (int i = 0; i < 8; ++i) crc = crc >> 1 ^ (0xedb88320 & (0 - (crc & 1)));
  }
  return ~crc;
}

/// What a member's local header and its entry of the directory share (APPNOTE.TXT 4.3.7, 4.3.12).
void put_member(std::string& bytes, std::string_view name, std::string_view text) {
  constexpr std::uint32_t kVersion = 10;
  constexpr std::uint32_t kFirstDay = 0x21;  // 1980-01-01
  put(bytes, kVersion, 2);
  bytes.append(6, '\0');  // flags, stored, midnight
  put(bytes, kFirstDay, 2);
  put(bytes, checksum(text), 4);
  put(bytes, static_cast<std::uint32_t>(text.size()), 4);
  put(bytes, static_cast<std::uint32_t>(text.size()), 4);
  put(bytes, static_cast<std::uint32_t>(name.size()), 2);
  put(bytes, 0, 2);
}

}  // namespace

std::string preload_archive() {
  struct Member {
    std::string_view name;
    std::string_view text;
  };
  constexpr std::array kMembers = {Member{"sitecustomize.py", kSite},
                                   Member{"dlaunch_template.py", kTemplate}};
  std::string archive;
  std::string directory;
  for (const auto& [name, text] : kMembers) {
    put(directory, 0x02014b50, 4);
    put(directory, 10, 2);
    put_member(directory, name, text);
    directory.append(10, '\0');  // no comment, disk 0, no attributes
    put(directory, static_cast<std::uint32_t>(archive.size()), 4);
    directory += name;
    put(archive, 0x04034b50, 4);
    put_member(archive, name, text);
    archive.append(name).append(text);
  }
  const auto begin = static_cast<std::uint32_t>(archive.size());
  archive += directory;
  put(archive, 0x06054b50, 4);
  put(archive, 0, 4);
  put(archive, kMembers.size(), 2);
  put(archive, kMembers.size(), 2);
  put(archive, static_cast<std::uint32_t>(directory.size()), 4);
  put(archive, begin, 4);
  put(archive, 0, 2);
  return archive;
}

}  // namespace dlaunch
