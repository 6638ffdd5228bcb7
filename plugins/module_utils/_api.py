# Copyright (c) 2026 monitor.cloud contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The thirteen operations of the service as plain functions of one client. Section 4 of the API document.

Objects travel as the service sends them, unknown fields intact. Every method raises ApiError.
"""

from __future__ import annotations

import concurrent.futures
import contextlib
import re
import typing as t
import urllib.parse

from ansible_collections.monitor.cloud.plugins.module_utils._errors import ApiError, InputError
from ansible_collections.monitor.cloud.plugins.module_utils._shapes import (
    Object,
    Shape,
    bad_shape,
    client_of,
    each_once,
    object_of,
    plan_of,
    region_of,
    tier_of,
)

if t.TYPE_CHECKING:
    from collections.abc import Iterator

    from ansible_collections.monitor.cloud.plugins.module_utils._http import Http
    from ansible_collections.monitor.cloud.plugins.module_utils._keys import Client


# The largest page first: one service takes 500, most take 100; None leaves it to the service.
_PAGE_SIZES: tuple[int | None, ...] = (500, 100, None)
# Of a list that others change all the time.
_MOST_READS = 6
_BRAND = re.compile(r"[a-z0-9][a-z0-9_-]*")
_GRANTS = {
    "read": "the scope {brand}:read_only",
    "write": "the scope {brand}:read_write",
    "plan_read": (
        "the scope {brand}:read_only and one of the grants account_access, {brand}_subscription, add_{brand}"
    ),
    "plan_write": "the scope {brand}:read_write and the grant {brand}_subscription",
}


# Of the smallest size that is known, enough for a quarter of a million clients.
_MOST_PAGES = 10_000


class Api:
    """The service behind an :class:`Http`. ``brand`` is the product word of paths, tier ids and the plan's field."""

    def __init__(self, http: Http, *, brand: str = "monitor", page_size: int | None = None) -> None:
        if not _BRAND.fullmatch(brand):
            raise InputError(f"brand {brand!r} must be the product word of the service's paths, such as monitor.")
        if page_size is not None and page_size < 1:
            raise InputError(f"page_size must be at least 1, not {page_size}.")
        self._http = http
        self._brand = brand
        self._page_sizes = _PAGE_SIZES if page_size is None else (page_size,)
        self._update_method = "POST"

    @property
    def usage(self) -> Object:
        """Requests, retries and seconds waited so far."""
        return self._http.usage.as_result()

    @property
    def waits(self) -> float:
        """Seconds that are left of the pause that the service asked for."""
        return self._http.waits

    def interrupt(self) -> None:
        """Let no other request begin; those under way come to their end."""
        self._http.interrupt()

    def list_clients(self) -> list[Client]:
        """Operation 1: every client that the token may access, each once."""
        return self._pages(f"/{self._brand}/clients", "list the clients", "read", client_of)

    def find_clients(self, labels: t.Collection[str]) -> dict[str, Client]:
        """Operation 1: the clients by label, read until those of these labels are there, or are certain not to be.

        While others write, one read of all pages may miss a client, and so may the next.
        """
        path, intent = f"/{self._brand}/clients", "list the clients"
        there: dict[str, Client] = {}
        for _dummy in range(_MOST_READS):
            items, steady = self._read_pages(path, intent, "read")
            clients = [client_of(item, "GET", path, intent) for item in items]
            there.update({client["label"]: client for client in clients})
            if steady or there.keys() >= set(labels):
                break
        return there

    def count_clients(self) -> int:
        """Operation 1: how many clients there are, by one request."""
        path, intent = f"/{self._brand}/clients", "count the clients"
        results = self._page(path, intent, "read", {})["results"]
        if results is None:
            raise bad_shape("GET", path, intent, "it lacks results")
        return int(results)

    def create_client(self, label: str) -> Client:
        """Operation 2. ``outcome_unknown`` of the error tells whether the client may exist all the same."""
        path, intent = f"/{self._brand}/clients", f"create client {label!r}"
        answer = self._send("POST", path, intent, "write", body={"label": label}, repeatable=False)
        try:
            return client_of(answer, "POST", path, intent)
        except ApiError as error:
            error.outcome_unknown = error.may_be_done = True
            raise

    def get_client(self, client_id: int) -> Client | None:
        """Operation 3: the client, or None if there is none of this id."""
        path, intent = f"/{self._brand}/clients/{client_id}", f"read client {client_id}"
        answer = self._unless_missing("GET", path, intent, "read")
        return None if answer is None else client_of(answer, "GET", path, intent)

    def rename_client(self, client_id: int, label: str) -> Client:
        """Operation 4, by ``POST``, or by ``PUT`` for the rest of the process where that is refused with 405.

        Where the answer is empty, operation 3 tells the client.
        """
        path, intent = f"/{self._brand}/clients/{client_id}", f"rename client {client_id} to {label!r}"
        method = self._update_method
        try:
            answer = self._send(method, path, intent, "write", body={"label": label})
        except ApiError as error:
            if error.status != 405 or method == "PUT":
                raise
            method = self._update_method = "PUT"
            answer = self._send(method, path, intent, "write", body={"label": label})
        with _after_the_work():
            if answer is None:
                method, answer = "GET", self._send("GET", path, intent, "read")
            return client_of(answer, method, path, intent)

    def delete_client(self, client_id: int, label: str) -> None:
        """Operation 5. A client that is gone already is no error."""
        path, intent = f"/{self._brand}/clients/{client_id}", f"delete client {label!r}"
        answer = self._unless_missing("DELETE", path, intent, "write")
        if answer is not None:
            with _after_the_work():
                object_of(answer, "DELETE", path, intent)

    def get_plan(self) -> Object:
        """Operation 6: the paid tier, or ``{}`` for the free plan."""
        path, intent = f"/{self._brand}/plan", "read the plan"
        return plan_of(self._send("GET", path, intent, "plan_read"), "GET", path, intent)

    def set_plan(self, tier: str | None) -> Object:
        """Operation 7: switch to a tier, None for the free plan, and return the plan that the service confirms."""
        path, intent = f"/{self._brand}/plan", f"switch the plan to {tier or 'free'}"
        answer = self._send("PUT", path, intent, "plan_write", body={f"{self._brand}_subscription": tier})
        with _after_the_work():
            plan = self.get_plan() if answer is None else plan_of(answer, "PUT", path, intent)
        if plan.get("id") != tier:
            raise ApiError(
                f"the service confirmed {plan.get('id') or 'the free plan'!r} instead",
                method="PUT",
                path=path,
                intent=intent,
                hint="Look at the account's plan before you go on: monitor_plan_info.",
            )
        return plan

    def list_subscriptions(self) -> list[Object]:
        """Operation 8: the tiers."""
        return self._pages(f"/{self._brand}/subscriptions", "list the subscriptions", None, tier_of)

    def get_subscription(self, subscription_id: str) -> Object | None:
        """Operation 9: the tier, or None if there is none of this id."""
        return self._public_item(f"/{self._brand}/subscriptions", subscription_id, "read subscription", tier_of)

    def list_regions(self) -> list[Object]:
        """Operation 10."""
        return self._pages("/regions", "list the regions", None, region_of)

    def list_availability(self) -> list[Object]:
        """Operation 11: availability records of all regions."""
        return self._pages("/regions/availability", "list the availability of the regions", None, object_of)

    def get_region(self, region_id: str) -> Object | None:
        """Operation 12: the region, or None if there is none of this id."""
        return self._public_item("/regions", region_id, "read region", region_of)

    def get_region_availability(self, region_id: str) -> list[Object]:
        """Operation 13: the records of one region, be they answered as one record, a list or an envelope."""
        path, intent = f"/regions/{_quoted(region_id)}/availability", f"read the availability of region {region_id!r}"
        answer = self._unless_missing("GET", path, intent, None)
        if answer is None:
            return []
        if isinstance(answer, dict):
            answer = answer.get("data", [answer])
        return [object_of(item, "GET", path, intent) for item in (answer if isinstance(answer, list) else [answer])]

    def pause_before_repeats(self, repeats: int, seconds: float) -> None:
        """Wait before so many requests are sent again, and count that as usage."""
        self._http.pause_before_repeats(repeats, seconds)

    def _public_item(self, collection: str, item_id: str, verb: str, shape: Shape) -> Object | None:
        path, intent = f"{collection}/{_quoted(item_id)}", f"{verb} {item_id!r}"
        answer = self._unless_missing("GET", path, intent, None)
        return None if answer is None else shape(answer, "GET", path, intent)

    def _send(self, method: str, path: str, intent: str, access: str | None, **options: t.Any) -> t.Any:
        """``access`` names what the operation needs (sections 4 and 5); None marks a public one."""
        try:
            return self._http.request(method, path, intent=intent, public=access is None, **options)
        except ApiError as error:
            if error.status == 403 and access is not None:
                error.hint = f"The token needs {_GRANTS[access].format(brand=self._brand)}."
            raise

    def _unless_missing(self, method: str, path: str, intent: str, access: str | None) -> t.Any:
        try:
            return self._send(method, path, intent, access)
        except ApiError as error:
            if error.status == 404:
                return None
            raise

    def _pages(self, path: str, intent: str, access: str | None, shape: Shape) -> list[Object]:
        """All items of a collection, each id once, and each of its shape.

        A list that changes while it is read moves entries between pages. What is seen twice counts once; where the
        pages disagree on how many there are, or that many are not there, something may have been missed: the list is
        read once more.
        """
        items, steady = self._read_pages(path, intent, access)
        if not steady:
            items, _steady = self._read_pages(path, intent, access)
        return [shape(item, "GET", path, intent) for item in items]

    def _read_pages(self, path: str, intent: str, access: str | None) -> tuple[list[Object], bool]:
        first = self._first_page(path, intent, access)
        queries = [{**self._page_query(path), "page": number} for number in range(2, first["pages"] + 1)]
        pages = [first]
        if queries:
            workers = min(len(queries), self._http.settings.concurrency)
            with concurrent.futures.ThreadPoolExecutor(max_workers=workers) as pool:
                pages += pool.map(lambda query: self._page(path, intent, access, query), queries)
        items = each_once([object_of(item, "GET", path, intent) for page in pages for item in page["data"]])
        return items, {page["results"] for page in pages} in ({None}, {len(items)})

    def _page_query(self, path: str) -> dict[str, int]:
        # Only the collections that document page_size are asked for one (section 8).
        size = None if path.startswith("/regions") else self._page_sizes[0]
        return {} if size is None else {"page_size": size}

    def _first_page(self, path: str, intent: str, access: str | None) -> Object:
        while True:
            try:
                return self._page(path, intent, access, self._page_query(path))
            except ApiError as error:
                if error.status not in (400, 422) or not error.names_field("page_size") or len(self._page_sizes) == 1:
                    raise
                self._page_sizes = self._page_sizes[1:]

    def _page(self, path: str, intent: str, access: str | None, query: dict[str, int]) -> Object:
        """One page of a collection (section 2.5). One past the end, which may be a 404, is empty."""
        try:
            answer = self._send("GET", path, intent, access, query=query)
        except ApiError as error:
            if error.status == 404 and "page" in query:
                return {"data": [], "pages": 1, "results": None}
            if error.status == 404:
                error.hint = "Check that base_url leads to the service, version segment included, and brand."
            raise
        page = {"pages": 1, "results": None, **object_of(answer, "GET", path, intent, ("data",))}
        if not isinstance(page["data"], list):
            raise bad_shape("GET", path, intent, "data is not a list")
        if "pages" not in answer and page["results"] not in (None, len(page["data"])):
            # Else a part would pass for the whole.
            raise bad_shape("GET", path, intent, "it lacks pages")
        if not isinstance(page["pages"], int) or not isinstance(page["results"], (int, type(None))):
            raise bad_shape("GET", path, intent, "pages or results is not a number")
        if page["pages"] > _MOST_PAGES:
            raise bad_shape("GET", path, intent, f"pages is more than {_MOST_PAGES}")
        return page


@contextlib.contextmanager
def _after_the_work() -> Iterator[None]:
    """What goes wrong from here on does not tell that the work was not done."""
    try:
        yield
    except ApiError as error:
        error.may_be_done = True
        raise


def _quoted(segment: str) -> str:
    if segment in ("", ".", ".."):
        raise InputError(f"id {segment!r} names nothing: give one as the service lists them.")
    return urllib.parse.quote(segment, safe="")
