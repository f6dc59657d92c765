// The page can be used: sorting, searching, zooming, opening other reports.
import assert from 'node:assert/strict';
import { writeFileSync } from 'node:fs';
import { test } from 'node:test';
import { file, grouped, labelsOf, madeUp, openPage, pageTest, realRun, rowsOf, run, sum, text } from './fixture.mjs';
import { madeUpReport } from './made_up_report.mjs';

const ROW = 18;

async function clickFrame(page, wanted) {
  const frame = await page.evaluate((name) => {
    const { flame, view } = window.alloctap;
    return flame.frames.find(({ node, width }) => width > 5 && view.tree().text(node) === name);
  }, wanted);
  assert.ok(frame, `${wanted} is drawn`);
  await page.locator('#flame-canvas').click({
    position: { x: frame.x + frame.width / 2, y: frame.row * ROW + ROW / 2 } });
  return frame;
}

const focus = (page) => page.evaluate(() => window.alloctap.flame.focus);

pageTest('a click on a heading sorts by it, the second one the other way', realRun, async (page) => {
  const stacks = rowsOf(run.json);
  const numbers = stacks.map((stack) => stack.allocations);
  await page.click('[data-tab=stacks]');
  const first = async () => stacks[await page.locator('tr[data-stack]').first().getAttribute('data-stack')];
  const heading = page.locator('th', { hasText: 'Allocations' });
  await heading.click();
  assert.equal((await first()).allocations, Math.max(...numbers));
  await heading.click();
  assert.equal((await first()).allocations, Math.min(...numbers));
});

pageTest('the table can be scrolled to its end, and has elements for what is in sight alone', realRun, async (page) => {
  await page.click('[data-tab=stacks]');
  const before = await page.locator('tr[data-stack]').last().getAttribute('data-stack');
  await page.locator('#table-scroll').evaluate((scroll) => { scroll.scrollTop = scroll.scrollHeight; });
  await page.waitForFunction((shown) => [...document.querySelectorAll('tr[data-stack]')].at(-1).dataset.stack !== shown, before);
  const last = await page.locator('tr[data-stack]').last().getAttribute('data-stack');
  assert.equal(rowsOf(run.json)[last].live_bytes, 0);
  assert.ok(await page.locator('tr[data-stack]').count() < 80);
});

pageTest('a search marks frames, adds up what they hold, and leaves other stacks out', realRun, async (page) => {
  const rows = rowsOf(run.json);
  const matching = rows.filter((stack) =>
    labelsOf(run.json, stack).some((label) => label.toLowerCase().includes('pyimport')));
  assert.ok(matching.length > 10);
  const live = sum(matching, 'live_bytes');
  assert.ok(live > 0);
  await page.fill('#search', 'pyImport');
  assert.equal(await page.evaluate(() => window.alloctap.view.totalFound()), live);
  assert.match(await text(page, '#selected'), /found: [\d.]+ [KMG]?i?B, [\d.]+ %/);
  await page.click('[data-tab=stacks]');
  const all = grouped(rows.length);
  assert.match(await text(page, '#stack-count'), new RegExp(`^${grouped(matching.length)} of ${all} stacks`));
  await page.locator('tr[data-stack]').first().click();
  const hits = await page.locator('#detail .hit').allInnerTexts();
  assert.ok(hits.length > 0);
  for (const hit of hits) assert.match(hit, /pyimport/i);
  await page.fill('#search', '/^(PyImport|_PyImport)/');
  assert.match(await text(page, '#stack-count'), / of /);
  await page.fill('#search', '/(/');
  assert.match(await page.locator('#search').getAttribute('class'), /wrong/);
  await page.fill('#search', '');
  assert.match(await text(page, '#stack-count'), new RegExp(`^${all} stacks`));
});

pageTest('a click zooms into a frame, and there is a way back', realRun, async (page) => {
  const frame = await clickFrame(page, 'Py_RunMain');
  assert.equal(await focus(page), frame.node);
  const widths = await page.evaluate(() => {
    const { flame } = window.alloctap;
    return [flame.frames.find(({ node }) => node === flame.focus).width, flame.frames[0].width];
  });
  assert.equal(widths[0], widths[1]);
  assert.match(await text(page, '#selected'), /^Selected: Py_RunMain – .*% of all/);
  await page.click('#reset');
  assert.equal(await focus(page), 0);
  assert.match(await text(page, '#selected'), /^Selected: all – /);
});

pageTest('keys and the mouse move through the graph', realRun, async (page) => {
  await page.focus('#flame-canvas');
  await page.keyboard.press('ArrowDown');
  assert.notEqual(await focus(page), 0);
  await page.keyboard.press('Escape');
  assert.equal(await focus(page), 0);
  await page.locator('#flame-canvas').hover({ position: { x: 50, y: ROW / 2 } });
  assert.match(await text(page, '#tip'), /all\s+Live bytes: .* 100\.0 % of all/);
});

pageTest('another report can be opened, and compared with', realRun, async (page) => {
  writeFileSync(file('later.json'), JSON.stringify(madeUpReport({ stacks: 90, seed: 2 })));
  writeFileSync(file('earlier.json'), JSON.stringify(madeUpReport({ stacks: 90 })));
  const choose = async (button, name) => {
    const [chooser] = await Promise.all([page.waitForEvent('filechooser'), page.click(button)]);
    await chooser.setFiles(file(name));
  };
  await choose('#open', 'later.json');
  await page.waitForFunction(() => document.title === 'game – heap report');
  await choose('#compare', 'earlier.json');
  await page.waitForFunction(() => document.title === 'game – heap difference');
});

test('what is no report is said to be none', async () => {
  const page = await openPage(madeUp({ schema: 'alloctap.heap/9' }));
  assert.match(await text(page, '#program'), /cannot be shown: .*alloctap\.heap\/9/);
  await page.close();
});
