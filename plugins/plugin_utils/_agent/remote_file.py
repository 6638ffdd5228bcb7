# Copyright (c) 2026 monitor.cloud contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""One file on a host: the shell commands that read and write it, without Python there, and the parsing of their output.

Another user may own the directory and react to every name that appears in it. So a command enters the directory once
and uses relative names. It writes in a private directory of its own, and only ``mv`` moves the file out of that.
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

# A host may print anything, so parsing is limited to this many characters of output, names of 255 characters, and
# numbers of 20 digits.
_MOST_OUTPUT = 4 * LARGEST_FILE
_MARKERS = rf"(?P<markers>(\|{leftovers.MARKER.pattern}){{0,{leftovers.MOST_NAMES}}})\r?$"
# The facts can follow a message of a login shell on the same line.
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

# Name in the scripts → problem that the commands which write or remove report by an exit code, from 91 on.
_PROBLEMS = {
    "no_input": "the content did not arrive completely. Check the connection and the free space of the file system",
    "changed": "another user changes the directory at the same time, or may have prepared it, or the file system gives "
    "files of root to another user, as NFS does with root_squash. Choose a directory that only the user who writes "
    "can change",
    "link": "a parent directory is a symbolic link{detail}, and another user can change the link, or a directory "
    "above it. Give the path without symbolic links",
    "no_backup": "the old file can't be backed up: it belongs to another user, or its file system has no hard links. "
    "Move the old file away, or set backup: false",
    "busy": "the path is a mount point, which can be neither replaced nor removed. Unmount it, or choose another path",
    "no_modes": "the file system ignores permissions, so other users could read the file. Use another file system",
    "acl": "the old file has an ACL, and this host has no getfacl and setfacl to keep it. Install the package acl, or "
    "remove the old file",
    "leftover": "the directory .<name>.writing-* beside the file, which a killed run left, can't be removed: it holds "
    "other files, or has attributes. Remove the directory",
    "noexec": "this user can run no programs: sudo has noexec. Allow exec",
}
_CODES = dict(zip(_PROBLEMS, range(91, 100), strict=False))

# no_parent: the directory of the path is missing; below_file: a parent is a file; no_access: the directory can't be
# entered; dangling: a link to a missing file.
Kind = t.Literal["file", "missing", "no_parent", "below_file", "no_access", "link", "dangling", "directory", "other"]


class HostFile(t.NamedTuple):
    """The facts of a path. ``writable``: whether a file can be created there.

    ``mode`` holds the permission bits. ``digest`` is the SHA-256 of the content in hex; None if the host has no tool
    for it, or the file can't be read or is larger than :data:`LARGEST_FILE`. Ids are decimal digits. ``leftovers``:
    whether directories of killed writers are beside the file. ``markers``: of pending restarts. ``service`` and
    ``service_enabled``: the states that systemctl or an init script reports; None if not known.
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


# Prints the start of the file, and ends within 10 seconds, because another user can replace the file by a FIFO or a
# device. With these flags some versions of dd (GNU) refuse symbolic links, and do not wait for a FIFO.
_READ = f"""v=iflag={{flags}}; dd $v if=/dev/null count=0 2>/dev/null || v=;
    exec dd $v if="./$n" bs={LARGEST_FILE} count=1 2>/dev/null & w=$! ;
    (for i in 1 2 3 4 5 6 7 8 9 10; do sleep 1; done; kill -9 $w) >/dev/null 2>&1 & k=$! ;
    wait $w; r=$?; kill $k"""
_OF_FILE, _OF_LINK = (_READ.replace("{flags}", flags) for flags in ("nofollow,nonblock", "nonblock"))

# Sets $k to the kind, $w to whether a file can be created, $l if there are leftovers, and $u to the markers. Then one
# process prints the facts of file and directory, another the digest. The file is opened without a deadline only if no
# user but root and the user of this command can replace it between test and opening.
_FACTS_SCRIPT = """
l=""; u=""; w=n
if cd -P "$a/" 2>/dev/null; then
    k=missing
    # Only for root a missing target is certain: others may be unable to enter the directory of the target.
    if [ -L "./$n" ]; then k=link; [ -f "./$n" ] || [ "$(id -u)" -gt 0 ] || k=dangling
    elif [ -f "./$n" ]; then k=file
    elif [ -d "./$n" ]; then k=directory
    elif [ -e "./$n" ]; then k=other; fi
    [ -w . ] && w=y
    # If root cannot write a file, it is immutable or on a read-only mount, so root cannot replace it either.
    [ $k = file ] && { [ -w "./$n" ] || [ "$(id -u)" -gt 0 ] || w=n; }
    # In a sticky directory only root and the owners of the directory and of the file can replace the file.
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
        # Without access it is unknown whether the path exists.
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


