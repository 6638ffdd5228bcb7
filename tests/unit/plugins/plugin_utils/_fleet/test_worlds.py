# Copyright (c) 2026 monitor.cloud contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Decisions about random hosts, machines and accounts."""

import copy
import dataclasses
import random
from typing import Any, Literal

import pytest

from ansible_collections.monitor.cloud.plugins.plugin_utils._fleet.decide import Changes, decide
from ansible_collections.monitor.cloud.plugins.plugin_utils._fleet.facts import (
    RUNNING,
    Account,
    Facts,
    Host,
    Inventory,
    Wanted,
)
from ansible_collections.monitor.cloud.tests.support.checks import short_or_long

LABELS = [f"web-{number}" for number in range(1, 8)]
# In place of the key of a file: the file cannot be read.
UNREADABLE = "unreadable"
# Steps that a rollout repeats, because only an installer knows whether it changes something.
REPEATED = {"install", "uninstall", "write", "service", "stop", "restart_after_change", "restart_if_running"}


@dataclasses.dataclass
class Machine:
    """A machine. ``key``: the key in its file, an empty text if the file has no key, None if there is no file."""

    name: str
    key: str | None
    is_edited: bool
    service_state: str | None
    service_enabled: str
    is_outdated: bool
    wanted_service: Literal["started", "stopped", ""]
    problem: str
    unknown_owner: str


@dataclasses.dataclass
class Name:
    """A host of the inventory. Two hosts can be the same machine."""

    name: str
    label: str
    machine: Machine
    service: str
    wanted: Wanted
    is_reached: bool
    decides: bool


@dataclasses.dataclass
class World:
    names: list[Name]
    clients: dict[str, str]
    masked: set[str]
    read_only: bool
    other_account: str

    def account(self) -> Account:
        clients = {label: {"label": label, "key_fingerprint": self._readable(label)} for label in self.clients}
        return Account(clients, "a", self.read_only)

    def _readable(self, label: str) -> str | None:
        if label in self.masked:
            return None
        return self.clients[label]

    def inventory(self) -> Inventory:
        absent = frozenset(each.name for each in self.names if each.wanted.state == "absent")
        return Inventory(
            {each.name: each.label for each in self.names},
            absent=absent,
            removed=frozenset(each.name for each in self.names if each.name in absent and not each.decides),
            accounts={each.name: "a" for each in self.names} | {self.other_account: "b"},
        )

    def hosts(self) -> list[Host]:
        return [self._host(each) for each in self.names]

    def _host(self, each: Name) -> Host:
        facts = None
        if each.is_reached:
            facts = self._facts(each)
        return Host(each.name, each.label, facts, decides=each.decides)

    def _facts(self, each: Name) -> Facts:
        machine = each.machine
        owner = self._owner_of(machine.key, each.label)
        known: dict[str, Any] = {}
        if owner in ("own", "other", "unknown"):
            known["key_fingerprint"] = machine.key
        if owner in ("own", "other"):
            known["owner_label"] = next(label for label, key in self.clients.items() if key == machine.key)
        if owner != "own" or machine.is_edited:
            known["differs"] = ["content"]
        if each.wanted.state == "present":
            # The owner of a file that is removed does not matter.
            known["unknown_owner"] = machine.unknown_owner
        if each.service:
            known["service_state"] = machine.service_state
            known["service_enabled"] = machine.service_enabled
            known["service_outdated"] = machine.is_outdated
        return Facts(
            label=each.label,
            path="/etc/agent.conf",
            kind="missing" if machine.key is None else "file",
            key_owner=owner,
            problem=machine.problem,
            machine=machine.name,
            service=each.service,
            wanted=each.wanted,
            **known,
        )

    def _owner_of(self, key: str | None, label: str) -> str:
        if key is None:
            return "no_file"
        if key == UNREADABLE:
            return "unverifiable"
        if not key:
            return "no_key"
        readable = {self.clients[each]: each for each in self.clients if each not in self.masked}
        if key in readable and readable[key] == label:
            return "own"
        if key in readable:
            return "other"
        if label in self.masked:
            return "unverifiable"
        return "unknown"

    def decide(self, **options: Any) -> Changes:
        return decide(self.hosts(), self.account(), self.inventory(), **options)

    def apply(self, made: Changes) -> None:
        """Make the steps as the role makes them: create clients first, then change each host."""
        for label in made.create:
            self.clients.setdefault(label, f"new key of {label}")
        for each in self.names:
            change = made.hosts[each.name]
            if each.decides:
                for step in change.steps:
                    self._make(step, each)

    def _make(self, step: str, each: Name) -> None:
        machine = each.machine
        if step == "write" and each.label not in self.masked:
            machine.key = self.clients[each.label]
            machine.is_edited = False
        elif step == "remove":
            machine.key = None
        elif step == "delete_client":
            del self.clients[each.label]
        elif step == "enable":
            machine.service_enabled = "enabled"
        elif step in ("start", "restart", "restart_after_change"):
            machine.service_state = "active"
            machine.is_outdated = False
        elif step == "stop":
            machine.service_state = "inactive"
            if each.wanted.state == "absent":
                machine.service_enabled = "disabled"


