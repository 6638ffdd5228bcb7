# Copyright (c) 2026 monitor.cloud contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Tasks, faults and changes by others in any order, and what holds after each of them."""

import re
from pathlib import Path
from typing import Any

from hypothesis import Phase, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, rule, run_state_machine_as_test

from ansible_collections.monitor.cloud.plugins.modules import monitor_client, monitor_clients, monitor_plan
from ansible_collections.monitor.cloud.tests.emulator.harness import Emulator
from ansible_collections.monitor.cloud.tests.faults import outcomes
from ansible_collections.monitor.cloud.tests.support.checks import SOAK, assert_sound, tally
from ansible_collections.monitor.cloud.tests.support.inputs import examples
from ansible_collections.monitor.cloud.tests.support.runs import ROLLOUT, Local
from ansible_collections.monitor.cloud.tests.support.tasks import assert_predicted, labels, writes

# The last one does not match the prune pattern, though it is similar.
LABELS = ("web-1", "web-2", "web-3", "old-1", "old-2", "old-10")
TIERS = (None, "monitor-3", "monitor-10", "monitor-100")
# One that takes seconds is for the long form.
_FAULTS = tuple(name for name in outcomes.FAULTS if SOAK or name != "slow")
some_labels = st.lists(st.sampled_from(LABELS), unique=True, max_size=4)
faults = st.none() | st.tuples(
    st.integers(0, 5), st.sampled_from(_FAULTS), st.sampled_from([1, 1, 2, 3, -1]), st.integers(0, 11)
)


class Tasks(RuleBasedStateMachine):
    """Tasks of the modules, without Ansible's machinery around them. Subclasses have an emulator."""

    emulator: Emulator

    @initialize(
        labels=some_labels,
        tier=st.sampled_from(TIERS),
        behaviour=st.sampled_from([{}, {"update_verb": "put_only"}, {"delete_status": 204}, {"list_order": "newest"}]),
    )
    def begin(self, labels: list[str], tier: str | None, behaviour: dict[str, Any]) -> None:
        self.emulator.reset()
        self.emulator.configure(**behaviour)
        self.emulator.seed(labels=labels)
        self.emulator.set_plan(tier)
        self.masked = set[str]()

    @rule(
        kind=st.sampled_from(["present", "prune", "absent", "rename"]),
        labels=some_labels,
        renames=st.dictionaries(st.sampled_from(LABELS), st.sampled_from(LABELS), min_size=1, max_size=2),
        fault=faults,
    )
    def many(self, kind: str, labels: list[str], renames: dict[str, str], fault: Any) -> None:
        surplus = {label for label in LABELS if re.fullmatch("old-.", label)} - set(labels)
        kinds: dict[str, tuple[dict[str, Any], set[str]]] = {
            "present": ({}, set()),
            "prune": ({"prune": True, "prune_pattern": "old-.", "prune_limit": 2}, surplus),
            "absent": ({"state": "absent"}, set(labels)),
            "rename": ({"renames": renames}, set()),
        }
        more, deleted = kinds[kind]
        self._task(monitor_clients, {"labels": labels, **more}, fault, deleted=deleted, renamed=more.get("renames"))

    @rule(label=st.sampled_from(LABELS), present=st.booleans(), fault=faults)
    def one(self, label: str, present: bool, fault: Any) -> None:
        options = {"label": label, "state": "present" if present else "absent"}
        self._task(monitor_client, options, fault, deleted=set() if present else {label})

    @rule(number=st.integers(0, 5), label=st.none() | st.sampled_from(LABELS), present=st.booleans(), fault=faults)
    def one_by_id(self, number: int, label: str | None, present: bool, fault: Any) -> None:
        clients = self.emulator.clients()
        client: dict[str, Any] = clients[number % len(clients)] if clients else {"id": 99, "label": "missing"}
        options = {"id": client["id"], "label": label, "state": "present" if present else "absent"}
        renamed = {client["label"]: label} if label and present else {}
        self._task(monitor_client, options, fault, renamed=renamed, deleted=set() if present else {client["label"]})

    @rule(spec=st.sampled_from([{"subscription": tier or "free"} for tier in TIERS] + [{"min_clients": 4}]),
          force=st.booleans(), fault=faults)  # fmt: skip
    def plan(self, spec: dict[str, Any], force: bool, fault: Any) -> None:
        self._task(monitor_plan, {**spec, "allow_over_capacity": force}, fault)

    @rule(tier=st.sampled_from(TIERS))
    def other_controller_changes_the_plan(self, tier: str | None) -> None:
        self.emulator.set_plan(tier)

    @rule(number=st.none() | st.integers(0, 5), label=st.none() | st.sampled_from(LABELS))
    def other_controller_creates_renames_or_deletes(self, number: int | None, label: str | None) -> None:
        clients = self.emulator.clients()
        if clients and number is not None:
            path = f"/monitor/clients/{clients[number % len(clients)]['id']}"
            renaming = "PUT" if self.emulator.settings()["update_verb"] == "put_only" else "POST"
            self.emulator.call(renaming if label else "DELETE", path, {"label": label} if label else None)
        elif label and label not in {client["label"] for client in clients}:
            self.emulator.seed(labels=[label])

    @rule(labels=some_labels, kind=st.sampled_from(["text", "missing", "cut_short"]))
    def keys_are_masked(self, labels: list[str], kind: str) -> None:
        self.masked = set(labels)
        self.emulator.configure(mask_labels=labels, mask_kind=kind)

    def _task(
        self,
        module: Any,
        options: dict[str, Any],
        fault: tuple[int, str, int, int] | None,
        *,
        deleted: set[str] | None = None,
        renamed: dict[str, str] | None = None,
    ) -> None:
        """Check mode, the task, with a fault or without, and the task again."""
        case, before = outcomes.Case(module, options), outcomes.Account.of(self.emulator)
        moved = {*(renamed or {}), *(renamed or {}).values()}
        predicted = self._check(case)
        outcome = self._run(case, fault and (self._operation(predicted, fault[0]), *fault[1:]))
        desired = set(options.get("labels") or [options.get("label")])
        outcomes.assert_only(before, outcomes.Account.of(self.emulator), deleted or set(), renamed or {}, desired)
        if fault is not None:
            if fault[1] in outcomes.PASSING and fault[2] == 1 and predicted.result is not None:
                assert outcome.result is not None, "a retry was enough"
            predicted = self._check(case)
            outcome = self._run(case, None)
        self._assert_predicted(predicted, outcome, moved)
        if outcome.result is None:
            assert outcome.details == {}, "a task that can't be done is refused before anything is done"
        else:
            outcomes.assert_settled(self.emulator, case)

    def _operation(self, predicted: outcomes.Outcome, number: int) -> str:
        """One of the operations that a task will use that check mode, its last run, has predicted."""
        used = {entry["operation"] for entry in self.emulator.requests()}
        result = predicted.result or {"changed": False}
        if result["changed"] and "plan" in result:
            used.add("update_plan")
        elif result["changed"]:
            before, after = result["diff"]["before"], result["diff"]["after"]
            gone, new = before.keys() - after.keys(), after.keys() - before.keys()
            used |= {"delete_client", "get_client"} if len(gone) > len(new) else set()
            used |= {"create_client"} if len(new) > len(gone) else set()
            used |= {"update_client"} if gone and new else set()
        return sorted(used)[number % len(used)] if used else "list_clients"

    def _check(self, case: outcomes.Case) -> outcomes.Outcome:
        before = outcomes.Account.of(self.emulator)
        self.emulator.clear_log()
        outcome = outcomes.attempt(self.emulator, case, check_mode=True)
        assert writes(self.emulator) == [], "check mode wrote"
        assert outcomes.Account.of(self.emulator) == before
        assert_sound(self.emulator, outcome.text)
        return outcome

    def _run(self, case: outcomes.Case, given: tuple[str, str, int, int] | None) -> outcomes.Outcome:
        if given is None:
            return outcomes.carried_out(self.emulator, case, masked=True)
        operation, name, times, number = given
        fault = outcomes.scheduled(operation, name, number, times)
        options = {"retry_timeout": 0.1 if times == -1 else 20.0}
        options["timeout"] = 0.5 if name == "slow" else 20.0
        return outcomes.carried_out(self.emulator, case, fault=fault, masked=True, **options)

    def _assert_predicted(self, predicted: outcomes.Outcome, outcome: outcomes.Outcome, moved: set[str]) -> None:
        """Check mode predicted what was then done. ``moved``: the labels that clients get or lose."""
        if predicted.result is not None and outcome.result is not None:
            real = dict(outcome.result)
            if self.masked & moved:
                # The emulator masks by label: no client would be read by others once it has another name.
                lists = ("changed", "created", "renamed", "deleted", "unchanged", "failures", "warnings")
                assert {name: real.get(name) for name in lists} == {name: predicted.result.get(name) for name in lists}
                return
            if "key_owners" in real:
                # A new client whose keys are masked owns no known key.
                unseen = {label: label for label in real["created"] if label in self.masked}
                real["key_owners"] = {**real["key_owners"], **unseen}
            assert_predicted(predicted.result, real)
        else:
            assert (predicted.result, predicted.message) == (outcome.result, outcome.message)


