# Copyright (c) 2026 monitor.cloud contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The thirteen operations of docs/openapi.yaml as methods of one class.

The methods return the objects from the service unchanged, including unknown fields. Each method raises ApiError if a
request fails. A method that needs a token raises InputError if no token is set.
"""

from __future__ import annotations

import dataclasses
import functools
import itertools
import re
import time
import typing as t
import urllib.parse
from collections.abc import Collection

from ansible_collections.monitor.cloud.plugins.module_utils._service import resources, response
from ansible_collections.monitor.cloud.plugins.module_utils._service.errors import (
    ApiError,
    InputError,
    WrongObjectError,
)
from ansible_collections.monitor.cloud.plugins.module_utils._service.resources import Object, Operation, Resource
from ansible_collections.monitor.cloud.plugins.module_utils._service.transport import Http

T = t.TypeVar("T")

# Try these values of page_size in this order: few services accept 500, most accept 100. For None, send no page_size.
_PAGE_SIZES: tuple[int | None, ...] = (500, 100, None)
# The limit of reads of one list: concurrent writers can change the list again and again.
_MAX_READS = 6
_RENAME_AGAIN = "Client {} now has the wrong value: update it again by its id (monitor_client)."
_OTHER_LABEL = (
    "If the service changes labels, use the label {!r}. If not, check base_url, and any proxy before the service: the "
    "response is about another client."
)
_BRAND = re.compile(r"[a-z0-9][a-z0-9_-]*")


class Api:
    """The operations of the service. ``brand`` is the product name in paths, tier ids and field names."""

    def __init__(self, http: Http, *, brand: str = "monitor", page_size: int | None = None) -> None:
        if not _BRAND.fullmatch(brand):
            raise InputError(f"brand {brand!r} must be the product name in paths of the service, such as 'monitor'.")
        if page_size is not None and page_size < 1:
            raise InputError(f"page_size must be at least 1, not {page_size}.")
        self.http = http
        self.brand = brand
        self._page_sizes = _PAGE_SIZES
        if page_size is not None:
            self._page_sizes = (page_size,)
        # Some services accept only PUT for updates.
        self._update = resources.UPDATE_CLIENT
        # The clients of all responses, to redact their secrets. Masked keys do not replace real keys.
        self.known: dict[str, Object] = {}
        # The progress of a task: the number of changes to make (0 until known), and the number of changes made.
        self.total = 0
        self.done = 0

    @property
    def reads_only(self) -> bool:
        """Whether the token has read-only access, according to the scopes that the service reported."""
        return f"{self.brand}:read_only" in self.http.scopes and f"{self.brand}:read_write" not in self.http.scopes

    def list_clients(self) -> list[Object]:
        """Return all clients that the token may access, each client once (list_clients)."""
        return self._read_list(resources.CLIENT.list_all, self._client)

    def find_clients(self, labels: Collection[str]) -> dict[str, Object]:
        """Return the clients by label. Read the list until each label is found, or certainly does not exist.

        While concurrent writers change the list, entries move between pages, so one read can miss a client.
        """
        clients = self._read_list(resources.CLIENT.list_all, self._client, frozenset(labels))
        return {client["label"]: client for client in clients if client["label"] is not None}

    def count_clients(self) -> int:
        """Return the number of clients. One request is enough if the service reports the number in ``results``."""
        operation = resources.CLIENT.list_all._replace(purpose="count the clients")
        results = self._call(operation, response.page_of)["results"]
        if results is None:
            return len(self.list_clients())
        return int(results)

    def _client(self, value: t.Any, *, labelled: bool = False) -> Object:
        client = response.client_of(value, labelled=labelled)
        self.known[repr([client.get(name) for name in ("id", "api_key", "install_code")])] = client
        return client

    def create_client(self, label: str) -> Object:
        """Create a client with this label (create_client). After an unknown outcome, the client may exist."""
        check = functools.partial(self._created, label)
        return self._call(resources.CREATE_CLIENT, check, body={"label": label}, label=label)

    def _created(self, label: str, value: t.Any) -> Object:
        client = self._client(value, labelled=True)
        # The client can be older than this task, so the advice must not be to delete the client.
        return _with_label(client, label, _OTHER_LABEL.format(client["label"]))

    def get_client(self, client_id: int | str, *, labelled: bool = False) -> Object | None:
        """Return the client with this id, or None (get_client). With ``labelled``, a missing label is an error."""

        def check(value: t.Any) -> Object:
            return response.requested(self._client(value, labelled=labelled), id=client_id)

        return self._call_or_none(resources.CLIENT.get_one, check, id=client_id)

    def rename_client(self, client: Object, label: str) -> Object:
        """Set the label of a client (update_client). If the service refuses ``POST`` with 405, use ``PUT``."""
        check = functools.partial(self._renamed, client, label)
        try:
            return self._call(self._update, check, body={"label": label}, id=client["id"], label=label)
        except ApiError as error:
            if error.status != 405 or error.method != "POST":
                raise
        self._update = resources.UPDATE_CLIENT._replace(method="PUT")
        return self.rename_client(client, label)

    def _renamed(self, client: Object, label: str, value: t.Any) -> Object:
        """Return the renamed client. If the response is empty, read the client.

        If the response or a read has the old label, a replica is late: read again.
        """
        now = None
        if value:
            now = response.requested(self._client(value, labelled=True), id=client["id"])
        began = time.monotonic()
        for attempt in itertools.count():
            if now is None:
                now = self.get_client(client["id"], labelled=True) or client
            if now["label"] != client["label"]:
                break
            problem = f"the service accepted the update, but still shows the label {client['label']!r}"
            late = ApiError(problem, 200, outcome="unknown")
            self.http.pause(late, attempt, began, self.http.settings.retry_timeout)
            now = None
        return _with_label(t.cast("Object", now), label, _RENAME_AGAIN.format(client["id"]))

    def delete_client(self, client_id: int | str, label: str) -> None:
        """Delete a client (delete_client). If the client does not exist, do nothing."""
        self._call_or_none(resources.DELETE_CLIENT, _object_or_nothing, id=client_id, label=label)

    def get_plan(self) -> Object:
        """Return the tier of the paid plan, or ``{}`` for the free plan (get_plan)."""
        return self._call(resources.GET_PLAN, response.plan_of)

    def set_plan(self, tier: str | None) -> Object:
        """Switch to a tier (None: the free plan). Return the plan that the service confirms (update_plan)."""

        def confirmed(value: t.Any) -> Object:
            plan = self.get_plan() if value is None else response.plan_of(value)
            if plan.get("id") != tier:
                problem = f"the service confirmed {plan.get('id') or 'the free plan'!r} instead of {tier or 'free'!r}"
                hint = "Check the plan of the account with monitor_plan_info before you continue."
                raise ApiError(problem, hint=hint, outcome="done")
            return plan

        return self._call(resources.SET_PLAN, confirmed, body={f"{self.brand}_subscription": tier}, plan=tier or "free")

    def find(self, resource: Resource, name: str | None = None) -> list[Object]:
        """Return all objects of a resource. If ``name`` is an id, return a list of at most one object."""
        check = functools.partial(response.item_of, resource)
        if name is None:
            return self._read_list(resource.list_all, check)

        def requested(value: t.Any) -> Object:
            return response.requested(check(value), id=name)

        item = self._call_or_none(resource.get_one, requested, id=name)
        return [item] if item else []

    def list_availability(self) -> list[Object]:
        """Return the availability records of all regions (list_region_availability)."""
        return self._read_list(resources.LIST_AVAILABILITY, response.object_of)

    def get_region_availability(self, region_id: str) -> list[Object]:
        """Return the availability records of one region (get_region_availability).

        If the service returns a single record or a page instead of a list, read the records of all regions.
        """

        def checked(value: t.Any) -> list[Object] | None:
            if not isinstance(value, list):
                return None
            return [response.requested(response.object_of(record), region=region_id) for record in value]

        records = self._call_or_none(resources.GET_AVAILABILITY, checked, id=region_id)
        if records is None:
            records = [record for record in self.list_availability() if record.get("region") == region_id]
        return records

    def _call_or_none(self, operation: Operation, check: t.Callable[[t.Any], T], **names: t.Any) -> T | None:
        """Return the result of :meth:`_call`, or None if the object does not exist."""
        try:
            return self._call(operation, check, **names)
        except ApiError as error:
            if error.is_missing:
                return None
            raise

    def _call(
        self,
        operation: Operation,
        check: t.Callable[[t.Any], T],
        *,
        query: Object | None = None,
        body: Object | None = None,
        **names: t.Any,
    ) -> T:
        """Send the request of an operation, and return the result of ``check`` for the response.

        ``names`` fill the placeholders in the path and the purpose of the operation.
        """
        request = self._filled_in(operation, names)
        if request.access and not self.http.settings.token:
            raise InputError.missing_option("api_token", request.purpose)
        try:
            value = self.http.request(request, query=query, body=body)
        except ApiError as error:
            raise self._about(error, request, names) from None
        try:
            return check(value)
        except ApiError as error:
            if request.method != "GET" and error.outcome == "not_done":
                error.outcome = "unknown"
            raise self._about(error, request, names) from None

    def _about(self, error: ApiError, request: Operation, names: Object) -> ApiError:
        """Set purpose, method and URL of the error. Do not change a method or a URL that is already set."""
        error.purpose = request.purpose
        error.method = error.method or request.method
        error.url = error.url or self.http.settings.base_url + request.path
        # The service explains a missing object with errors. Any other 404 is about the path.
        is_about_object = bool(names) and bool(error.errors)
        if error.status == 404 and not is_about_object:
            error.hint = "Check brand and base_url. The version segment is a part of base_url."
        return error

    def _filled_in(self, operation: Operation, names: Object) -> Operation:
        object_id = ""
        if "id" in names:
            object_id = _quoted(names["id"])
        return operation._replace(
            path=operation.path.format(brand=self.brand, id=object_id),
            purpose=operation.purpose.format(**names),
            access=operation.access and operation.access.format(brand=self.brand),
        )

    def _read_list(
        self, operation: Operation, check: t.Callable[[t.Any], Object], labels: frozenset[str] = frozenset()
    ) -> list[Object]:
        """Return all items of a collection, each id only once. The function ``check`` converts each item.

        While a list changes, items move between pages, so one read can miss items. Read the list until a read returns
        the announced number of items, or until two reads return the same items. If items are still missing, join the
        items of up to ``_MAX_READS`` reads, because some services do not sort lists. Raise ApiError if two reads
        return the same incomplete list. With ``labels``, join the items of all reads until each label is found.
        """
        seen: dict[str, Object] = {}
        before: _Read | None = None
        for _attempt in range(_MAX_READS):
            read = self._read_once(operation, check)
            is_same = before is not None and read.items.keys() == before.items.keys()
            if is_same and read.returned < read.least:
                raise self._incomplete(operation, read)
            seen.update(read.items)
            if is_same or read.is_complete or _is_enough(seen, read, before, labels):
                break
            before = read
        if labels or len(read.items) < read.least:
            return list(seen.values())
        return list(read.items.values())

    def _incomplete(self, operation: Operation, read: _Read) -> ApiError:
        error = ApiError(f"the service announced {read.least} entries and returned {read.returned}")
        error.hint = "If this token cannot read some of the entries, use a token that can read all entries."
        return self._about(error, self._filled_in(operation, {}), {})

    def _read_once(self, operation: Operation, check: t.Callable[[t.Any], Object]) -> _Read:
        """Read all pages of a collection once."""
        read_page = functools.partial(self._page, operation, check)
        first = read_page(1)
        pages = [first, *self.http.each(read_page, range(2, first["pages"] + 1))]
        items: dict[str, Object] = {}
        returned = 0
        for page in pages:
            for item in page["data"]:
                # If a record has no id, use the index of the record, so that no record is lost.
                items[repr(item.get("id") or f"no id {returned}")] = item
                returned += 1
        return _Read(items, returned, {page["results"] for page in pages})

    def _page(self, operation: Operation, check: t.Callable[[t.Any], Object], number: int) -> Object:
        """Read one page of a collection, and check each item. For a 404 of page 2 or later, return an empty page."""
        size = self._page_sizes[0] if operation.takes_page_size else None
        query = {}
        if size:
            query["page_size"] = size
        if number > 1:
            query["page"] = number
        try:
            return self._call(operation, functools.partial(response.page_of, check=check), query=query)
        except ApiError as error:
            if error.status == 404 and number > 1:
                return {"data": [], "pages": 1, "results": None}
            # A 400 or 422 can mean that the service refuses page_size, even if no error names this field.
            is_refusal = error.status in (400, 422) and not error.retryable and number == 1
            if size is None or len(self._page_sizes) == 1 or not is_refusal:
                raise
        self._page_sizes = self._page_sizes[1:]
        return self._page(operation, check, number)


@dataclasses.dataclass(frozen=True)
class _Read:
    """One read of all pages of a list.

    ``items``: the items by id. ``returned``: the number of entries on all pages, with duplicates. ``announced``: the
    numbers of items that the pages announced; None for a page without this number.
    """

    items: dict[str, Object]
    returned: int
    announced: set[int | None]

    @property
    def least(self) -> int:
        """The smallest announced number of items; 0 if no page announced a number."""
        return min((number for number in self.announced if number is not None), default=0)

    @property
    def is_complete(self) -> bool:
        """Whether all pages announced the number of items that the read has, or no page announced a number."""
        return self.announced in ({None}, {len(self.items)})


def _is_enough(seen: Object, read: _Read, before: _Read | None, labels: frozenset[str]) -> bool:
    """Whether the items of all reads contain each label; without labels, whether two reads miss no items."""
    if labels:
        return labels <= {item["label"] for item in seen.values()}
    return before is not None and len(seen) >= read.least


def _with_label(client: Object, label: str, advice: str) -> Object:
    """Return the created or renamed client. Raise WrongObjectError with the advice if its label is wrong."""
    try:
        return response.requested(client, label=label)
    except WrongObjectError as error:
        error.outcome = "done"
        error.hint = advice
        raise


def _object_or_nothing(value: t.Any) -> Object:
    if not value:
        return {}
    return response.object_of(value)


def _quoted(segment: object) -> str:
    if segment in ("", ".", ".."):
        raise InputError(f"id {segment!r} is not valid. Give an id that the service lists.")
    # If a command line is not UTF-8, Python decodes each invalid byte as a lone surrogate.
    return urllib.parse.quote(str(segment), safe="", errors="surrogatepass")
