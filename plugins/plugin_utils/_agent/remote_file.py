# Copyright (c) 2026 monitor.cloud contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""One file on a host: the shell commands that read and write it, without Python there, and the parsing of their output.

Another user may own the directory and react to every name that appears in it. So a command enters the directory once
and uses relative names; what it writes, it writes in a private directory of its own, and only ``mv`` leaves that.
"""

from __future__ import annotations

import re
import secrets
import typing as t
from collections.abc import Mapping, Sequence
from stat import S_IFREG, filemode

from ansible_collections.monitor.cloud.plugins.module_utils._service.errors import InputError
from ansible_collections.monitor.cloud.plugins.module_utils._service.redact import printable
from ansible_collections.monitor.cloud.plugins.plugin_utils._agent import leftovers, shell
from ansible_collections.monitor.cloud.plugins.plugin_utils._agent.options import LARGEST_FILE, Desired

_FACTS = "monitor.cloud facts"
_DONE = "monitor.cloud done"

# A host may print anything: of its output no more counts than this, nor names of more than 255 characters, nor numbers
# of more than 20 digits.
_MOST_OUTPUT = 4 * LARGEST_FILE
_MARKERS = rf"(?P<markers>(\|{leftovers.MARKER.pattern}){{0,{leftovers.MOST_NAMES}}})\r?$"
# Messages of a login shell may surround them, and need not end their last line.
_FACTS_LINE = re.compile(
    rf"{_FACTS}\|(?P<kind>[a-z_]{{1,20}})\|(?P<writable>[yn])(?P<leftovers>\|left)?{_MARKERS}", re.MULTILINE
)
_DONE_LINE = re.compile(rf"^{_DONE}{_MARKERS}", re.MULTILINE)
# The owner and the path of a symbolic link that is not followed.
_LINK_LINE = re.compile(r"^link\|([^|\r\n]{1,255})\|([^\r\n]{1,4096})\r?$", re.MULTILINE)
_NUMBER, _NAME = r"([0-9]{1,20})", r"([^|\r\n]{0,255})"
_STAT_LINE = re.compile(rf"^stat\|{_NUMBER}\|{_NUMBER}\|{_NAME}\|{_NUMBER}\|{_NAME}\|([0-7]{{1,20}})\r?$", re.MULTILINE)
_SERVICE_LINE = re.compile(r"^service\|([a-z-]{0,255})\|([a-z-]{0,255})\r?$", re.MULTILINE)
_DIGEST_LINE = re.compile(r"^([0-9a-f]{64})\b", re.MULTILINE)

# The problems that the writer and the remover report by exit codes from 91 on, by their names in the scripts.
_PROBLEMS = {
    "no_input": "the content did not arrive completely. Check the connection and the free space of the file system",
    "changed": "another user changes its directory at the same time, or may have prepared it, or the file system gives "
    "what root makes to another user, as NFS does with root_squash. Choose a directory that only the user who writes "
    "can change",
    "link": "a parent directory is a symbolic link{detail}, and another user can change it, or what is above it. Give "
    "the path without symbolic links",
    "no_backup": "the file there can't be backed up: it belongs to another user, or its file system has no hard "
    "links. Move it away, or set backup: false",
    "busy": "it is a mount point, which can be neither replaced nor removed. Unmount it, or choose another path",
    "no_modes": "its file system ignores permissions, so other users could read it. Use another file system",
    "acl": "the file there has an ACL, which this host has no getfacl and setfacl to keep. Install the package acl, or "
    "remove the file",
    "leftover": "a directory .<name>.writing-* beside it, which a killed run has left, can't be removed: it has other "
    "files in it, or attributes. Remove it",
    "noexec": "this user can run no programs: sudo has noexec. Allow exec",
}
_CODES = dict(zip(_PROBLEMS, range(91, 100), strict=False))

# no_parent: its directory is missing; below_file: a parent is a file; no_access: its directory can't be entered;
# dangling: a link to no file.
Kind = t.Literal["file", "missing", "no_parent", "below_file", "no_access", "link", "dangling", "directory", "other"]


class HostFile(t.NamedTuple):
    """The facts of a path. ``writable``: whether a file can be created there.

    ``mode`` holds the permission bits. ``digest`` is the SHA-256 of the content in hex; None if the host has no tool
    for it, or the file can't be read or is larger than :data:`LARGEST_FILE`. Ids are decimal digits. ``leftovers``:
    whether directories of killed writers are beside it. ``markers``: those of pending restarts. ``service`` and
    ``service_enabled``: what systemctl reports of the service, or its init script; None if that is not known.
    """

    kind: Kind
    writable: bool = True
    uid: str | None = None
    user: str | None = None
    gid: str | None = None
    group: str | None = None
    mode: int | None = None
    digest: str | None = None
    leftovers: bool = False
    size: int | None = None
    markers: tuple[str, ...] = ()
    service: str | None = None
    service_enabled: str | None = None

    @property
    def is_absent(self) -> bool:
        return self.kind in ("missing", "no_parent", "below_file")


# Prints the start of the file, and ends within 10 seconds: when it is opened, its name may be that of a FIFO or device.
# Some versions of dd, as that of GNU, can refuse a link, which leads to a device, and not wait for a FIFO.
_READ = f"""v=iflag={{flags}}; dd $v if=/dev/null count=0 2>/dev/null || v=;
    exec dd $v if="./$n" bs={LARGEST_FILE} count=1 2>/dev/null & w=$! ;
    (for i in 1 2 3 4 5 6 7 8 9 10; do sleep 1; done; kill -9 $w) >/dev/null 2>&1 & k=$! ;
    wait $w; r=$?; kill $k"""
_OF_FILE, _OF_LINK = (_READ.replace("{flags}", flags) for flags in ("nofollow,nonblock", "nonblock"))

# Sets $k to the kind, $w to whether a file can be created there, $l if there are leftovers, and $u to the markers. Then
# one process for the facts of the file and of the directory, one for the digest. The file is opened without a deadline
# only if only its owner and root can put another one there between the test and the opening.
_FACTS_SCRIPT = """
l=""; u=""; w=n
if cd -P "$a/" 2>/dev/null; then
    k=missing
    # Only root knows that the target of a link is missing: it may be in a directory that others can't enter.
    if [ -L "./$n" ]; then k=link; [ -f "./$n" ] || [ "$(id -u)" -gt 0 ] || k=dangling
    elif [ -f "./$n" ]; then k=file
    elif [ -d "./$n" ]; then k=directory
    elif [ -e "./$n" ]; then k=other; fi
    [ -w . ] && w=y
    # Root can write each file that is neither immutable nor on a read-only mount.
    [ $k = file ] && { [ -w "./$n" ] || [ "$(id -u)" -gt 0 ] || w=n; }
    # In a sticky directory only its owner, the file's and root can replace the file.
    if [ -k . ] && { [ $k = file ] || [ $k = link ]; }; then
        [ -O . ] || [ "$(id -u)" -eq 0 ] || [ "$(exec find "./$n" -prune -user "$(id -u)")" ] || w=n
    fi
    {leftovers}
    {markers}
