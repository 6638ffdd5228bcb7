/*
 * Copyright (c) 2026 monitor.cloud contributors
 * GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
 * SPDX-License-Identifier: GPL-3.0-or-later
 */
"use strict";
// Without this script, the page shows the same findings. The script adds a filter and the reader's local time.
(() => {
  const PREFIX = "#filter=";
  const ROWS = 50; // rows in each tbody: browsers skip the layout of a tbody far outside the window
  const filter = document.getElementById("filter");
  const table = document.querySelector("table");
  const rows = [...table.querySelectorAll("tbody tr")];

  const show = () => {
    const words = filter.value.toLowerCase().split(/\s+/);
    const matching = rows.filter((row) => {
      const text = `${row.textContent} state:${row.dataset.state} step:${row.dataset.kind}`.toLowerCase();
      return words.every((word) => text.includes(word));
    });
    table.replaceChildren(table.tHead);
    for (let start = 0; start < matching.length; start += ROWS) {
      const part = table.createTBody();
      part.setAttribute("role", "rowgroup");
      part.append(...matching.slice(start, start + ROWS));
    }
    document.getElementById("shown").textContent = `${matching.length} of ${rows.length} hosts`;
  };

  // The URL contains the filter, so that users can share a link to the filtered table.
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

  const time = document.querySelector("time");
  const hours = (new Date(time.dateTime) - Date.now()) / 3.6e6;
  const ago = new Intl.RelativeTimeFormat("en", { numeric: "auto" }).format(...(hours > -48 ? [Math.round(hours), "hour"] : [Math.round(hours / 24), "day"]));
  time.after(` (here ${new Date(time.dateTime).toLocaleString()}, ${ago})`);

  document.querySelector(".controls").hidden = false;
  follow();
})();
