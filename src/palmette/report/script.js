// All text goes into the page as text, never as markup: whatever a leaf is called, it stays a name.
"use strict";
(() => {
  const data = JSON.parse(document.getElementById("data").textContent);
  const { labels, clusters } = data;
  const ofPartition = data.kind === "partitions";
  const numberOf = new Map(clusters.map((cluster, number) => [cluster.members.join(), number]));
  const shownInRow = 40;
  const all = (selector, within = document) => [...within.querySelectorAll(selector)];

  function make(tag, className, ...content) {
    const element = document.createElement(tag);
    if (className) element.className = className;
    element.append(...content);
    return element;
  }

  const oneLine = (label) => label.replace(/\s+/g, " ").trim() || "(no name)";

  function name(leaf, longest) {
    const line = oneLine(labels[leaf]);
    const letters = [...line];
    const out = make("bdi", "", letters.length > longest ? `${letters.slice(0, longest - 1).join("")}…` : line);
    if (letters.length > longest) out.title = labels[leaf];
    return out;
  }

  function percent(share) {
    if (share <= 0) return "0\u00a0%";
    if (share < 1e-4) {
      const [mantissa, power] = share.toExponential(1).split("e");
      return `${mantissa}\u00a0×\u00a010${[...power].map((sign) => "⁻⁰¹²³⁴⁵⁶⁷⁸⁹"["-0123456789".indexOf(sign)]).join("")}`;
    }
    if (share >= 0.9995 && share < 1) return ">\u00a099.9\u00a0%";
    const digits = share >= 1 ? 0 : share >= 0.09995 ? 1 : share >= 0.000995 ? 2 : 3;
    return `${(100 * Math.min(share, 1)).toFixed(digits)}\u00a0%`;
  }

  // The standard error of an estimate, after its value; nothing where a number is exact.
  const give = (error) => (error === undefined ? "" : ` ±\u00a0${(100 * error).toFixed(error < 0.001 ? 2 : 1)}`);

  const level = (share) =>
    share >= 0.95 ? "certain" : share >= 0.75 ? "likely" : share >= 0.5 ? "probable" : "contested";

  function names(members, limit = Infinity, longest = 48) {
    const out = document.createDocumentFragment();
    members.slice(0, limit).forEach((leaf, i) => {
      if (i) out.append(", ");
      out.append(name(leaf, longest));
    });
    if (members.length > limit) out.append(` and ${members.length - limit} more`);
    return out;
  }

  function track(share) {
    const bar = make("i", level(share));
    bar.style.width = `${100 * share}%`;
    return make("span", "track", bar);
  }

  const leaves = (size) => (size === 1 ? "1 leaf" : `${size} leaves`);
  const without = (members, part) => {
    const gone = new Set(part);
    return members.filter((leaf) => !gone.has(leaf));
  };

  // What is known of one cluster: members, probability, and what competes with it.

  function part(members) {
    const number = numberOf.get(members.join());
    if (number === undefined || members.length < 2) return names(members, 12);
    const button = make("button", "", names(members, 12));
    button.type = "button";
    button.addEventListener("click", () => choose(number, true));
    return button;
  }

  const inBest = (members) =>
    (members.length < 2 && !ofPartition) || Boolean(clusters[numberOf.get(members.join())]?.in_best);

  function rival(share, tag, ...parts) {
    const head = make("div", "head", make("span", "", percent(share)), track(share));
    if (tag) head.append(make("span", "tag", tag));
    const line = make("div", "parts");
    for (const piece of parts) line.append(make("div", "", piece));
    return make("li", "", head, line);
  }

  function splitRivals(cluster) {
    const list = make("ul", "rivals");
    for (const [left, share] of cluster.splits) {
      const right = without(cluster.members, left);
      const best = !ofPartition && cluster.in_best && inBest(left) && inBest(right);
      list.append(rival(share, best ? "in the best" : "", part(left), part(right)));
    }
    const rest = 1 - cluster.splits.reduce((sum, [, share]) => sum + share, 0);
    if (!ofPartition && rest >= 0.0005) list.append(rival(rest, "", "all other splits"));
    return list;
  }

  function splitSection(cluster) {
    const title = ofPartition ? "Split in two: both parts are clusters" : "How it is split, given that it occurs";
    const out = [make("h4", "", title)];
    // Chains over partitions know no splits, and neither do particles.
    const unknown = cluster.splits === null && cluster.error !== undefined;
    if (cluster.members.length === 1 || (ofPartition && unknown) || data.kind === "histories") return [];
    if (unknown) out.push(make("p", "aside", "No draw has this cluster, so nothing is known of its splits."));
    else if (cluster.splits === null) out.push(make("p", "aside", "Not computed: there are too many splits for a report."));
    else if (!ofPartition && cluster.members.length === 2) out.push(make("p", "aside", "Two leaves: there is one way only."));
    else if (!cluster.splits.length) out.push(make("p", "aside", "No split has 0.1 % or more."));
    else out.push(splitRivals(cluster));
    return out;
  }

  function joinSection(cluster) {
    if (!cluster.joins?.length) return [];
    const list = make("ul", "rivals");
    for (const [others, share] of cluster.joins) list.append(rival(share, "", joinedPart(cluster, others)));
    return [make("h4", "", "Joined with others: one larger cluster"), list];
  }

  function joinedPart(cluster, others) {
    const whole = [...cluster.members, ...others].sort((a, b) => a - b);
    const button = make("button", "", "with ", names(others, 12));
    button.type = "button";
    button.addEventListener("click", () => choose(numberOf.get(whole.join()), true));
    return button;
  }

  function details(number, headed = true) {
    const cluster = clusters[number];
    const out = make("div", "details");
    if (headed) {
      out.append(make("h3", "", `Cluster of ${leaves(cluster.members.length)}`));
      out.append(make("div", "big", percent(cluster.probability) + give(cluster.error)), track(cluster.probability));
    }
    if (cluster.au !== undefined) out.append(make("p", "aside", `Bootstrap: AU ${percent(cluster.au)}, BP ${percent(cluster.bp)}`));
    if (headed || cluster.members.length > shownInRow) out.append(make("p", "members", names(cluster.members, Infinity, 400)));
    out.append(...splitSection(cluster), ...joinSection(cluster));
    return out;
  }

  // One cluster is chosen at a time: it fills the panel, and its leaves stand out in every picture.

  const panel = document.getElementById("panel");
  const pictures = all("svg.tree:not(.small), svg.map");
  let chosen = null;

  function mark(number) {
    const members = number === null ? null : new Set(clusters[number].members);
    for (const picture of pictures) {
      picture.classList.toggle("marked", members !== null && members.size < labels.length);
      for (const leaf of all(".leaf", picture)) leaf.classList.toggle("on", Boolean(members?.has(Number(leaf.dataset.leaf))));
    }
  }

  function choose(number, follow = false) {
    chosen = number;
    panel?.replaceChildren(details(number));
    for (const element of all("[data-cluster]")) {
      element.setAttribute("aria-pressed", String(Number(element.dataset.cluster) === number));
    }
    mark(number);
    if (follow && panel) panel.scrollIntoView({ block: "nearest" });
  }

  // A note beside the pointer, or beside what has the focus.

  const tip = document.getElementById("tip");

  function showTip(x, y, ...content) {
    tip.replaceChildren(...content);
    tip.hidden = false;
    const box = tip.getBoundingClientRect();
    tip.style.left = `${Math.max(8, Math.min(x + 14, innerWidth - box.width - 8))}px`;
    tip.style.top = `${y + 16 + box.height < innerHeight ? y + 16 : Math.max(8, y - box.height - 12)}px`;
  }

  // Where the picture is wider than the screen, the names come first.
  for (const canvas of all(".canvas")) canvas.scrollLeft = canvas.scrollWidth;

  const hideTip = () => { tip.hidden = true; };

  function preview(element, x, y) {
    const number = Number(element.dataset.cluster);
    const { members, probability, error } = clusters[number];
    mark(number);
    showTip(x, y, make("b", "", `${percent(probability)}${give(error)} · ${leaves(members.length)}`), names(members, 24));
  }

  function endPreview() {
    hideTip();
    mark(chosen);
  }

  document.addEventListener("keydown", (event) => { if (event.key === "Escape") endPreview(); });

  for (const element of all("[data-cluster]")) {
    const inTree = element.closest("svg") !== null;
    element.addEventListener("click", () => choose(Number(element.dataset.cluster), !inTree || innerWidth < 960));
    element.addEventListener("pointermove", (event) => preview(element, event.clientX, event.clientY));
    element.addEventListener("pointerleave", endPreview);
    element.addEventListener("focus", () => {
      if (!element.matches(":focus-visible")) return;
      const box = (element.querySelector("circle") ?? element).getBoundingClientRect();
      preview(element, box.right, box.bottom);
    });
    element.addEventListener("blur", endPreview);
  }

  // The picture is one stop of the Tab key; arrows move within.

  for (const tree of all("svg.tree:not(.small)")) {
    const nodes = all(".cluster", tree).sort((a, b) => a.dataset.y - b.dataset.y);
    const root = nodes.find((node) => node.dataset.parent === "");
    const moves = {
      ArrowLeft: (node) => nodes.find((other) => other.dataset.cluster === node.dataset.parent),
      ArrowRight: (node) => nodes.find((other) => other.dataset.parent === node.dataset.cluster),
      ArrowUp: (node) => nodes[nodes.indexOf(node) - 1],
      ArrowDown: (node) => nodes[nodes.indexOf(node) + 1],
      Home: () => root,
    };
    root?.setAttribute("tabindex", "0");
    // On the element around it: a picture that listens for focus would take it.
    tree.parentElement.addEventListener("focusin", (event) => {
      if (!nodes.includes(event.target)) return;
      for (const node of nodes) node.setAttribute("tabindex", node === event.target ? "0" : "-1");
    });
    tree.addEventListener("keydown", (event) => {
      const node = event.target.closest(".cluster");
      if (!node) return;
      if (event.key === "Enter" || event.key === " ") choose(Number(node.dataset.cluster));
      else if (moves[event.key]) moves[event.key](node)?.focus();
      else return;
      event.preventDefault();
    });
  }

  for (const button of all("[data-tree]")) {
    button.addEventListener("click", () => {
      for (const other of all("[data-tree]")) {
        other.setAttribute("aria-pressed", String(other === button));
        const canvas = document.getElementById(other.dataset.tree).parentElement;
        canvas.hidden = other !== button;
        canvas.scrollLeft = canvas.scrollWidth;
      }
    });
  }

  // The map of pairs.

  const map = document.getElementById("map");
  if (map) {
    const n = data.order.length;
    const cell = Number(map.dataset.cell);
    const cursor = map.querySelector(".cursor");
    let place = [0, 0];
    const of = (rows, i, j) => rows?.[Math.min(i, j)][Math.abs(i - j) - 1];
    const show = (row, column, x, y) => {
      place = [row, column];
      cursor.setAttribute("x", column * cell);
      cursor.setAttribute("y", row * cell);
      cursor.setAttribute("visibility", "visible");
      const pair = [data.order[row], data.order[column]];
      const single = row === column;
      const share = () => percent(of(data.together, ...pair)) + give(of(data.together_errors, ...pair));
      showTip(x, y, make("b", "", single ? "one leaf" : `${share()} together`), names(single ? [pair[0]] : pair));
    };
    const leave = () => { cursor.setAttribute("visibility", "hidden"); hideTip(); };
    const onScreen = (x, y) => new DOMPoint(x, y).matrixTransform(map.getScreenCTM());
    const showPlace = () => {
      const point = onScreen((place[1] + 1) * cell, (place[0] + 1) * cell);
      show(...place, point.x, point.y);
    };
    map.addEventListener("pointermove", (event) => {
      const point = new DOMPoint(event.clientX, event.clientY).matrixTransform(map.getScreenCTM().inverse());
      const row = Math.floor(point.y / cell);
      const column = Math.floor(point.x / cell);
      if (Math.min(row, column) >= 0 && Math.max(row, column) < n) show(row, column, event.clientX, event.clientY);
      else leave();
    });
    map.addEventListener("pointerleave", leave);
    map.addEventListener("blur", leave);
    map.addEventListener("focus", () => { if (map.matches(":focus-visible")) showPlace(); });
    map.addEventListener("keydown", (event) => {
      const step = { ArrowLeft: [0, -1], ArrowRight: [0, 1], ArrowUp: [-1, 0], ArrowDown: [1, 0] }[event.key];
      if (!step) return;
      event.preventDefault();
      place = place.map((at, i) => Math.max(0, Math.min(n - 1, at + step[i])));
      showPlace();
    });
  }

  // The table: rows open to show what competes.

  const body = document.querySelector("#table tbody");
  const headers = all("#table th[data-key]");
  const resampled = headers.some((header) => header.dataset.key === "au");
  const bootstrapCells = ({ au, bp }) =>
    resampled ? [au, bp].map((value) => make("td", "bootstrap", value === undefined ? "" : percent(value))) : [];
  const rows = clusters.slice(0, data.n_rows).map((cluster, number) => tableRow(cluster, number));

  function tableRow(cluster, number) {
    const open = make("button", "open", make("span", "", names(cluster.members, shownInRow)));
    open.type = "button";
    open.setAttribute("aria-expanded", "false");
    const share = make("div", level(cluster.probability), make("span", "", percent(cluster.probability) + give(cluster.error)), track(cluster.probability));
    const row = make("tr", "row", make("td", "", open), make("td", "size", String(cluster.members.length)),
      make("td", "share", share), ...bootstrapCells(cluster), make("td", "best", cluster.in_best ? "yes" : ""));
    const more = make("tr", "more");
    more.hidden = true;
    open.addEventListener("click", () => {
      more.hidden = !more.hidden;
      open.setAttribute("aria-expanded", String(!more.hidden));
      if (more.hidden) return;
      const cell = make("td", "", details(number, false));
      cell.colSpan = headers.length;
      more.replaceChildren(cell);
      choose(number);
    });
    const text = cluster.members.map((leaf) => oneLine(labels[leaf])).join("\n").toLowerCase();
    return { row, more, number, text, members: text, size: cluster.members.length, probability: cluster.probability,
      au: cluster.au ?? -1, bp: cluster.bp ?? -1, best: Number(cluster.in_best) };
  }

  const output = document.getElementById("found");

  function arrange(key, direction) {
    const sign = direction === "ascending" ? 1 : -1;
    const compare = (a, b) => (a[key] < b[key] ? -sign : a[key] > b[key] ? sign : a.number - b.number);
    body.append(...[...rows].sort(compare).flatMap(({ row, more }) => [row, more]));
    for (const header of headers) {
      if (header.dataset.key === key) header.setAttribute("aria-sort", direction);
      else header.removeAttribute("aria-sort");
    }
  }

  for (const header of headers) {
    header.firstElementChild.addEventListener("click", () => {
      const first = header.dataset.key === "members" ? "ascending" : "descending";
      const second = first === "ascending" ? "descending" : "ascending";
      arrange(header.dataset.key, header.getAttribute("aria-sort") === first ? second : first);
    });
  }

  const search = document.getElementById("search");

  function filter() {
    const words = search.value.toLowerCase().split(/[\s,]+/).filter(Boolean);
    let found = 0;
    for (const { row, more, text } of rows) {
      const fits = words.every((word) => text.includes(word));
      row.hidden = !fits;
      if (!fits) { more.hidden = true; row.querySelector(".open").setAttribute("aria-expanded", "false"); }
      found += fits;
    }
    output.textContent = `${found} of ${rows.length} clusters`;
  }

  search.addEventListener("input", filter);
  arrange("probability", "descending");
  filter();
})();
