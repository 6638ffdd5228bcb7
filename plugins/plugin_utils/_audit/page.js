/*
 * Copyright (c) 2026 monitor.cloud contributors
 * GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
 * SPDX-License-Identifier: GPL-3.0-or-later
 */
"use strict";
// Without this the page has all findings: it adds filters, sorting, copying, and rows of hosts without drift.
(() => {
  const ROWS = 50; // of a part of the table, which is filled when it comes near the window
  const HEIGHT = 2.6; // of a row that is not laid out yet, in rem
  const byId = (id) => document.getElementById(id);
  const table = document.querySelector("table");
  const blank = document.querySelector("template").content;
  const controls = document.querySelector(".controls");
  const [filter, all, fold, sort] = ["filter", "all", "fold", "sort"].map(byId);
  const okTotal = Number(fold.textContent.match(/\d+/)[0]);
  const findings = table.querySelectorAll("tbody tr").length;
  const chosen = new Set(); // states
  let kind = ""; // of a remedy whose hosts are shown
  let unfolded = false;

  const buttonOf = (content, act) => {
    const button = document.createElement("button");
    button.type = "button";
    button.append(...content);
    button.addEventListener("click", () => act(button));
    return button;
  };

  // Read when the browser is idle, or at the first use: with 10,000 hosts it would delay the first paint.
  let hosts;
  const load = () => {
    if (hosts) return;
    const rows = [...table.querySelectorAll("tbody tr")].map((row) => ({
      row,
      host: row.cells[0].firstChild.textContent,
      finding: row.cells[2].textContent,
      state: row.getAttribute("data-state"),
      kind: row.getAttribute("data-kind"),
      text: row.textContent.toLowerCase(),
    }));
    const common = blank.textContent;
    const ok = JSON.parse(byId("ok").textContent).map(([host, label]) => ({
      host,
      label,
      finding: "",
      state: "ok",
      text: `${host} ${label} ${common}`.toLowerCase(),
    }));
    hosts = [...rows, ...ok];
    hosts.forEach((host, order) => { host.order = order; });
  };

  const rowOf = (host) => {
    if (!host.row) {
      host.row = blank.firstElementChild.cloneNode(true);
      const [name, label] = host.row.cells[0].querySelectorAll("bdi");
      name.textContent = host.host;
      if (host.label === host.host) label.parentNode.remove();
      else label.textContent = host.label;
    }
    return host.row;
  };

  const waiting = new Map(); // a part of the table → its hosts
  const fill = (part) => {
    const given = waiting.get(part);
    if (!given) return;
    waiting.delete(part);
    observer.unobserve(part);
    part.style.height = "";
    part.append(...given.map(rowOf));
  };
  const observer = new IntersectionObserver(
    (entries) => entries.filter((entry) => entry.isIntersecting).forEach((entry) => fill(entry.target)),
    { rootMargin: "100% 0px" },
  );

  const show = () => {
    load();
    const words = filter.value.toLowerCase().split(/\s+/).filter(Boolean);
    const folded = !unfolded && !words.length;
    const fits = ({ state, kind: its, text }) =>
      (kind ? its === kind : chosen.size ? chosen.has(state) : !(folded && state === "ok")) &&
      words.every((word) => text.includes(word));
    const shown = hosts.filter(fits);
    observer.disconnect();
    waiting.clear();
    const parts = [];
    for (let start = 0; start < shown.length; start += ROWS) {
      const part = document.createElement("tbody");
      part.setAttribute("role", "rowgroup");
      waiting.set(part, shown.slice(start, start + ROWS));
      part.style.height = `${waiting.get(part).length * HEIGHT}rem`;
      observer.observe(part);
      parts.push(part);
    }
    table.replaceChildren(table.tHead, ...parts);
    if (parts.length) fill(parts[0]);
    update(shown.length);
  };

  const update = (count) => {
    byId("shown").textContent = `${count} of ${findings + okTotal} hosts`;
    all.hidden = !(chosen.size || kind);
    const narrowed = chosen.size || kind || filter.value.trim();
    fold.parentNode.hidden = !okTotal || Boolean(narrowed);
    fold.setAttribute("aria-expanded", String(unfolded));
    fold.textContent = `${unfolded ? "Fold" : "Show"} hosts without drift: ${okTotal}`;
    toggles.forEach((button, its) => button.setAttribute("aria-pressed", String(chosen.has(its))));
  };

  const compare = new Intl.Collator("en", { numeric: true }).compare;
  const orders = [
    (one, other) => compare(one.host, other.host) || one.order - other.order,
    (one, other) => one.order - other.order,
    (one, other) => compare(one.finding, other.finding) || one.order - other.order,
  ];
  const heads = [...table.tHead.rows[0].cells];
  const order = (column, direction) => {
    load();
    heads.forEach((head, its) => head.setAttribute("aria-sort", its === column ? direction : "none"));
    sort.value = `${column} ${direction}`;
    hosts.sort(orders[column]);
    if (direction === "descending") hosts.reverse();
    show();
  };
  heads.forEach((head, column) => {
    head.append(buttonOf(head.childNodes, () => {
      order(column, head.getAttribute("aria-sort") === "ascending" ? "descending" : "ascending");
    }));
  });
  sort.addEventListener("change", () => {
    const [column, direction] = sort.value.split(" ");
    order(Number(column), direction);
  });

  const toggles = new Map();
  for (const entry of document.querySelectorAll(".legend .entry")) {
    const its = entry.dataset.state;
    const button = buttonOf(entry.childNodes, () => {
      kind = "";
      if (!chosen.delete(its)) chosen.add(its);
      show();
    });
    button.dataset.state = its;
    toggles.set(its, button);
    entry.replaceWith(button);
  }

  const clear = () => {
    chosen.clear();
    kind = "";
  };
  all.addEventListener("click", () => {
    clear();
    show();
    filter.focus();
  });
  fold.addEventListener("click", () => {
    unfolded = !unfolded;
    show();
  });
  filter.addEventListener("input", show);

  // A remedy's links show its hosts alone; the link of one host then leads to its row.
  for (const link of document.querySelectorAll(".step:not([data-kind=orphans]) a")) {
    link.addEventListener("click", (event) => {
      clear();
      kind = link.closest(".step").dataset.kind;
      filter.value = "";
      show();
      if (link.className === "rows") {
        event.preventDefault();
        byId("hosts").focus();
        byId("hosts").scrollIntoView();
      } else {
        [...waiting.keys()].forEach(fill);
      }
    });
  }

  for (const command of document.querySelectorAll(".command")) {
    const text = command.querySelector("pre");
    command.append(buttonOf(["Copy"], async (button) => {
      try {
        await navigator.clipboard.writeText(text.textContent);
        button.textContent = "Copied";
        setTimeout(() => { button.textContent = "Copy"; }, 2000);
      } catch {
        getSelection().selectAllChildren(text);
      }
    }));
  }

  addEventListener("beforeprint", () => [...waiting.keys()].forEach(fill));
  controls.hidden = false;
  update(findings);
  window.requestIdleCallback?.(load);
})();
