# Copyright (c) 2026 monitor.cloud contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The operations of docs/openapi.yaml: each public function has the name of its operation.

A function returns the body of the response, and the status if it is not 200. Before the call, `gate.py` checks the
token, and connexion checks the request against the contract.
"""

import functools
import json
import math
import re
from collections.abc import Callable, Iterable, Sequence
from typing import Any

from connexion import context
from starlette.datastructures import Headers, QueryParams

from . import catalogue
from .contract import ServiceError, client_values, examples
from .state import State
from .store import LabelTaken, Row

Body = dict[str, Any]

_SMALLEST_PAGE = 25
_USUAL_PAGE = 100
_STRICT_LABEL = re.compile(r"[A-Za-z0-9_-]+")


async def list_clients(state: State) -> Body:
    rows = [row for row in state.store.all(deleted=state.settings.lists_deleted) if not _is_late(state, row)]
    if state.settings.list_order == "newest":
        rows.reverse()
    return _page(state, rows, lambda row: _shown(state, row, in_list=True))


async def create_client(state: State, body: Body) -> Body:
    label = body.get("label")
    if label is None:
        label = f"{state.settings.brand}{state.store.next_id:03}"
    _check_label(state, label)
    included = state.store.plan
    if included is not None and state.store.count() >= included:
        raise ServiceError(
            400, "Your subscription does not include any more clients. Change the subscription to add more."
        )
    try:
        row = state.store.create(client_values({**body, "label": _stored(state, label)}))
    except LabelTaken as error:
        raise _duplicate(state) from error
    client = _shown(state, row)
    if state.settings.apps_as_integers:
        client["apps"] = {name: int(value) for name, value in client["apps"].items()}
    return client


async def get_client(state: State, client_id: int) -> Body:
    return _shown(state, _client(state, client_id))


async def update_client(state: State, client_id: int, body: Body) -> Body:
    row = _client(state, client_id)
    label: str = body["label"] if "label" in body else row["label"]
    _check_label(state, label)
    try:
        state.store.update(client_id, client_values({**body, "label": _stored(state, label)}, row))
    except LabelTaken as error:
        raise _duplicate(state) from error
    return _shown(state, _client(state, client_id))


async def delete_client(state: State, client_id: int) -> tuple[Body | None, int]:
    _client(state, client_id)
    state.store.delete(client_id)
    status = state.settings.delete_status
    return (None if status == 204 else {}), status


async def get_plan(state: State) -> Body:
    included = state.store.plan
    return next((tier for tier in _tiers(state) if tier["clients_included"] == included), {})


async def update_plan(state: State, body: Body) -> Body:
    name = f"{state.settings.brand}_subscription"
    if name not in body:
        return await get_plan(state)
    included = (tier["clients_included"] for tier in _tiers(state) if tier["id"] == body[name])
    state.store.plan = next(included, None)
    return await get_plan(state)


async def list_subscriptions(state: State) -> Body:
    return _page(state, _tiers(state))


async def get_subscription(state: State, subscription_id: str) -> Body:
    return _only(tier for tier in _tiers(state) if tier["id"] == subscription_id)


async def list_regions(state: State) -> Body:
    return _page(state, catalogue.regions())


async def list_region_availability(state: State) -> Body:
    return _page(state, catalogue.availability(500))


async def get_region(state: State, region_id: str) -> Body:
    return _only(region for region in catalogue.regions() if region["id"] == region_id)


async def get_region_availability(state: State, region_id: str) -> Body | list[Body]:
    await get_region(state, region_id)
    records = [record for record in catalogue.availability(500) if record["region"] == region_id]
    return records if state.settings.region_availability == "array" else _only(records)


async def read_examples(state: State, operation_id: str, **parameters: Any) -> Body:
    """For an operation without its own function, return the examples of the contract, as a list or by id."""
    verb, dummy, noun = operation_id.partition("_")
    if verb == "list":
        return _page(state, examples()[noun.removesuffix("s")])
    return _only(row for row in examples()[noun] if row["id"] == parameters[f"{noun}_id"])


def named(operation_id: str) -> Callable[..., Any]:
    return globals().get(operation_id) or functools.partial(read_examples, operation_id=operation_id)


def _tiers(state: State) -> list[Body]:
    return catalogue.tiers(state.settings.brand)


def _only(rows: Iterable[Body]) -> Body:
    for row in rows:
        return row
    raise ServiceError(404, "Not found")


def _page(state: State, items: Sequence[Body], shown: Callable[[Body], Body] = dict) -> Body:
    """Return the requested page with its number, the number of pages and the number of items."""
    settings = state.settings
    items = [item for item in items if _matches(item, _filter())]
    # Services also return regions in pages, but the contract documents no parameters for this list.
    query = QueryParams(context.scope["query_string"])
    page = int(query.get("page", 1))
    size = int(query.get("page_size", _USUAL_PAGE))
    if not _SMALLEST_PAGE <= size <= settings.page_size_max:
        limits = f"{_SMALLEST_PAGE} and {settings.page_size_max}"
        raise ServiceError(400, f"page_size must be between {limits}.", "page_size")
    pages = max(1, math.ceil(len(items) / size))
    if page > pages and settings.past_end == "not_found":
        raise ServiceError(404, "Not found")
    data = [shown(item) for item in items[(page - 1) * size : page * size]]
    return {"data": data, "page": page, "pages": pages, "results": len(items)}


def _filter() -> Any:
    text = Headers(raw=context.scope["headers"]).get("x-filter", "{}")
    try:
        return json.loads(text)
    except ValueError as error:
        raise ServiceError(400, "X-Filter must be valid JSON.") from error


def _matches(item: Body, given: Any) -> bool:
    """Return whether the fields have the given values. `+and` contains a list of filters."""
    return all(
        all(_matches(item, part) for part in value) if name == "+and" else item.get(name) == value
        for name, value in given.items()
    )


def _client(state: State, client_id: int) -> Row:
    return _only(filter(None, [state.store.get(client_id)]))


def _is_late(state: State, row: Row) -> bool:
    """Return whether the list still omits the client."""
    state.reads_of[row["id"]] += 1
    return state.reads_of[row["id"]] <= state.settings.list_lag


def _shown(state: State, row: Row, *, in_list: bool = False) -> Body:
    client: Body = {**row, "apps": {"apache": False, "mysql": False, "nginx": False}}
    if state.settings.account_code:
        client["install_code"] = state.settings.account_code
    if row["label"] in state.settings.null_labels:
        client["label"] = None
    if _is_masked(state, row) and (in_list or state.settings.mask_in == "everywhere"):
        for name in ("api_key", "install_code"):
            client[name] = state.settings.mask_text
    return client


def _is_masked(state: State, row: Row) -> bool:
    settings = state.settings
    masked = settings.mask_for == "all" or row["label"] in settings.mask_labels
    return masked or bool(context.scope["caller"].reads_only)


def _check_label(state: State, label: str) -> None:
    if state.settings.strict_labels and not _STRICT_LABEL.fullmatch(label):
        raise ServiceError(400, "label may hold only letters, digits, hyphens and underscores.", "label")


def _stored(state: State, label: str) -> str:
    return label.lower() if state.settings.label_form == "lower_case" else label


def _duplicate(state: State) -> ServiceError:
    return ServiceError(state.settings.duplicate_status, state.settings.duplicate_reason, "label")
