/* Making elements. Text is always text: no markup is ever parsed. */

/**
 * @param {string} name "div", or "div.class.class"
 * @param {Object} attributes attributes; functions are listeners, `style` is an object; undefined ones are left out
 * @param {...any} children elements, texts, lists of them; null and false are left out
 */
function h(name, attributes = {}, ...children) {
  const [tag, ...classes] = name.split(".");
  const element = document.createElement(tag);
  if (classes.length) element.className = classes.join(" ");
  setAll(element, attributes);
  append(element, children);
  return element;
}

/** The same for SVG. */
function svg(name, attributes = {}, ...children) {
  const [tag, ...classes] = name.split(".");
  const element = document.createElementNS("http://www.w3.org/2000/svg", tag);
  if (classes.length) element.setAttribute("class", classes.join(" "));
  setAll(element, attributes);
  append(element, children);
  return element;
}

function setAll(element, attributes) {
  for (const [key, value] of Object.entries(attributes)) {
    if (value === undefined || value === null || value === false) continue;
    if (typeof value === "function") element.addEventListener(key, value);
    else if (key === "style") for (const [k, v] of Object.entries(value)) element.style.setProperty(k, v);
    else element.setAttribute(key, value === true ? "" : value);
  }
}

function append(element, children) {
  for (const child of children) {
    if (child === null || child === undefined || child === false) continue;
    if (Array.isArray(child)) append(element, child);
    else element.append(child);
  }
}

function replace(element, ...children) {
  element.replaceChildren();
  append(element, children);
}

/** A colour of the style sheet as the browser computes it, for canvases. */
function colour(name) {
  const probe = document.getElementById("probe");
  probe.style.color = `var(--${name})`;
  return getComputedStyle(probe).color;
}
