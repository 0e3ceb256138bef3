/* A list of any length, of which only the rows in sight are elements. */

const MARGIN = 8; // rows above and below the visible ones
let lists = 0;

class VirtualList {
  /**
   * @param {Object} options
   * @param {string} options.role "tree", "listbox" or "grid"
   * @param {string} options.label what a screen reader says of the list
   * @param {(item: any, index: number) => HTMLElement} options.draw makes a row; the list gives it its place and id
   * @param {(item: any, index: number) => void} [options.open] Enter or a click
   * @param {(event: KeyboardEvent, item: any, index: number) => boolean} [options.key] other keys; true if it was used
   * @param {HTMLElement} [options.head] a row of titles, which stays in sight
   * @param {number} [options.height] of a row
   */
  constructor({ role, label, draw, open, key, head, height = 28 }) {
    this.items = [];
    this.active = -1;
    this.height = height;
    this.options = { draw, open, key, role };
    this.id = `list${(lists += 1)}`;
    this.rows = h("div.rows", { role: role === "grid" ? "rowgroup" : "none" });
    this.element = h("div.list", {
      role, "aria-label": label, tabindex: 0,
      scroll: () => this.paint(), keydown: (event) => this.keydown(event), focus: () => this.focused(),
      click: (event) => this.click(event), mousedown: (event) => this.mousedown(event),
    }, head, this.rows);
    this.element.style.setProperty("--row", `${height}px`);
    this.headHeight = head ? height : 0;
    this.from = this.to = -1;
    new ResizeObserver(() => this.paint()).observe(this.element);
  }

  /** Show other items. The active row stays with the item `keep` finds, if it is still there. */
  set(items, keep = null) {
    this.items = items;
    this.rows.style.height = `${items.length * this.height}px`;
    if (this.options.role === "grid") this.element.setAttribute("aria-rowcount", items.length);
    this.active = keep ? items.findIndex(keep) : Math.min(this.active, items.length - 1);
    this.paint(true);
  }

  paint(isNew = false) {
    const { scrollTop, clientHeight } = this.element;
    const everything = document.body.classList.contains("printing");
    const from = everything ? 0 : Math.max(0, Math.floor((scrollTop - this.headHeight) / this.height) - MARGIN);
    const to = everything ? Math.min(this.items.length, 400)
      : Math.min(this.items.length, Math.ceil((scrollTop + clientHeight) / this.height) + MARGIN);
    if (!isNew && from === this.from && to === this.to) return;
    this.from = from;
    this.to = to;
    const rows = [];
    for (let i = from; i < to; i += 1) rows.push(this.row(i));
    this.rows.replaceChildren(...rows);
    if (!this.items.length) this.rows.append(h("p.nothing", {}, isFiltered() ? "Nothing here matches the search or the line." : "Nothing."));
    if (this.active >= from && this.active < to) this.element.setAttribute("aria-activedescendant", this.idOf(this.active));
    else this.element.removeAttribute("aria-activedescendant");
  }

  idOf(index) { return `${this.id}-${index}`; }

  row(index) {
    const row = this.options.draw(this.items[index], index);
    row.id = this.idOf(index);
    row.classList.add("row");
    row.style.top = `${index * this.height}px`;
    row.dataset.index = index;
    if (this.options.role === "grid") {
      row.setAttribute("role", "row");
      row.setAttribute("aria-rowindex", index + 1);
      for (const cell of row.children) cell.setAttribute("role", "gridcell");
    }
    for (const button of row.querySelectorAll("button")) button.tabIndex = -1; // Enter on the row leads there too
    if (index === this.active) row.classList.add("active");
    return row;
  }

  /** Make a row the active one, and scroll it into sight. */
  activate(index, where = "nearest") {
    if (index < 0 || index >= this.items.length) return;
    this.active = index;
    const top = index * this.height, height = this.element.clientHeight - this.headHeight;
    if (where === "middle" && (top < this.element.scrollTop || top + this.height > this.element.scrollTop + height)) {
      this.element.scrollTop = top - height / 2;
    } else if (top < this.element.scrollTop) this.element.scrollTop = top;
    else if (top + this.height > this.element.scrollTop + height) this.element.scrollTop = top + this.height - height;
    this.paint(true);
  }

  focused() { if (this.active < 0 && this.items.length) this.activate(Math.max(0, this.from)); }

  /** A button in a row goes away when the row is drawn anew: the list has the focus, not the button. */
  mousedown(event) {
    const row = event.target.closest(".rows > .row");
    if (row) this.active = Number(row.dataset.index); // before the focus comes, which would draw another row as active
    if (!row || !event.target.closest("button")) return;
    event.preventDefault();
    this.element.focus({ preventScroll: true });
  }

  click(event) {
    const row = event.target.closest(".rows > .row");
    if (!row || event.target.closest("button, a")) return;
    const index = Number(row.dataset.index);
    this.activate(index);
    if (this.options.open) this.options.open(this.items[index], index, event);
  }

  keydown(event) {
    if (event.target !== this.element || event.ctrlKey || event.metaKey || event.altKey) return;
    const page = Math.max(1, Math.floor(this.element.clientHeight / this.height) - 2);
    const to = {
      ArrowDown: this.active + 1, ArrowUp: this.active - 1, PageDown: this.active + page, PageUp: this.active - page,
      Home: 0, End: this.items.length - 1,
    }[event.key];
    if (to !== undefined) {
      this.activate(Math.max(0, Math.min(this.items.length - 1, to)));
    } else if (event.key === "Enter" && this.active >= 0) {
      if (this.options.open) this.options.open(this.items[this.active], this.active, event);
    } else if (!(this.active >= 0 && this.options.key && this.options.key(event, this.items[this.active], this.active))) {
      return;
    }
    event.preventDefault();
  }
}