# An init script exits with 0 if the service runs, and with 1 to 3 if not. It does not report the start at boot.
_SERVICE = """
if [ -d /run/systemd/system ]; then
    echo "service|$(exec systemctl is-active -- "$v" 2>/dev/null)|$(exec systemctl is-enabled -- "$v" 2>/dev/null)"
elif [ -x "/etc/init.d/$v" ]; then
    (cd / && exec "/etc/init.d/$v" status) </dev/null >/dev/null 2>&1
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
    # GNU and busybox print UNKNOWN for an id without a name.
    user, group = (number if name == "UNKNOWN" else name for number, name in ((uid, user), (gid, group)))
    return found._replace(size=int(size), uid=uid, user=user, gid=gid, group=group, mode=int(mode, 8))


def read_command(path: str, *, link: bool = False) -> str:
    """Print up to :data:`LARGEST_FILE` bytes of the file for :func:`text_in`; fail if the path is not a file.

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
    """Fail if and as the commands that write and remove would fail to enter the directory; changes nothing."""
    script = """
        ls -d / >/dev/null
        [ $? -eq 126 ] && exit {noexec}
        {enter}
        mounted && exit {busy}"""
    return shell.one_line(f"""{shell.start(path)}
        {_filled(script, {"missing": _NO_DIRECTORY})}
        {shell.echo(_DONE)}""")


# Enters the directory and sets $e to its physical path, which is wrong if another user moves a directory at the same
# time. A symbolic link among the parents is followed only if no user but root and this one could have made it: at the
# first link the walk starts again at the root, and examines each directory ($s).
_ENTER = """
# Whether $1 is the physical path of the working directory. Shells but bash, ksh and zsh get it from the kernel by the
# link /proc/self/cwd, without a process; these three derive it from names, which others may change.
at() {
    [ -z "$BASH_VERSION$KSH_VERSION$ZSH_VERSION" ] && (cd -P /proc/self/cwd && [ "$PWD" = "$1" ]) 2>/dev/null ||
        [ "$([ -x /bin/pwd ] && exec /bin/pwd -P; exec env pwd -P)" = "$(printf %s "$1")" ]
}
for c in cat chmod date dd env ln ls mkdir mv rm rmdir; do
    command -v $c >/dev/null || { echo "this host has no $c; install coreutils or busybox" >&2; exit 1; }
done
# Whether only root and this user can change names in the directory $1.
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

# Make a directory only in a verified one: a directory made elsewhere would stay there.
_MAKE = """{ at "${e:-/}" || exit {changed}; (umask 022; mkdir "./$c"); } ||
    [ -d "./$c" ] || exit 1"""

# There is nothing to remove in a directory that is missing.
_NO_DIRECTORY = f"{{ {shell.echo(_DONE)}; exit 0; }}"

# Writes into a private directory, after a check that no other user has replaced that directory.
_WRITE = """
{enter}
{clean}
t=.$n.writing-$$-{random}
d=; j=
q() {
    # A second signal must not interrupt the cleaning.
    trap "" HUP INT TERM
    [ "$j" = y ] && rm -f "./$n"* "./.$n."* ${d:+"$d"}
    # Remove "../$t" instead of entering "..", because ksh93 would enter the parent directory by its name.
    rmdir "./${j:+../}$t"; exit $1
}
trap "q 1" HUP INT TERM
# mkdir -m sets the mode by name, so it is used only if no other user can replace the directory. The sticky bit
# distinguishes a directory of a writer from other directories of this user.
p=
safe . && p="-m 1700"
mkdir $p "./$t" || { [ -z "$p" ] || rmdir "./$t" 2>/dev/null; exit 1; }
cd -P "./$t" && j=n && at "$e/$t" && [ -O . ] && { [ -n "$p" ] || chmod 1700 .; } || q {changed}
# Remove a default ACL that the private directory inherited, because the file would inherit it too.
[ -n "$p" ] || case $(setfacl -bk . 2>/dev/null; exec ls -ld .) in ??????????+*) q {changed};; esac
for f in "./$n"* "./.$n."*; do if [ -e "$f" ] || [ -L "$f" ]; then q {changed}; fi; done
j=y
f=./$n
# A file system that ignores modes, such as CIFS, ignores the sticky bit too.
[ -k . ] || { true > "$f"; case $(exec ls -ld "$f") in -rw-------*|{shown}*) :;; *) q {no_modes};; esac; }
# With bs=1 a record is a byte, so the number of records, which any dd reports, is the size. A message of the dynamic
# linker can precede that number.
v=$(exec dd {input}of="$f" bs=1 2>&1) || { echo "$v" >&2; q 1; }
case " $(echo $v)" in *" {size}+0 "*) :;; *) q {no_input};; esac
{give} || q 1
# Keep the ACL of the replaced file, if only root and the owner of the new file could have set it.
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
# mv into "..": so a directory at the path makes mv fail, and a link at the path is replaced.
mv -f "$f" .. || { d=../.$n.restart-{random}; mounted && q {busy}; q 1; }
[ -z "$x" ] || { [ -n "$p" ] && restorecon "../$n" 2>/dev/null; }
trap - HUP INT TERM
cd -P .. && rmdir "./$t"
"""

# The old file is read by a hard link in the private directory, where no other user can replace it by a FIFO or link.
_KEEP = """
if [ -L "../$n" ]; then :
elif [ -f "../$n" ]; then
    # Named as core names backups: the process number distinguishes backups of the same second.
    b=$n.$$.$(date +%Y-%m-%d@%H:%M:%S)~
    ln "../$n" "$f-" || q {no_backup}
    # At most 256 blocks of 512 or 1024 bytes, because the owner of the old file can let it grow.
    [ -f "$f-" ] && { [ -L "$f-" ] || (ulimit -f 256 && exec cat "$f-" > "./$b"); } || q 1
    # chmod, because in a directory with a default ACL the umask has no effect.
    chmod go= "./$b" && rm -f "$f-" && mv -f "./$b" .. || q 1
