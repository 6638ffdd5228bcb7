# Copyright (c) 2026 monitor.cloud contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The thirteen operations of docs/openapi.yaml as methods of one class.

The methods return the objects from the service unchanged, including unknown fields. Each method raises ApiError if a
request fails. A method that needs a token raises InputError if no token is set.
"""

from __future__ import annotations

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
_UPDATE_AGAIN = "Client {} now has the wrong value: update it again by its id (monitor_client)."
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
        self._page_sizes = _PAGE_SIZES if page_size is None else (page_size,)
        self._update = resources.UPDATE_CLIENT
        # The clients of all responses, to redact their secrets. Masked keys do not replace real keys.
        self.known: dict[str, Object] = {}
        # The progress of a task: the number of changes to make (0 until known), and the number of changes made.
        self.total = self.done = 0

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
        return len(self.list_clients()) if results is None else results

    def _client(self, value: t.Any, *, labelled: bool = False) -> Object:
        client = response.client_of(value, labelled=labelled)
        self.known[repr([client.get(name) for name in ("id", "api_key", "install_code")])] = client
        return client

    def create_client(self, values: Object) -> Object:
        """Create a client with these field values (create_client). After an unknown outcome, the client may exist."""

        def created(value: t.Any) -> Object:
            client = self._client(value, labelled=True)
            if client["label"] == values["label"]:
                advice = _UPDATE_AGAIN.format(client["id"])
            else:
                # The client can be older than this task, so the advice must not be to delete the client.
                advice = _OTHER_LABEL.format(client["label"])
            return _as_sent(client, values, advice)

        return self._call(resources.CREATE_CLIENT, created, body=values, label=values["label"])

    def get_client(self, client_id: int | str, *, labelled: bool = False) -> Object | None:
        """Return the client with this id, or None (get_client). With ``labelled``, a missing label is an error."""
        return self._call_or_none(
            resources.CLIENT.get_one,
            lambda value: response.requested(self._client(value, labelled=labelled), id=client_id),
            id=client_id,
        )

    def update_client(self, client: Object, values: Object) -> Object:
        """Set fields of a client (update_client). If the service refuses ``POST`` with 405, use ``PUT`` for updates.

        If the response is empty, read the client. If the read returns the old values, a replica is late: read again.
        """

        def updated(value: t.Any) -> Object:
            began = time.monotonic()
            now = value and response.requested(self._client(value, labelled=True), id=client["id"])
            for attempt in itertools.count():
                now = now or self.get_client(client["id"], labelled=True) or client
                if any(now.get(name) != client.get(name) for name in values):
                    break
                shown = " and ".join(f"the {name} {client.get(name)!r}" for name in values)
                late = ApiError(f"the service accepted the update, but still shows {shown}", 200, outcome="unknown")
                self.http.pause(late, attempt, began, self.http.settings.retry_timeout)
                now = None
            return _as_sent(now, values, _UPDATE_AGAIN.format(now["id"]))

        operation = self._update
        if "label" in values:
            operation = operation._replace(purpose="rename client {id} to {label!r}")
        try:
            return self._call(operation, updated, body=values, id=client["id"], **values)
        except ApiError as error:
            if error.status != 405 or error.method != "POST":
                raise
        self._update = resources.UPDATE_CLIENT._replace(method="PUT")
        return self.update_client(client, values)

    def delete_client(self, client_id: int | str, label: str) -> None:
        """Delete a client (delete_client). If the client does not exist, do nothing."""
        self._call_or_none(resources.DELETE_CLIENT, lambda it: it and response.object_of(it), id=client_id, label=label)

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
        item = self._call_or_none(resource.get_one, lambda value: response.requested(check(value), id=name), id=name)
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
        responded = False
        try:
            value = self.http.request(request, query=query, body=body)
            responded = True
            return check(value)
        except ApiError as error:
            if responded and request.method != "GET" and error.outcome == "not_done":
                error.outcome = "unknown"
            if error.status == 404 and not (names and error.errors):
                error.hint = "Check brand and base_url. The version segment is a part of base_url."
            raise self._about(error, request) from None

    def _about(self, error: ApiError, request: Operation) -> ApiError:
        """Set purpose, method and URL of the error. Do not change a method or a URL that is already set."""
        error.purpose, error.method = request.purpose, error.method or request.method
        error.url = error.url or self.http.settings.base_url + request.path
        return error

    def _filled_in(self, operation: Operation, names: Object) -> Operation:
        return operation._replace(
            path=operation.path.format(brand=self.brand, id=_quoted(names["id"]) if "id" in names else ""),
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
        before: list[str] | None = None
        read = functools.partial(self._page, operation, check)
        for number in range(1, _MAX_READS + 1):
            pages = [read(1)]
            pages += self.http.each(read, range(2, pages[0]["pages"] + 1))
            entries = [item for page in pages for item in page["data"]]
            announced = {page["results"] for page in pages}
            least = min((results for results in announced if results is not None), default=0)
            # If a record has no id, use the index of the record, so that no record is lost.
            by_id = {repr(item.get("id") or f"no id {index}"): item for index, item in enumerate(entries)}
            items, ids = list(by_id.values()), sorted(by_id)
            if len(entries) < least and ids == before:
                request = self._filled_in(operation, {})
                error = ApiError(f"the service announced {least} entries and returned {len(entries)}")
                error.hint = "If this token cannot read some of the entries, use a token that can read all entries."
                raise self._about(error, request)
            seen.update(by_id)
            if ids == before or announced in ({None}, {len(items)}):
                break
            if labels <= {item["label"] for item in seen.values()} if labels else number > 1 and len(seen) >= least:
                break
            before = ids
        return list(seen.values()) if labels or len(items) < least else items

    def _page(self, operation: Operation, check: t.Callable[[t.Any], Object], number: int) -> Object:
        """Read one page of a collection, and check each item. For a 404 of page 2 or later, return an empty page."""
        size = self._page_sizes[0] if operation.takes_page_size else None
        query = {**({"page_size": size} if size else {}), **({"page": number} if number > 1 else {})}
        try:
            return self._call(operation, lambda value: response.page_of(value, check), query=query)
        except ApiError as error:
            if error.status == 404 and number > 1:
                return {"data": [], "pages": 1, "results": None}
            # A 400 or 422 can mean that the service refuses page_size, even if no error names this field.
            is_refusal = error.status in (400, 422) and not error.retryable and number == 1
            if size is None or len(self._page_sizes) == 1 or not is_refusal:
                raise
        self._page_sizes = self._page_sizes[1:]
        return self._page(operation, check, number)


def _as_sent(client: Object, values: Object, advice: str) -> Object:
    """Return the created or updated client. Raise WrongObjectError with the advice if a value is wrong."""
    try:
        return response.requested(client, **values)
    except WrongObjectError as error:
        error.outcome = "done"
        error.hint = advice
        raise


def _quoted(segment: object) -> str:
    if segment in ("", ".", ".."):
        raise InputError(f"id {segment!r} is not valid. Give an id that the service lists.")
    # If a command line is not UTF-8, Python decodes each invalid byte as a lone surrogate.
    return urllib.parse.quote(str(segment), safe="", errors="surrogatepass")
