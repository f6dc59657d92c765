// What the page shows of a real run equals the JSON of the same run.
import assert from 'node:assert/strict';
import path from 'node:path';
import { grouped, labelsOf, pageTest, realRun, run, sum, text } from './fixture.mjs';

/** "256 KiB (262,144)" -> 262144: what stands in brackets is exact. */
function exact(shown) {
  const number = /\(([\d,]+)\)/.exec(shown)?.[1] ?? shown;
  return Number(number.replaceAll(',', '').replace(' B', ''));
}

pageTest('the totals are those of the JSON', realRun, async (page) => {
  const { totals, mappings, program } = run.json;
  const cards = await text(page, '#totals');
  assert.match(cards, new RegExp(`${grouped(totals.live_allocations)} blocks`));
  assert.match(cards, new RegExp(`${grouped(totals.allocations)} allocations`));
  assert.match(cards, new RegExp(`${grouped(totals.temporary_allocations)} of them`));
  const shown = await page.evaluate(() => {
    const { view } = window.alloctap;
    return Object.fromEntries(view.report.metrics.map((metric) => [metric.key, view.total(metric)]));
  });
  for (const key of ['live_bytes', 'live_allocations', 'allocations', 'allocated_bytes', 'temporary_allocations']) {
    assert.equal(shown[key], totals[key], key);
  }
  assert.equal(shown.mapped_bytes ?? 0, mappings.live_bytes);
  assert.equal(shown.peak_bytes, run.json.peak.live_bytes);
  assert.match(await text(page, '#program'), new RegExp(`python3.*process ${program.pid}`));
});

pageTest('stacks have the numbers and the frames of the JSON, the most live bytes first', realRun, async (page) => {
  await page.click('[data-tab=stacks]');
  const expected = [...run.json.stacks].sort((a, b) => b.live_bytes - a.live_bytes);
  for (let i = 0; i < 10; ++i) {
    const row = page.locator('#table-scroll tbody tr[data-stack]').nth(i);
    const stack = run.json.stacks[await row.getAttribute('data-stack')];
    assert.equal(stack.live_bytes, expected[i].live_bytes);
    await row.click();
    const names = await page.locator('#detail table td:nth-child(1)').allInnerTexts();
    const cells = await page.locator('#detail table td:nth-child(2)').allInnerTexts();
    const shown = Object.fromEntries(names.map((name, at) => [name, exact(cells[at])]));
    assert.equal(shown['Live bytes'], stack.live_bytes);
    assert.equal(shown['Live blocks'], stack.live_allocations);
    assert.equal(shown.Allocations, stack.allocations);
    assert.equal(shown['Allocated bytes'], stack.allocated_bytes);
    assert.equal(shown.Temporary, stack.temporary_allocations);
    assert.deepEqual(await page.locator('#detail li b').allInnerTexts(), labelsOf(run.json, stack));
  }
});

pageTest('inverted, the graph begins with what allocated', realRun, async (page) => {
  const expected = new Map();
  for (const stack of run.json.stacks) {
    const leaf = labelsOf(run.json, stack)[0];
    expected.set(leaf, (expected.get(leaf) ?? 0) + stack.allocations);
  }
  await page.click('[data-metric=allocations]');
  await page.click('[data-leaf-first=true]');
  const shown = await page.evaluate(() => {
    const { view } = window.alloctap;
    const { numbers } = view.sums();
    return view.tree().children(0, numbers, 1).map((node) => [view.tree().text(node), numbers[node]]);
  });
  assert.ok(shown.length > 20);
  // Functions of one name in two modules are two frames.
  const sums = new Map();
  for (const [name, number] of shown) sums.set(name, (sums.get(name) ?? 0) + number);
  for (const [name, number] of sums) assert.equal(number, expected.get(name), name);
  assert.ok(await page.evaluate(() => window.alloctap.flame.frames.some(({ row }) => row > 1)));
});

pageTest('modules and threads are those of the JSON', realRun, async (page) => {
  const { stacks, modules, frames, threads } = run.json;
  await page.click('[data-metric=allocations]');
  await page.click('[data-tab=modules]');
  const first = page.locator('#modules tr.go').first();
  const [name, number] = await first.locator('td').allInnerTexts();
  const moduleOf = (stack) => frames[stack.frames[0]]?.module ?? null;
  const own = stacks.filter((stack) => moduleOf(stack) !== null && path.basename(modules[moduleOf(stack)].path) === name);
  assert.equal(number, grouped(sum(own, 'allocations')));
  assert.match(await text(page, '#modules'),
    new RegExp(`${threads[0].id}\\s[^]*${grouped(threads[0].allocations)}`));
  await first.click();
  assert.equal(await page.inputValue('#search'), name);
});

pageTest('the timeline has the points and the peak of the JSON', realRun, async (page) => {
  const { timeline, totals } = run.json;
  // The start and the end; points between them need a thread that the system may run later.
  assert.ok(timeline.length >= 2);
  await page.click('[data-tab=timeline]');
  assert.match(await text(page, '#timeline'), new RegExp(`${grouped(timeline.length)} points over`));
  assert.equal(await page.locator('#timeline circle').count(), totals.peak_live_bytes > 0 ? 1 : 0);
});

pageTest('sizes are shown as bars', realRun, async (page) => {
  const { sizes, totals } = run.json;
  await page.click('[data-tab=sizes]');
  const bars = page.locator('#sizes svg').first().locator('rect');
  assert.ok(await bars.count() >= sizes.length);
  const heights = await bars.evaluateAll((all) => all.map((bar) => Number(bar.getAttribute('height'))));
  await bars.nth(heights.indexOf(Math.max(...heights))).hover();
  const most = Math.max(...sizes.map((one) => one.live_bytes));
  assert.match(await text(page, '#tip'), new RegExp(`${((100 * most) / totals.live_bytes).toFixed(1)} %`));
});
