# Copyright (c) 2026 monitor.cloud contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

import pytest

from ansible_collections.monitor.cloud.plugins.plugin_utils._fleet.slices import Joined
from ansible_collections.monitor.cloud.plugins.plugin_utils._report.remedies import LABELS_DIFFER
from ansible_collections.monitor.cloud.plugins.plugin_utils._report.table import adoptions, rows, sentences, table
from ansible_collections.monitor.cloud.tests.support.audits import (
    TIERS,
    account,
    inspected,
    made,
    report,
    unreachable,
)


def test_the_table_as_it_is_printed() -> None:
    name = "a-name-that-is-longer-than-thirty-characters"
    of = report([inspected(name, "no_file")], account([name, "old"], plan=TIERS[0]))
    text, _todo = made(of)
    assert (
        text.replace(" -e prune_", "\n -e prune_")
        == """\
HOST                            STATE           FINDING
a-name-that-is-longer-than-thi  not_configured  Not configured. There is no configuration
rty-characters                                  /etc/agent.conf.

Hosts: 1 (1 not_configured).
Clients without a host: 1 (old).
Clients: 2 of 3 that monitor-3 includes, 10 a month.

What to do:

  Run the commands in the directory in which the audit was started. Add options that the report does
  not know, such as --become, extra variables and vault passwords.

  Not configured (not_configured): 1. Configure these hosts: the account has their clients, but the
  hosts have no keys.
    ansible-playbook monitor.cloud.rollout --limit a-name-that-is-longer-than-thirty-characters

  Clients without a host: 1. Delete the clients of hosts that are gone. The command asks first.
  Other users may own some of them.
    ANSIBLE_INVENTORY_ANY_UNPARSED_IS_FAILED=true ansible-playbook monitor.cloud.prune
 -e prune_pattern=old
 -e prune_limit=1"""
    )
    assert table(report([], account([])), []) == ("\nHosts: none.\nClients: 0. The plan is not known: it was not read")


def test_a_long_text_is_cut_and_the_last_column_takes_the_rest_of_the_line() -> None:
    lines = rows(("HOST", "FINDING"), [("x" * 2_000_000, "y" * 2_000_000)])
    assert 10_000 < sum(map(len, lines)) < 50_000
    for header in (("HOST", "FINDING"), ("HOST", "STATE", "FINDING")):
        assert len(rows(header, [["x" * 100] * len(header)])[1]) == 100
    longest, longer = ("".join(rows(("HOST", "FINDING"), [("web", "x" * size)])) for size in (10_000, 10_001))
    assert "…" in longer and "…" not in longest


def test_sentences_about_joined_audits_and_about_a_token_that_reads_no_keys() -> None:
    times = {"": "", "1": "1 audit, made at 1", "11": "2 audits, made at 1", "213": "3 audits, made from 1 to 3"}
    for given, text in times.items():
        joined = Joined([{"generated_at": time, "stale": False} for time in given], ["A note."])
        of = report([inspected("web")], account(["web"]), joined=joined)
        expected = [f"Joined from {text}."] if text else []
        assert sentences(of) == [*expected, "A note."]
    masked = report([inspected("web", "unverifiable", key_fingerprint="!")], account(["web"], masked=["web"]))
    [sentence] = sentences(masked)
    assert sentence.startswith("Hosts whose keys this token cannot compare: 1. These hosts do not count as drift.")


def test_labels_that_a_play_may_set_are_named_once_above_the_steps() -> None:
    seen = [inspected(host, "other", owner_label=f"{host}-prod") for host in ("web-1", "web-2")]
    text = " ".join(made(report(seen, account(["web-1-prod", "web-2-prod", "old"])))[0].split())
    assert text.count(LABELS_DIFFER) == 1
    assert text.index(LABELS_DIFFER) < text.index("What to do:")
    # The first cause is the more probable cause.
    assert LABELS_DIFFER.index("a play, a role or set_fact sets") < LABELS_DIFFER.index("renamed")


def test_what_adopt_does_and_why() -> None:
    seen = [
        inspected("new", "other", owner_label="old"),
        inspected("web2", "other", owner_label="web1"),
        inspected("web3", "other", owner_label="web2"),
        inspected("clone", "other", owner_label="db"),
        inspected("db"),
        unreachable("gone"),
    ]
    # The lines have the order of the states, the worst first.
    of = report(seen, account(["old", "web1", "web2", "db", "clone", "gone"]))
    assert (
        adoptions(of)
        == """\
HOST   ACTION    WHY
gone   unknown   Could not be reached: no route.
clone  conflict  Carries the key of client 'db'. The client 'db' belongs to host db. The same key is
                 on db.
web2   later     Client 'web1' gets the label 'web2' in a later run: another client must give up
                 this label first.
new    adopt     Client 'old' gets the label 'new'.
web3   adopt     Client 'web2' gets the label 'web3'.
Hosts to adopt: 2 of 6.
Hosts to adopt in a later run: 1. Run adopt again."""
    )
    assert adoptions(report([inspected("web")], account(["web"]))) == "Hosts to adopt: 0 of 1."


@pytest.mark.parametrize(
    ("drift", "ok", "shown", "more"), [(49, 1, 50, 0), (50, 1, 50, 0), (200, 0, 200, 0), (201, 9, 200, 1)]
)
def test_the_worst_findings_of_a_large_fleet_are_shown(drift: int, ok: int, shown: int, more: int) -> None:
    seen = [inspected(f"web-{number}", differs=["mode"] if number < drift else []) for number in range(drift + ok)]
    lines = made(report(seen, account([host.name for host in seen])))[0].partition("\n\n")[0].splitlines()
    assert len([line for line in lines if line.startswith("web-")]) == shown
    assert lines[shown + 1 :] == ([f"... and {more} more findings."] if more else [])
