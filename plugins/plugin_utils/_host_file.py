# Copyright (c) 2026 monitor.cloud contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""One file on a host, read and written by single shell commands that need no Python there. Pure: text in, text out.

The commands stick to POSIX sh and to the tools that GNU, BSD and busybox systems share.
"""

from __future__ import annotations

import dataclasses
import posixpath
import re
import shlex

from ansible_collections.monitor.cloud.plugins.module_utils._errors import InputError

# Enough for any agent's configuration, and a bound on what a run reads.
LARGEST_FILE = 65536
# Exit codes of the writer for "not done, and not by this way": another way has to be taken.
_NO_INPUT = 91
_NOT_REPLACED = 92

_FACTS = "monitor.cloud facts"
_BEGUN = "monitor.cloud begun"
_DONE = "monitor.cloud done"
# Each on a line of its own, for a login shell's own messages may surround them.
_FACTS_LINE = re.compile(rf"^{_FACTS}\|(?P<kind>[a-z]+)\|(?P<writable>[yn])(?P<leftovers>\|left)?\r?$", re.MULTILINE)
_STAT_LINE = re.compile(r"^stat\|([^|]*)\|([^|]*)\|([^|]*)\|([^|]*)\|([0-7]+)\r?$", re.MULTILINE)
_DIGEST_LINE = re.compile(r"^([0-9a-f]{64})\b", re.MULTILINE)


@dataclasses.dataclass(frozen=True)
class HostFile:
    """What stands at a path. ``kind``: file, missing, homeless (no directory for it), hidden (its directory can't be
    entered), link, directory, or other. ``writable``: whether something can be put there.

    ``mode`` holds the permission bits. ``digest`` is the SHA-256 of the content in hex; None where the host has no tool
    for it or the file can't be read. Ids are decimal digits. ``leftovers``: whether files of killed writers lie beside.
    """

    kind: str
    writable: bool = True
    uid: str | None = None
    user: str | None = None
    gid: str | None = None
    group: str | None = None
    mode: int | None = None
    digest: str | None = None
    leftovers: bool = False


def absolute(path: str) -> str:
    """The path, or InputError unless it names a file from the root on."""
    if not path.startswith("/") or path.endswith("/") or "\0" in path or posixpath.normpath(path) == "/":
        raise InputError(f"path {path!r} must be the absolute path of a file.")
    return path


def facts_command(path: str) -> str:
    """Prints lines for :func:`parse_facts`; changes nothing."""
    # The tools print for themselves rather than into variables: a fork less for each, on every host of every run.
    return f"""LC_ALL=C; export LC_ALL; p={shlex.quote(path)}; a=${{p%/*}}; w=n; l=
if [ -L "$p" ]; then k=link
elif [ -f "$p" ]; then k=file
elif [ -d "$p" ]; then k=directory
elif [ -e "$p" ]; then k=other
elif ! [ -d "$a/" ]; then k=homeless
elif ! [ -x "$a/" ]; then k=hidden
else k=missing; fi
while [ -n "$a" ] && ! [ -e "$a" ]; do a=${{a%/*}}; done
[ -d "$a/" ] && [ -w "$a/" ] && w=y
{_for_leftovers(path, "l='|left'")}
echo "{_FACTS}|$k|$w$l"
if [ $k = file ]; then
stat -c 'stat|%u|%U|%g|%G|%a' "$p" 2>/dev/null || stat -f 'stat|%u|%Su|%g|%Sg|%Lp' "$p" 2>/dev/null
{{ sha256sum || shasum -a 256 || sha256 -q; }} 2>/dev/null < "$p"
fi
:"""


def parse_facts(output: str) -> HostFile | None:
    """What :func:`facts_command` printed, or None if it is not there."""
    line = _FACTS_LINE.search(output)
    if line is None:
        return None
    found = HostFile(line["kind"], line["writable"] == "y", leftovers=line["leftovers"] is not None)
    if found.kind != "file":
        return found
    stat, digest = _STAT_LINE.search(output, line.end()), _DIGEST_LINE.search(output, line.end())
    found = dataclasses.replace(found, digest=digest[1] if digest else None)
    if stat is None:
        return found
    uid, user, gid, group, mode = stat.groups()
    return dataclasses.replace(found, uid=uid, user=user, gid=gid, group=group, mode=int(mode, 8))


def read_command(path: str) -> str:
    """Prints the start of the file, as much as :data:`LARGEST_FILE`."""
    return f"dd if={shlex.quote(path)} bs={LARGEST_FILE} count=1 2>/dev/null"


def write_command(path: str, size: int, *, owner: str | None, group: str | None, mode: int, backup: bool) -> str:
    """Puts standard input at the path, atomically and never readable by others on the way.

    Replaces a link rather than following it. Takes only input that arrives whole: a connection that does not pass
    standard input on must not leave an empty file. Check with :func:`was_written`.
    """
    quoted, directory = shlex.quote(path), shlex.quote(posixpath.dirname(path))
    make = f"mktemp {_temporary(path)}$$-XXXXXXXX"
    spec = (owner or "") + (f":{group}" if group else "")
    give = f'chown {shlex.quote(spec)} "$t" || exit 1' if spec else ":"
    # As careful as with the file itself: what is kept may hold a key.
    keep = f"""if [ -f "$p" ]; then u=$({make}) || exit 1; cat "$p" > "$u" || exit 1
mv -f "$u" "$p.$(date +%Y-%m-%d@%H:%M:%S)~" || exit 1; fi"""
    return f"""echo "{_BEGUN}"; LC_ALL=C; export LC_ALL; umask 077; p={quoted}; t=; u=
[ -d {directory} ] || (umask 022; mkdir -p {directory}) || exit 1
{_for_leftovers(path, 'rm -f "$f" || exit 1')}
trap 'rm -f "$t" "$u"' EXIT; trap 'exit 1' HUP INT TERM
t=$({make}) || exit 1
cat > "$t" || exit 1
[ $(wc -c < "$t") -eq {size} ] || exit {_NO_INPUT}
{give}
chmod {mode:04o} "$t" || exit 1
if [ -e /sys/fs/selinux/enforce ] && [ -e "$p" ]; then chcon --reference="$p" "$t" || exit 1; fi
{keep if backup else ":"}
if [ -L "$p" ] && [ -d "$p" ]; then rm -f "$p" || exit 1; fi
mv -f "$t" "$p" || exit {_NOT_REPLACED}
trap - EXIT
echo "{_DONE}" """.rstrip()


def needs_other_way(returncode: int, output: str) -> bool:
    """Whether the writer did nothing for a reason that another way of writing does not have.

    It was not run at all, say for the lack of a terminal; it got no input; or the file is a mount and can't be
    replaced.
    """
    return _BEGUN not in output or returncode in (_NO_INPUT, _NOT_REPLACED)


def narrow_command(path: str) -> str:
    """Makes sure that there is a file which its owner alone can read, to be replaced by other means.

    A link becomes such a file, for those means would give the new file the permissions of what it leads to.
    """
    return f"""umask 077; p={shlex.quote(path)}; (umask 022; mkdir -p {shlex.quote(posixpath.dirname(path))}) || exit 1
{_for_leftovers(path, 'rm -f "$f" || exit 1')}
if [ -L "$p" ]; then t=$(mktemp {_temporary(path)}$$-XXXXXXXX) || exit 1; trap 'rm -f "$t"' EXIT
if [ -f "$p" ]; then cat "$p" > "$t" || exit 1; fi
if [ -d "$p" ]; then rm -f "$p" || exit 1; fi
mv -f "$t" "$p" || exit 1; fi
: >> "$p" && chmod go= "$p" """.rstrip()


def remove_command(path: str) -> str:
    """Removes the file or link, and what writers that were killed left beside it. Check with :func:`was_written`."""
    return f"""rm -f {shlex.quote(path)} || exit 1
{_for_leftovers(path, 'rm -f "$f" || exit 1')}
echo "{_DONE}" """.rstrip()


def was_written(returncode: int, output: str) -> bool:
    """Whether a writing or removing command did its work."""
    return returncode == 0 and _DONE in output


def _temporary(path: str) -> str:
    """How the name of a file begins that is to become the file at the path, quoted. The writer's process id follows."""
    directory, name = posixpath.split(path)
    return shlex.quote(posixpath.join(directory, f".{name}.writing-"))


def _for_leftovers(path: str, action: str) -> str:
    """Does the action with each temporary file, ``$f``, whose writer is no more, since it was killed.

    One whose writer lives is another run's. After a day the number is some other process's by now. Where there is no
    such file this starts no process.
    """
    return f"""for f in {_temporary(path)}*-????????; do
n=${{f##*.writing-}}; n=${{n%-*}}
case $n in ''|*[!0-9]*) continue; esac
[ -f "$f" ] && [ ! -L "$f" ] || continue
if kill -0 "$n" 2>/dev/null || [ -d "/proc/$n" ]; then [ -n "$(find "$f" -mtime +0)" ] || continue; fi
{action}; done"""
