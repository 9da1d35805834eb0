"""One terminal of a guest: a program on a pty, and a socket at which the node brings its clients.

It runs as `user`, apart from the connection that started it. The last bytes that the program printed are kept, with the offset
of each since the beginning. While somebody is attached the program is read only as far as they have acknowledged; while nobody
is, it runs on, and the oldest bytes go. Frames both ways: a letter, the length in 4 bytes, that many bytes (see
src/drivers/node/terminal-frames.ts).

Arguments: the socket's path, the seconds that it outlives its last client, the bytes that are kept, the bytes that may be
unacknowledged, columns, rows, and the command line (empty: a login shell).
"""
import fcntl
import os
import select
import signal
import socket
import struct
import sys
import termios
import time

FRAME_BYTES = 32 * 1024
# Of one frame that comes, and of what the program has not taken yet: the node sends less.
COMING_BYTES = 64 * 1024
INPUT_BYTES = 256 * 1024
LINES = 8
HANG_UP_SECONDS = 3.0


def listen(path):
    """The listening socket; None when this terminal has been started before."""
    os.umask(0o077)
    listener = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    try:
        listener.bind(path)
    except OSError:
        probe = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        try:
            probe.connect(path)
            return None
        except OSError:
            os.unlink(path)
            listener.bind(path)
        finally:
            probe.close()
    listener.listen(LINES)
    listener.setblocking(False)
    return listener


def resize(terminal, columns, rows):
    fcntl.ioctl(terminal, termios.TIOCSWINSZ, struct.pack("HHHH", rows, columns, 0, 0))


def start_program(columns, rows, command):
    child, master = os.forkpty()
    if child == 0:
        resize(0, columns, rows)
        for number in (signal.SIGPIPE, signal.SIGXFSZ, signal.SIGHUP):
            signal.signal(number, signal.SIG_DFL)
        os.umask(0o022)
        os.environ.update(TERM="xterm-256color", COLORTERM="truecolor", PS1=r"\u@\h:\w\$ ")
        try:
            os.execv("/bin/bash", ["bash", "-lc", command] if command else ["-bash"])
        finally:
            os._exit(127)
    os.set_blocking(master, False)
    return child, master


class Line:
    """A connection of the node."""

    def __init__(self, connection):
        connection.setblocking(False)
        self.connection = connection
        self.incoming = bytearray()
        self.outgoing = bytearray()
        self.attachment = None

    def say(self, kind, body=b""):
        self.outgoing += kind + struct.pack(">I", len(body)) + body

    def flush(self):
        try:
            while self.outgoing:
                del self.outgoing[: self.connection.send(self.outgoing)]
        except BlockingIOError:
            pass