fi
"""


def write_command(desired: Desired, *, backup: bool = False, source: str | None = None) -> str:
    """Write standard input, or the file ``source`` of the host, to the path: atomically, private until it is complete.

    A symbolic link is replaced, not followed. Incomplete input is refused: a connection without standard input must not
    leave an empty file. If a service reads the file, leave a marker, and print all markers for :func:`markers_in`.
    Check the result with :func:`failure`, as of all commands that write or remove.
    """
    spec = (desired.owner or "") + (f":{desired.group}" if desired.group else "")
    # chown first, because it clears setuid.
    give = ('chown -h "$o" "$f" && ' if spec else "") + f'chmod {desired.mode:04o} "$f"'
    # true instead of ":", because a shell exits if a redirection of the special builtin ":" fails.
    mark = 'true > "./.$n.restart-{random}" && mv -f "./.$n.restart-{random}" .. || q 1'
    values = {
        "give": give,
        "keep": _KEEP if backup else "",
        "missing": _MAKE,
        "mark": mark if desired.service else "",
        "random": secrets.token_hex(4),
        "shown": filemode(S_IFREG | desired.mode),
        "input": 'if="$m" ' if source else "",
        "size": len(desired.data or b""),
    }
    # Refuse a terminal, which the connection may force (ssh -tt): its input would not end.
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
    """Remove the file or link and all markers, or only these ``markers``; and directories of killed writers beside it.

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
    """Whether the command wrote nothing because it was not run, or did not get the input."""
    return shell.BEGUN not in done.stdout or done.returncode == _CODES["no_input"]


def failure(done: shell.Completed) -> str:
    """Why a command that writes or removes failed, and what to do, as a sentence; empty if the command succeeded."""
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


# Verify the private directory again, which others may have replaced by a link. Delete files only if it has the sticky
# bit: without it, the writer was killed before it wrote a file.
_CLEAN = leftovers.for_leftovers("""(
    cd -P "./$f" && at "$e/$f" && [ -O . ] &&
    case $(ls -ld .) in drwx--[-S]--T*) rm -f "./$n"* "./.$n."*;; esac
    )
    rmdir "./$f" 2>/dev/null
    [ -k "./$f" ] && [ -O "./$f" ] && exit {leftover}""")


def _filled(script: str, values: Mapping[str, object]) -> str:
    """A script with its placeholders replaced; a value may hold placeholders of later values and of exit codes."""
    for name, text in {"enter": _ENTER, "clean": _CLEAN, **values, **_CODES}.items():
        script = script.replace(f"{{{name}}}", str(text))
    return script


# Assembled when core loads the plugin, instead of in the worker of each host.
_FACTS_PARTS = {
    "facts": _FACTS,
    "leftovers": leftovers.for_leftovers('[ -k "$f" ] && l="|left"'),
    "markers": leftovers.LIST_MARKERS,
    "limit": LARGEST_FILE,
    "read": _OF_FILE,
}
_FACTS_COMMAND = shell.one_line(_filled(_FACTS_SCRIPT, _FACTS_PARTS))
