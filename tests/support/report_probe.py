"""Opens a report in a headless browser, acts as a reader would, and returns what the page then shows."""

import json
import re
import shutil
import subprocess
import tempfile

SCRIPT = r"""
const seen = {}, one = s => document.querySelector(s);
const box = () => one("#chart .t").getBoundingClientRect();
const send = (kind, x, y) => one("#chart .t").dispatchEvent(new PointerEvent(kind, {clientX: x, clientY: y, button: 0, bubbles: true, pointerType: "mouse"}));
const row = rank => box().top + (+one("#chart").dataset.top + (rank + .5) * one("#chart").dataset.row) * box().height / one("#chart .t").getAttribute("height");
seen.opened_ms = performance.now();
seen.ticks = one(".ticks").children.length;
seen.bars = document.querySelectorAll(".b").length;
const rank = RANK, x = box().left + box().width / 2;
send("pointerdown", x, row(rank)), send("pointerup", x, row(rank));
seen.picked = one("#pick").textContent;
seen.variables = Object.fromEntries([...document.querySelectorAll("#env tr")].map(r => [r.cells[0].textContent, r.cells[1].textContent]));
one("#envpick input").value = 0, one("#envpick input").dispatchEvent(new Event("input"));
seen.other = Object.fromEntries([...document.querySelectorAll("#env tr")].map(r => [r.cells[0].textContent, r.cells[1].textContent]));
send("pointermove", x, row(rank)), seen.tip = one("#tip").textContent;
const plot = one(".p"), of_plot = plot && plot.getBoundingClientRect();
if (plot) plot.dispatchEvent(new PointerEvent("pointermove", {clientX: of_plot.right - 1, clientY: of_plot.top + 5, bubbles: true})), seen.plot = one("#tip").textContent;
send("pointerdown", box().left + box().width / 4, row(rank)), send("pointermove", x, row(rank)), send("pointerup", x, row(rank));
seen.zoomed = parseFloat(one(".z").getAttribute("width"));
one("[data-z=all]").click(), seen.whole = parseFloat(one(".z").getAttribute("width"));
seen.injected = typeof injected != "undefined" || [...document.scripts].length;
seen.outside = [...document.querySelectorAll("[src],link,iframe,object,embed,img")].length;
document.documentElement.setAttribute("data-seen", JSON.stringify(seen));
"""


def browser():
    return shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")


def open_report(path, rank=0, width=1280):
    with open(path, encoding="utf-8") as file:
        page = file.read()
    nonce = re.search(r'<script nonce="(\w+)"', page).group(1)
    page = page.replace("</body>", f'<script nonce="{nonce}">{SCRIPT.replace("RANK", str(rank))}</script></body>')
    with tempfile.TemporaryDirectory() as folder:
        probe = f"{folder}/page.html"
        with open(probe, "w", encoding="utf-8") as file:
            file.write(page)
        dom = subprocess.run([browser(), "--headless=new", "--no-sandbox", "--disable-gpu", f"--user-data-dir={folder}/profile", f"--window-size={width},900", "--dump-dom",
                              f"file://{probe}"], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, timeout=120, check=True).stdout.decode()
    seen = re.search(r'data-seen="([^"]*)"', dom)
    return json.loads(seen.group(1).replace("&quot;", '"').replace("&lt;", "<").replace("&gt;", ">").replace("&amp;", "&"))
