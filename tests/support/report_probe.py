"""Opens a report in a headless browser, acts as a reader would, and returns what the page then shows."""

import os

from browser import Browser

TOP = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))

# Texts whose contrast with what is behind them (WCAG 2.1, 1.4.3) is below 4.5, each with its ratio.
FAINT = r"""(() => {
  const number = c => (c.match(/[\d.]+/g) || []).map(Number);
  const over = (top, below) => { const a = top.length > 3 ? top[3] : 1; return [0, 1, 2].map(i => top[i] * a + below[i] * (1 - a)); };
  const part = v => (v /= 255) <= .03928 ? v / 12.92 : ((v + .055) / 1.055) ** 2.4;
  const light = c => .2126 * part(c[0]) + .7152 * part(c[1]) + .0722 * part(c[2]);
  const behind = e => e ? over(number(getComputedStyle(e).backgroundColor), behind(e.parentElement)) : [255, 255, 255];
  const faint = [], texts = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
  for (let n = texts.nextNode(); n; n = texts.nextNode()) {
    const e = n.parentElement, style = getComputedStyle(e), range = document.createRange();
    range.selectNodeContents(n);
    if (!n.textContent.trim() || /^(SCRIPT|STYLE|TITLE|title)$/.test(e.tagName) || !range.getClientRects().length) continue;
    const back = behind(e), ink = over(number(e instanceof SVGElement ? style.fill : style.color), back);
    const [a, b] = [light(ink), light(back)].sort((x, y) => y - x), ratio = (a + .05) / (b + .05);
    if (ratio < 4.5) faint.push(n.textContent.trim().slice(0, 40) + ": " + ratio.toFixed(2));
  }
  return faint;
})()"""


def shots():
    """The folder of the screenshots, which stay when the case has ended."""
    folder = os.path.join(TOP, "build", "test-results", "process", "screenshots")
    os.makedirs(folder, exist_ok=True)
    return folder


class ReportView(Browser):
    def __init__(self, path, **look):
        super().__init__(**look)
        self.call("Performance.enable")
        self.open(path)
        self.opening = {one["name"]: one["value"] for one in self.call("Performance.getMetrics")["metrics"]}
        self.length = float(self.value("document.body.dataset.length"))

    @property
    def opened_ms(self):
        """From the start of the navigation to the end of the page's load event."""
        return self.value("performance.getEntriesByType('navigation')[0].loadEventEnd")

    def text(self, selector):
        return self.value(f"(document.querySelector({selector!r}) || {{}}).textContent")

    def table(self, selector):
        return self.value(f"[...document.querySelectorAll({selector + ' tr'!r})].map(row => [...row.cells].map(cell => cell.textContent.trim()))")

    def number(self, expression):
        return float(self.value(expression))

    # --- the timeline

    def of_rank(self, rank, time):
        """The point of a rank at a time, while the whole run is shown."""
        left, top, width, height = self.box("#chart .t")
        row = self.number("+chart.dataset.top") + (rank + .5) * self.number("+chart.dataset.row")
        return left + width * time / self.length, top + row * height / self.number("document.querySelector('#chart .t').getAttribute('height')")

    def tip_of_rank(self, rank, time):
        return self._tip(*self.of_rank(rank, time), time)

    def _tip(self, x, y, time):
        """What the page shows at a point, once it shows this time (to within two pixels)."""
        self.move(x, y)
        near = 2 * self.length / 240 + .01  # no chart is narrower than 240 pixels
        shown = "tip.textContent.split(' ')[0].split(':').reduce((sum, part) => sum * 60 + +part, 0)"
        self.until(f"!tip.hidden && Math.abs({shown} - {time}) < {near + (1 if self.length >= 600 else 0)}")
        return self.text("#tip")

    def pick(self, rank):
        self.click_at(*self.of_rank(rank, self.length / 2))
        return self.text("#pick")

    def zoom_to(self, begin, end):
        """Drags over a part of the run; returns by how much the chart has become wider."""
        (x, y), (to_x, _) = self.of_rank(0, begin), self.of_rank(0, end)
        self.drag(x, y, to_x, y)
        return self.zoomed

    @property
    def zoomed(self):
        return self.number("parseFloat(document.querySelector('.z').getAttribute('width')) / 100")

    # --- plots

    def plotted(self, selector, index, step):
        """The value under the pointer at a sample of the plot, as the tip shows it: a number, without its unit."""
        left, top, width, height = self.box(selector)
        time = min((index + .5) * step, self.length * .99)  # the border at the right is not the plot
        return float(self._tip(left + width * time / self.length, top + height / 2, time).split()[1])

    def plot_of_metric(self, name):
        """A selector of the plot under this caption."""
        number = self.value(f"[...document.querySelectorAll('figcaption b')].findIndex(b => b.textContent == {name!r})")
        return f"figure:nth-of-type({number + 1}) .p"

    # --- the page

    @property
    def overflow(self):
        """By how many pixels the page is wider than the window."""
        return self.value("document.documentElement.scrollWidth - document.documentElement.clientWidth")

    @property
    def faint(self):
        return self.value(FAINT)

    def open_all(self):
        self.value("document.querySelectorAll('details').forEach(one => one.open = true)")

    def variables(self):
        return {row[0]: row[1] for row in self.table("#env")}

    def shot(self, name, whole=True):
        if whole:
            self.value("scrollTo(0, 0)")  # the page's navigation stays at the top of what is seen
        self.screenshot(os.path.join(shots(), f"{name}.png"), whole)