def random_world(seed: int) -> World:
    """Return a world with up to seven hosts. Half of the worlds have no faults, because faults hide other decisions."""
    chosen = random.Random(seed)
    has_faults = chosen.random() < 0.5
    registered = chosen.sample(LABELS, chosen.randint(2, 7))
    clients = {label: f"key of {label}" for label in [*registered, "old", "older"]}
    machines = [_random_machine(chosen, number, clients, has_faults) for number in range(7)]
    labels = LABELS[: chosen.randint(2, 7)]
    story = chosen.choice(["renames in turn", "removed host", "", ""])
    if story == "renames in turn":
        # Each host has the key of the host before it.
        count = chosen.randint(1, min(3, len(labels)))
        for machine, label in zip(machines[:count], ["old", *LABELS], strict=False):
            machine.key = clients.get(label)
        clients.pop(labels[count - 1], None)
    if story == "removed host":
        # The first host has the key of the last host, which has no file.
        machines[0].key = clients.get(labels[-1])
        machines[len(labels) - 1].key = None
        clients.pop(labels[0], None)
    if has_faults:
        # Two hosts with one label, and two names of a machine.
        labels[chosen.randrange(len(labels))] = chosen.choice(LABELS)
        machines[chosen.randrange(len(labels))] = machines[0]
    names = []
    for number, label in enumerate(labels):
        names.append(_random_name(chosen, f"host-{number}", label, machines[number]))
    masked = set(chosen.sample(list(clients), chosen.choice([0, 0, 0, 1, 3])))
    other_account = "host-1" if has_faults and chosen.random() < 0.2 else ""
    return World(names, clients, masked, chosen.random() < 0.1, other_account)


def _random_machine(chosen: random.Random, number: int, clients: dict[str, str], has_faults: bool) -> Machine:
    keys = [clients.get(LABELS[number]), None, *clients.values()]
    states = ["active", "inactive", "failed", "activating", None]
    problems = [""]
    owners = [""]
    if has_faults:
        keys += ["key of a stranger", "", UNREADABLE]
        states += ["missing", "masked"]
        problems = ["", "", "the disk is full"]
        owners = ["", "", "the user app"]
    return Machine(
        name=f"m{number}",
        key=chosen.choice([keys[0], keys[0], keys[0], chosen.choice(keys)]),
        is_edited=chosen.random() < 0.2,
        service_state=chosen.choice(states),
        service_enabled=chosen.choice(["enabled", "disabled", "static"]),
        is_outdated=chosen.random() < 0.2,
        wanted_service=chosen.choice(["started", "started", "stopped", ""]),
        problem=chosen.choice(problems),
        unknown_owner=chosen.choice(owners),
    )