class Terminal:
    def __init__(self, path, linger, kept, window, columns, rows, command):
        self.path, self.linger, self.kept, self.window = path, linger, kept, window
        self.size = (columns, rows)
        self.command = command
        self.lines = {}
        self.client = None
        self.left_at = time.monotonic()
        self.replaced = []
        self.ring = bytearray()
        self.total = self.sent = self.acknowledged = 0
        self.input = bytearray()
        self.attachment = None
        self.taken = 0
        self.ended = None
        self.is_drained = self.is_told = self.is_leaving = False
        self.kill_at = None

    def run(self, listener):
        self.listener = listener
        self.child, self.master = start_program(*self.size, self.command)
        self.child_end = os.pidfd_open(self.child)
        while not self.is_over():
            self.wait()
        for line in list(self.lines.values()):
            line.flush()

    def is_over(self):
        if self.ended is None or not self.is_drained:
            return False
        return self.is_leaving and not any(line.outgoing for line in self.lines.values())

    def wait(self):
        poll = select.poll()
        poll.register(self.listener, select.POLLIN)
        if self.ended is None:
            poll.register(self.child_end, select.POLLIN)
        if self.master is not None:
            events = (select.POLLIN if self.may_read() else 0) | (select.POLLOUT if self.input else 0)
            if events:
                poll.register(self.master, events)
        for number, line in self.lines.items():
            poll.register(number, select.POLLIN | (select.POLLOUT if self.has_more_for(line) else 0))
        ready = dict(poll.poll(self.patience()))
        if self.master is not None and self.master in ready:
            self.exchange(ready[self.master])
        for number in [number for number in ready if number in self.lines]:
            if number in self.lines:  # one that attaches sends another away
                self.serve(number, ready[number])
        if self.listener.fileno() in ready:
            self.accept()
        if self.ended is None and self.child_end in ready:
            self.ended = os.waitstatus_to_exitcode(os.waitpid(self.child, 0)[1])
        self.look_at_clock()
        self.settle()
        self.tell()

    def has_more_for(self, line):
        return bool(line.outgoing) or (line is self.client and self.sent < self.total)

    def patience(self):
        """Milliseconds until the clock has something to say; none: for ever."""
        moments = [] if self.kill_at is None or self.ended is not None else [self.kill_at]
        if self.client is None:
            moments.append(self.left_at + self.linger)
        return max(0, min(moments) - time.monotonic()) * 1000 + 1 if moments else None

    def look_at_clock(self):
        now = time.monotonic()
        if self.client is None and now > self.left_at + self.linger:
            self.hang_up()
        if self.kill_at is not None and self.ended is None and now > self.kill_at:
            self.signal(signal.SIGKILL)

    def may_read(self):
        return self.client is None or self.total - self.acknowledged < self.window

    def exchange(self, events):
        """Reads from the program, and writes what it is to read."""
        if events & select.POLLOUT and self.input:
            try:
                count = os.write(self.master, self.input[:4096])
            except BlockingIOError:
                count = 0
            except OSError:
                count = len(self.input)
            del self.input[:count]
            self.taken += count
            if self.client:
                self.client.say(b"I", struct.pack(">Q", self.taken))
        if events & (select.POLLIN | select.POLLHUP):
            until = self.total + FRAME_BYTES
            # A pty gives little at a time: what is there is passed on together.
            while self.may_read() and self.total < until and self.read():
                pass

    def read(self):
        """Takes what the program has printed; whether there was any."""
        try:
            piece = os.read(self.master, COMING_BYTES)
        except BlockingIOError:
            return False
        except OSError:
            piece = b""
        if not piece:
            self.close_master()
            return False
        self.ring += piece
        self.total += len(piece)
        if len(self.ring) > self.kept:
            del self.ring[: len(self.ring) - self.kept]
        return True

    def close_master(self):
        if self.master is not None:
            os.close(self.master)
        self.master = None
        self.input.clear()

    def settle(self):
        """Once the program has ended, the rest of what it printed is read; what it left behind loses its terminal."""
        if self.ended is None or self.is_drained:
            return
        while self.master is not None and self.may_read():
            if not self.read():
                self.close_master()
        self.is_drained = self.master is None

    def tell(self):
        """Passes on what the client does not have, and then the end."""
        line = self.client
        while line and self.sent < self.total and len(line.outgoing) < FRAME_BYTES:
            at = self.sent - (self.total - len(self.ring))
            piece = self.ring[at : at + FRAME_BYTES]
            line.say(b"D", bytes(piece))
            self.sent += len(piece)
        if line and self.is_drained and self.sent == self.total and not self.is_told:
            self.is_told = True
            line.say(b"X", struct.pack(">iB", self.code(), self.kill_at is not None))
        for number in list(self.lines):
            self.flush(number)

    def code(self):
        return self.ended if self.ended >= 0 else 128 - self.ended

    def accept(self):
        try:
            connection, _ = self.listener.accept()
        except OSError:
            return
        if len(self.lines) >= LINES:
            return connection.close()
        self.lines[connection.fileno()] = Line(connection)

    def serve(self, number, events):
        line = self.lines[number]
        try:
            piece = line.connection.recv(COMING_BYTES) if events & (select.POLLIN | select.POLLHUP) else None
        except BlockingIOError:
            piece = None
        except OSError:
            piece = b""
        if piece == b"" or events & select.POLLERR:
            return self.drop(number)
        line.incoming += piece or b""
        while len(line.incoming) >= 5 and number in self.lines:
            (length,) = struct.unpack_from(">I", line.incoming, 1)
            if length > COMING_BYTES:
                return self.drop(number)
            if len(line.incoming) < 5 + length:
                return
            kind, body = bytes(line.incoming[:1]), bytes(line.incoming[5 : 5 + length])
            del line.incoming[: 5 + length]
            try:
                self.obey(number, line, kind, body)
            except struct.error:
                return self.drop(number)

    def flush(self, number):
        try:
            self.lines[number].flush()
        except OSError:
            self.drop(number)

    def drop(self, number):
        line = self.lines.pop(number)
        line.connection.close()
        if line is self.client:
            self.client = None
            self.left_at = time.monotonic()

    def obey(self, number, line, kind, body):
        if kind == b"a":
            self.attach(number, line, body)
        elif kind == b"c":
            self.hang_up()
        elif line is not self.client:
            self.drop(number)
        elif kind == b"d":
            if self.master is not None:
                self.input += body
            if len(self.input) > INPUT_BYTES:
                self.drop(number)
        elif kind == b"r":
            self.resize(*struct.unpack(">HH", body))
        elif kind == b"k":
            self.acknowledged = min(self.sent, max(self.acknowledged, *struct.unpack(">Q", body)))
        elif kind == b"e":
            self.is_leaving = self.is_drained

    def attach(self, number, line, body):
        after, columns, rows, attachment = struct.unpack(">qHH8s", body)
        if attachment in self.replaced:
            line.say(b"R")
            return self.leave(number)
        if self.client and self.client is not line:
            self.replaced = self.replaced[-99:] + [self.client.attachment]
            self.client.say(b"R")
            self.leave(self.client.connection.fileno())
        line.attachment = attachment
        self.client = line
        self.is_told = False
        oldest = self.total - len(self.ring)
        self.sent = self.acknowledged = after if oldest <= after <= self.total else oldest
        # Who comes again sends all that the program has not taken; what another one has typed goes first.
        if attachment == self.attachment:
            self.input.clear()
        self.attachment = attachment
        line.say(b"A", struct.pack(">QQ", self.sent, self.taken + len(self.input)))
        self.resize(columns, rows)

    def leave(self, number):
        self.flush(number)
        if number in self.lines:
            self.drop(number)

    def resize(self, columns, rows):
        if self.master is not None:
            resize(self.master, columns, rows)

    def hang_up(self):
        """The end as when a window is closed: SIGHUP, and SIGKILL for whoever does not go."""
        self.is_leaving = True
        if self.ended is None and self.kill_at is None:
            self.kill_at = time.monotonic() + HANG_UP_SECONDS
            self.signal(signal.SIGHUP)
        self.close_master()

    def signal(self, number):
        try:
            os.killpg(self.child, number)
        except OSError:
            pass


def main():
    path, linger, kept, window, columns, rows, command = sys.argv[1:]
    listener = listen(path)
    if listener is None or os.fork() != 0:
        return
    os.setsid()
    nothing = os.open("/dev/null", os.O_RDWR)
    for number in (0, 1, 2):
        os.dup2(nothing, number)
    os.chdir(os.environ.get("HOME", "/"))
    terminal = Terminal(path, float(linger), int(kept), int(window), int(columns), int(rows), command)
    try:
        terminal.run(listener)
    finally:
        os.unlink(path)


main()