def test_tasks_in_any_sequence(emulator: Emulator, quick_backoff: None) -> None:
    """Observed: "lost responses", "statuses", "gateway", "errors", "unknown fields"."""

    class Bound(Tasks):
        pass

    Bound.emulator = emulator
    steps = settings(
        examples(30, 1500),
        stateful_step_count=16 if SOAK else 8,
        report_multiple_bugs=False,
        phases=[Phase.generate, Phase.shrink],
    )
    run_state_machine_as_test(Bound, settings=steps)


def test_a_rollout_whose_creates_are_not_confirmed_does_what_it_can_and_the_next_converges(
    emulator: Emulator, tmp_path: Path
) -> None:
    """One host without drift, one that is a clone of it, and one that is new."""
    hosts = Local(tmp_path, emulator, "web-1", "web-2", "web-3")
    emulator.seed(labels=["web-1", "other", "web-2"])
    for host in ("web-1", "web-2"):
        hosts.write(host, hosts.expected("web-1"))
    emulator.fault(**outcomes.scheduled("create_client", "504 though done", 0, -1))
    run = hosts.run(ROLLOUT, MONITOR_TIMEOUT="30", MONITOR_RETRY_TIMEOUT="0.6")
    met = sum(entry["fault"] is not None for entry in emulator.settle())
    assert_sound(emulator, run.output, faults=met)
    assert met and hosts.read("web-2") == hosts.expected("web-2"), run.output
    emulator.clear_faults()
    run = hosts.succeed()
    assert_sound(emulator, run.output)
    assert labels(emulator) == ["other", "web-1", "web-2", "web-3"]
    assert all(hosts.read(host) == hosts.expected(host) for host in hosts.host_vars)
    tally(converged=1)