def _random_name(chosen: random.Random, name: str, label: str, machine: Machine) -> Name:
    wanted = Wanted(
        state=chosen.choice(["present", "present", "present", "absent"]),
        replace_key=chosen.random() < 0.2,
        installs=chosen.random() < 0.2,
        uninstall=chosen.random() < 0.2,
        # All names of a machine want the same state. Otherwise, each run would start and stop the service.
        service_state=machine.wanted_service,
        service_enabled=chosen.random() < 0.7,
    )
    service = chosen.choice(["", "agent", "agent"])
    return Name(name, label, machine, service, wanted, chosen.random() < 0.85, chosen.random() < 0.85)


def assert_sound(world: World, made: Changes) -> None:
    clients = dict(world.clients)
    labels = [each.label for each in world.names if each.name not in world.inventory().removed]
    carried = {host.owner_label for host in world.hosts()}
    assert len(made.create) == len(set(made.create))
    creators = []
    for each in world.names:
        change = made.hosts[each.name]
        if change.problem or not each.is_reached:
            assert change.steps == []
        if change.client in ("create", "verify") and each.decides:
            assert each.wanted.state == "present"
            creators.append(each.label)
        assert ("delete_client" in change.steps) == (change.client == "delete")
        if change.client == "delete":
            assert each.wanted.state == "absent" and each.label in clients and not world.read_only
            assert change.claimed_by == ""
        assert change.kept != change.label
    # Each new client is of a host of the batch that has no problem.
    assert sorted(creators) == sorted(made.create)
    for orphan in made.orphans:
        assert orphan in clients and orphan not in labels and orphan not in carried
    for old, new in made.renames.items():
        assert old in clients and new not in clients
        [carrier] = [host for host in world.hosts() if host.owner_label == old]
        assert carrier.label == new
    assert len(set(made.renames.values())) == len(made.renames)


def assert_same_in_check_mode(world: World, made: Changes) -> None:
    predicted = world.decide(predicts=True)
    strangers = {each.name for each in world.names if each.machine.unknown_owner}
    assert (predicted.orphans, predicted.renames) == (made.orphans, made.renames)
    for name, change in made.hosts.items():
        if name not in strangers:
            assert predicted.hosts[name] == change
    for each in world.names:
        each.machine.unknown_owner = ""
    assert world.decide(predicts=True) == world.decide()


def assert_converges(world: World, made: Changes) -> None:
    """Assert that a second run has nothing to do, and that no agent runs with the key of a deleted client."""
    world.apply(made)
    again = world.decide()
    assert [label for label in again.create if label not in world.masked] == []
    for each in world.names:
        change = again.hosts[each.name]
        # The service masks the key of the client, so the task that writes the file fails.
        is_masked = "verify" in change.steps and each.label in world.masked
        if not each.decides or is_masked:
            continue
        repeats = each.wanted.installs or each.wanted.uninstall
        assert set(change.steps) <= (REPEATED if repeats else set()), each
        if change.client == "keep" and each.wanted == Wanted() and each.service and each.is_reached:
            assert each.machine.service_state in (*RUNNING, None)


@pytest.mark.parametrize("seed", range(short_or_long(60, 5000)))
def test_a_decision_about_a_random_world(seed: int) -> None:
    world = random_world(seed)
    made = world.decide()
    assert_sound(world, made)
    assert_same_in_check_mode(copy.deepcopy(world), made)
    assert_converges(world, made)


def test_the_worlds_have_all_kinds_of_decisions() -> None:
    """Without an orphan or a rename in any world, the other test would say nothing about orphans and renames."""
    made = [random_world(seed).decide() for seed in range(300)]
    changes = [change for each in made for change in each.hosts.values()]
    assert {change.client for change in changes} == {"keep", "create", "verify", "refuse", "delete"}
    assert {change.adoption for change in changes} == {"adopt", "later", "conflict", "unknown", "nothing"}
    for field in ("kept", "claimed_by", "owner_host", "shared_with", "same_machine"):
        assert any(getattr(change, field) for change in changes), field
    assert any(each.orphans for each in made) and any(each.renames for each in made)
