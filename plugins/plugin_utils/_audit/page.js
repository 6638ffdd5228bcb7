/*
 * Copyright (c) 2026 monitor.cloud contributors
 * GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
 * SPDX-License-Identifier: GPL-3.0-or-later
 */
"use strict";
// The page is complete without this script. The script adds a filter, sorting, copy buttons and the reader's local time.
(() => {
  const ROWS = 50; // rows in each tbody: browsers skip the layout of a tbody far outside the window
  const filter = document.getElementById("filter");
  const table = document.querySelector("table");
  // The rows are sorted by state at first, so the column State needs no sort key.
  const hosts = [...table.querySelectorAll("tbody tr")].map((row, order) => ({ row, order }));
  // Read the text of the rows when the browser is idle or at the first use: with 10,000 hosts, this takes time.
  const read = () => {
    if (hosts[0]?.keys) return;
    for (const host of hosts) {
      const { row } = host;
      host.keys = [row.cells[0].firstChild.textContent, "", row.cells[2].textContent];
      host.text = `${row.textContent} state:${row.dataset.state} step:${row.dataset.kind}`.toLowerCase();
    }
  };

  const show = () => {
    read();
    const words = filter.value.toLowerCase().split(/\s+/).filter(Boolean);
    const matching = hosts.filter(({ text }) => words.every((word) => text.includes(word)));
    table.replaceChildren(table.tHead);
    for (let start = 0; start < matching.length; start += ROWS) {
      const part = table.createTBody();
      part.setAttribute("role", "rowgroup");
      part.append(...matching.slice(start, start + ROWS).map(({ row }) => row));
    }
    document.getElementById("shown").textContent = `${matching.length} of ${hosts.length} hosts`;
  };

  // The URL contains the filter, so that users can share a link to the filtered table.
  const PREFIX = "#filter=";
  const follow = () => {
    if (!location.hash.startsWith(PREFIX)) return;
    filter.value = decodeURIComponent(location.hash.slice(PREFIX.length));
    show();
    document.getElementById("hosts").scrollIntoView();
  };
  addEventListener("hashchange", follow);
  filter.addEventListener("input", () => {
    show();
    history.replaceState(null, "", filter.value ? PREFIX + encodeURIComponent(filter.value) : "#hosts");
  });
  for (const link of document.querySelectorAll("[data-filter]"))
    link.href = PREFIX + encodeURIComponent(link.dataset.filter);

  const button = (text, act) => {
    const made = document.createElement("button");
    made.type = "button";
    made.append(...text);
    made.addEventListener("click", () => act(made));
    return made;
  };

  const compare = new Intl.Collator("en", { numeric: true }).compare;
  const heads = [...table.tHead.rows[0].cells];
  heads.forEach((head, column) => {
    const sort = () => {
      read();
      const direction = head.getAttribute("aria-sort") === "ascending" ? "descending" : "ascending";
      heads.forEach((other) => other.setAttribute("aria-sort", other === head ? direction : "none"));
      hosts.sort((left, right) => compare(left.keys[column], right.keys[column]) || left.order - right.order);
      if (direction === "descending") hosts.reverse();
      show();
    };
    head.append(button([...head.childNodes], sort));
  });

  for (const command of document.querySelectorAll("pre"))
    command.before(button(["Copy"], (made) => {
      // Select the command and copy the selection: over http and in old browsers, pages can't use the clipboard API.
      getSelection().selectAllChildren(command);
      made.textContent = document.execCommand("copy") ? "Copied" : "Press Ctrl+C";
    }));

  const time = document.querySelector("time");
  const hours = (new Date(time.dateTime) - Date.now()) / 3.6e6;
  const ago = new Intl.RelativeTimeFormat("en", { numeric: "auto" }).format(...(hours > -48 ? [Math.round(hours), "hour"] : [Math.round(hours / 24), "day"]));
  time.after(` (here ${new Date(time.dateTime).toLocaleString()}, ${ago})`);

  document.querySelector(".controls").hidden = false;
  follow();
  window.requestIdleCallback?.(read);
})();