else
    k=no_parent
    [ -d "$a/" ] && k=no_access
    # A link may lead into a directory that only root can enter, as systemd makes it for DynamicUser.
    until [ -z "$a" ] || [ -e "$a" ]; do [ -L "$a" ] && [ "$(id -u)" -gt 0 ] && k=no_access; a=${a%/*}; done
    if [ -d "$a/" ]; then
        [ -w "$a/" ] && w=y
        # What is in it is not known.
        [ -x "$a/" ] || k=no_access
    else k=below_file; fi
fi
echo "{facts}|$k|$w$l$u"
{service}
if [ $k = file ]; then
    s=$(exec stat -c "stat|%s|%u|%U|%g|%G|%a" "./$n" . 2>/dev/null) ||
        s=$(exec stat -f "stat|%z|%u|%Su|%g|%Sg|%Mp%03Lp" "./$n" . 2>/dev/null)
    printf "%s\\n" "$s"
    z=${s#"stat|"}; z=${z%%"|"*}; d=${s##*"stat|"}; d=${d#*"|"}
    h() { sha256sum || shasum -a 256 || sha256 -q; }
    if [ "${z:-{limit}1}" -le {limit} ]; then
        exec 2>/dev/null
        ulimit -t 10
        if case $d in "0|"*[0145][0145]) :;; *[0145][0145]) [ -O . ];; *) false;; esac; then h < "./$n"
        else { {read}; } | h; fi
    fi
fi
:
"""


# An init script reports 0 if the service runs, and 1 to 3 if not. Whether it starts at boot depends on the init system.
_SERVICE = """
if [ -d /run/systemd/system ]; then
    echo "service|$(exec systemctl is-active -- "$v" 2>/dev/null)|$(exec systemctl is-enabled -- "$v" 2>/dev/null)"
elif [ -x "/etc/init.d/$v" ]; then
    "/etc/init.d/$v" status </dev/null >/dev/null 2>&1
    case $? in 0) echo "service|active|";; [123]) echo "service|inactive|";; esac
fi
"""


def facts_command(path: str, service: str = "") -> str:
    """Print lines for :func:`parse_facts`, with the state of a service if there is one; changes nothing."""
    state = f"{shell.variable('v', service)}; {shell.one_line(_SERVICE)}" if service else ":"
    return f"{shell.one_line(shell.start(path))}; {_FACTS_COMMAND.replace('{service}', state)}"


def parse_facts(output: str) -> HostFile | None:
    """The facts that :func:`facts_command` printed, or None if the output has none."""
    output = output[:_MOST_OUTPUT]
    line = _FACTS_LINE.search(output)
    if line is None:
        return None
    stat, digest, state = (one.search(output, line.end()) for one in (_STAT_LINE, _DIGEST_LINE, _SERVICE_LINE))
    found = HostFile(
        t.cast("Kind", line["kind"]),
        line["writable"] == "y",
        digest=digest and digest[1],
        leftovers=line["leftovers"] is not None,
        markers=tuple(line["markers"].split("|")[1:]),
        service=(state and state[1]) or None,
        service_enabled=(state and state[2]) or None,
    )
    if stat is None:
        return found
    size, uid, user, gid, group, mode = stat.groups()
    # As GNU and busybox print those without a name.
    user, group = (number if name == "UNKNOWN" else name for number, name in ((uid, user), (gid, group)))
    return found._replace(size=int(size), uid=uid, user=user, gid=gid, group=group, mode=int(mode, 8))


def read_command(path: str, *, link: bool = False) -> str:
    """Print the start of the file, up to :data:`LARGEST_FILE` bytes, for :func:`text_in`; fails if it is not a file.

    Follow a symbolic link only if the facts had a ``link`` there.
    """
    return shell.one_line(f"""{shell.start(path)}
        cd -P "$a/" && [ -f "./$n" ] || exit 1
        {shell.echo(shell.BEGUN)}
        {{ {_OF_LINK if link else _OF_FILE}; }} 2>/dev/null
        exit $r""")


def text_in(output: str) -> str:
    """The text that :func:`read_command` printed, after messages of a login shell."""
    # A terminal, which ssh allocates for commands without input, ends lines with CR LF.
    return output.replace("\r\n", "\n").partition(f"{shell.BEGUN}\n")[2][:LARGEST_FILE]


def enter_command(path: str) -> str:
    """Fail as the commands that write and remove do if they can't work there; changes nothing."""
    script = """
        ls -d / >/dev/null
        [ $? -eq 126 ] && exit {noexec}
        {enter}
        mounted && exit {busy}"""
    return shell.one_line(f"""{shell.start(path)}
        {_filled(script, {"missing": _NO_DIRECTORY})}
        {shell.echo(_DONE)}""")


# Enters the directory; $e is its physical path then, unless another user moves a directory at the same time. A symbolic
# link among the parents is followed if only root and the user of the command could have made or changed it: then the
# walk starts again at the root, and examines each directory ($s).
_ENTER = """
# bash, ksh and zsh derive the path from names, which others may change at the same time, also for this link of Linux.
# Other shells ask the kernel for it, without a process.
at() {
    [ -z "$BASH_VERSION$KSH_VERSION$ZSH_VERSION" ] && (cd -P /proc/self/cwd && [ "$PWD" = "$1" ]) 2>/dev/null ||
        [ "$([ -x /bin/pwd ] && exec /bin/pwd -P; exec env pwd -P)" = "$(printf %s "$1")" ]
}
for c in cat chmod date dd env ln ls mkdir mv rm rmdir; do
    command -v $c >/dev/null || { echo "this host has no $c; install coreutils or busybox" >&2; exit 1; }
done
# Whether only root and this user can change names in it.
safe() {
    set -- "$1" $(ls -ldn "$1")
    case $2:$4 in d????-??-*:0) :;; d????-??-*) [ -O "$1" ];; *) false;; esac
}
mounted() { grep -qF " $e/$n " /proc/self/mountinfo 2>/dev/null; }
refuse() { set -- $(ls -ld "./$c"); printf "link|%s|%s\\n" "$3" "$e/$c"; exit {link}; }
e=$a; r=; s=; i=0
until cd -P "$e/" 2>/dev/null && [ "${PWD%/}" = "$e" ]; do r=${e##*/}/$r; e=${e%/*}; done
while [ -n "$r" ]; do
    c=${r%%/*}; r=${r#*/}
    case $c in ""|.) continue;; esac
    if [ -L "./$c" ]; then
        [ -n "$s" ] || { cd -P /; e=; r=$a/; s=y; continue; }
        i=$((i+1))
        [ $s = y ] && [ $i -le 40 ] && v=$(readlink "./$c") || refuse
        r=$v/$r
        case $v in /*) cd -P /; e=;; esac
        continue
    fi
    [ -d "./$c" ] || {missing}
    cd -P "./$c" || exit 1
    case $c in ..) e=${e%/*};; *) e=$e/$c;; esac
    [ -z "$s" ] || safe . || s=n
done
"""

# Only in a directory that is verified: in another one it would stay.
_MAKE = """{ at "${e:-/}" || exit {changed}; (umask 022; mkdir "./$c"); } ||
    [ -d "./$c" ] || exit 1"""

# There is nothing to remove in a directory that is missing.
_NO_DIRECTORY = f"{{ {shell.echo(_DONE)}; exit 0; }}"

# The content goes into a private directory, after a check that others have not replaced that directory.
_WRITE = """
{enter}
{clean}
t=.$n.writing-$$-{random}
d=; j=
q() {
    # A second signal must not find this half done.
    trap "" HUP INT TERM
    [ "$j" = y ] && rm -f "./$n"* "./.$n."* ${d:+"$d"}
    # Not from the directory above, which ksh93 enters by its name.
    rmdir "./${j:+../}$t"; exit $1
}
trap "q 1" HUP INT TERM
# Where others could replace the directory, no tool gets its name after this. The sticky bit distinguishes it from other
# directories of this user.
p=
safe . && p="-m 1700"
mkdir $p "./$t" || { [ -z "$p" ] || rmdir "./$t" 2>/dev/null; exit 1; }
cd -P "./$t" && j=n && at "$e/$t" && [ -O . ] && { [ -n "$p" ] || chmod 1700 .; } || q {changed}
# The default ACL of another user's directory would apply to the file.
[ -n "$p" ] || case $(setfacl -bk . 2>/dev/null; exec ls -ld .) in ??????????+*) q {changed};; esac
for f in "./$n"* "./.$n."*; do if [ -e "$f" ] || [ -L "$f" ]; then q {changed}; fi; done
j=y
f=./$n
# The file systems that ignore modes, such as CIFS, ignore the sticky bit too.
[ -k . ] || { true > "$f"; case $(exec ls -ld "$f") in -rw-------*|{shown}*) :;; *) q {no_modes};; esac; }
# Byte by byte, so that the number of records is the number of bytes with any dd. A message of the dynamic linker may
# precede it.
v=$(exec dd {input}of="$f" bs=1 2>&1) || { echo "$v" >&2; q 1; }
case " $(echo $v)" in *" {size}+0 "*) :;; *) q {no_input};; esac
{give} || q 1
# The ACL of the file that is replaced stays, if only root and the owner of the new one could set it.
acl() {
    v=$(getfacl -cEn "../$n" | sed -n "/^[a-z]*:[^:]/p; /^mask/p")
    [ -n "$v" ] && printf "%s\\n" "$v" | setfacl -M - "$f"
} 2>/dev/null
if [ -n "$p" ] && [ -f "../$n" ]; then
    set -- $(ls -ldn "../$n"); v=$1$3
    set -- $(ls -ldn "$f")
    case $v in -?????????+0|-?????????+"$3") acl || q {acl};; esac
fi
x=
if [ -e /sys/fs/selinux/enforce ]; then
    x=y
    if [ -f "../$n" ] && ln "../$n" "$f-"; then
        [ -L "$f-" ] || { chcon -h --reference="$f-" "$f" && x=; }
        rm -f "$f-"
    fi
fi 2>/dev/null
{keep}
{mark}
# Into a directory: a directory at the path makes it fail, and a link there is replaced.
mv -f "$f" .. || { d=../.$n.restart-{random}; mounted && q {busy}; q 1; }
[ -z "$x" ] || { [ -n "$p" ] && restorecon "../$n" 2>/dev/null; }
trap - HUP INT TERM
cd -P .. && rmdir "./$t"
"""

# Read through a link in the private directory, where no other user can replace it by a FIFO or a link.
_KEEP = """
if [ -L "../$n" ]; then :
elif [ -f "../$n" ]; then
    # As core names backups: several of them may be made in a second.
    b=$n.$$.$(date +%Y-%m-%d@%H:%M:%S)~
    ln "../$n" "$f-" || q {no_backup}
    [ -f "$f-" ] && { [ -L "$f-" ] || cat "$f-" > "./$b"; } || q 1
    # The umask does not count in a directory with a default ACL.
    chmod go= "./$b" && rm -f "$f-" && mv -f "./$b" .. || q 1
fi
"""


def write_command(desired: Desired, *, backup: bool = False, source: str | None = None) -> str:
    """Put standard input, or the file ``source`` of the host, at the path, atomically and private on the way.

    Replace a link rather than follow it. Take only input that arrives whole: a connection that does not pass
    standard input on must not leave an empty file. If a service reads the file, leave a marker, and print those that
    are there for :func:`markers_in`. Check with :func:`failure`, as all commands that write or remove.
    """
    spec = (desired.owner or "") + (f":{desired.group}" if desired.group else "")
    # In this order: a change of the owner takes setuid away.
    give = ('chown -h "$o" "$f" && ' if spec else "") + f'chmod {desired.mode:04o} "$f"'
    mark = 'true > "./.$n.restart-{random}" && mv -f "./.$n.restart-{random}" .. || q 1'
    values = {
        "give": give,
        "keep": _KEEP if backup else "",
        "missing": _MAKE,
        # Not the colon, after which a redirection that fails ends the shell.
        "mark": mark if desired.service else "",
        "random": secrets.token_hex(4),
        "shown": filemode(S_IFREG | desired.mode),
        "input": 'if="$m" ' if source else "",
        "size": len(desired.data or b""),
    }
    # One that the connection forces, as by `ssh -tt`, has no end of input.
    terminal = "" if source else f"[ -t 0 ] && exit {_CODES['no_input']}"
    return shell.one_line(f"""
        {shell.echo(shell.BEGUN)}
        {shell.start(desired.path)}
        {shell.variable("o", spec)}
        {shell.variable("m", source or "")}
        {terminal}
        umask 077
        {_filled(_WRITE, values)}
        u=""
        {leftovers.LIST_MARKERS if desired.service else ""}
        {shell.echo(f"{_DONE}$u")}""")


def remove_command(path: str, markers: Sequence[str] | None = None) -> str:
    """Remove the file or link and all markers, or only some markers; and what writers that were killed left beside it.

    InputError if one of ``markers`` is not a marker.
    """
    for marker in markers or ():
        if leftovers.MARKER.fullmatch(marker) is None:
            raise InputError(f"restarted holds {marker!r}. Give the restart_markers of the task that wrote the file.")
    values = {
        "missing": _NO_DIRECTORY,
        "names": '"./$n"' if markers is None else " ".join(f'"./.$n.restart-{marker}"' for marker in markers),
        "mounted": "mounted && exit {busy};" if markers is None else "",
        "markers": leftovers.for_markers('rm -f "./$f" || exit 1') if markers is None else "",
    }
    script = """
        {enter}
        at "${e:-/}" || exit {changed}
        rm -f {names} || { {mounted} exit 1; }
        {clean}
        {markers}"""
    return shell.one_line(f"""{shell.start(path)}
        {_filled(script, values)}
        {shell.echo(_DONE)}""")


def markers_in(output: str) -> tuple[str, ...]:
    """The markers that a writer printed."""
    line = _DONE_LINE.search(output[-_MOST_OUTPUT:])
    return tuple(line["markers"].split("|")[1:]) if line else ()


def got_no_input(done: shell.Completed) -> bool:
    """Whether the writer did nothing because it was not run at all, or did not get the input."""
    return shell.BEGUN not in done.stdout or done.returncode == _CODES["no_input"]


def failure(done: shell.Completed) -> str:
    """Why a command that writes or removes failed, and what to do, as a sentence; empty if it did its work."""
    if done.returncode == 0 and _DONE in done.stdout:
        return ""
    problem = next((text for name, text in _PROBLEMS.items() if _CODES[name] == done.returncode), None)
    link = _LINK_LINE.search(done.stdout[-_MOST_OUTPUT:])
    detail = f", {printable(link[2])} of user {printable(link[1])}" if link else ""
    return f"{problem.replace('{detail}', detail)}." if problem else done.message


def check_done(done: shell.Completed, what: str) -> None:
    """InputError that begins with ``what`` if a command that writes or removes failed."""
    if reason := failure(done):
        raise InputError(f"{what}: {reason}")


# Verified as the private directory itself: others may have replaced it by a link. It is empty if its writer was
# killed before it set the sticky bit.
_CLEAN = leftovers.for_leftovers("""(
    cd -P "./$f" && at "$e/$f" && [ -O . ] &&
    case $(ls -ld .) in drwx--[-S]--T*) rm -f "./$n"* "./.$n."*;; esac
    )
    rmdir "./$f" 2>/dev/null
    [ -k "./$f" ] && [ -O "./$f" ] && exit {leftover}""")


def _filled(script: str, values: Mapping[str, object]) -> str:
    """A script with values for its placeholders, which may hold those of values after them, and with the exit codes."""
    for name, text in {"enter": _ENTER, "clean": _CLEAN, **values, **_CODES}.items():
        script = script.replace(f"{{{name}}}", str(text))
    return script


# Put together here, and not for each host in a process of its own.
_FACTS_PARTS = {
    "facts": _FACTS,
    "leftovers": leftovers.for_leftovers('[ -k "$f" ] && l="|left"'),
    "markers": leftovers.LIST_MARKERS,
    "limit": LARGEST_FILE,
    "read": _OF_FILE,
}
_FACTS_COMMAND = shell.one_line(_filled(_FACTS_SCRIPT, _FACTS_PARTS))
