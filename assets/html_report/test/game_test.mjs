// What games have: frames, budgets, tags.
import assert from 'node:assert/strict';
import { madeUp, pageTest, text } from './fixture.mjs';
import { madeUpGame, madeUpReport } from './made_up_report.mjs';

const earlier = madeUpReport({ stacks: 300 });

pageTest('the frame with the hitch is first, with its stack, and bars lead to every frame', () => madeUp({ ...earlier, game_frames: madeUpGame() }), async (page) => {
  await page.click('[data-tab=game]');
  const rows = page.locator('#worst-frames tbody tr');
  assert.match(await rows.first().innerText(), /^1,000\s+64\.0 MiB/);
  assert.equal(await rows.first().getAttribute('aria-selected'), 'true');
  const named = (index) => earlier.frames[index].function ?? `+0x${earlier.frames[index].offset.toString(16)}`;
  const detail = () => text(page, '#game-detail');
  assert.ok((await detail()).includes(named(3)));
  assert.match(await detail(), /took 45 ms; why: page faults/);
  assert.match(await detail(), /64\.0 MiB in 1 allocation, about 45 ms in the allocator · Game\/<Streaming>/);
  assert.match(await text(page, '#game'), /the last 3,000 of 5,000 frames; 2 marks were refused/);
  await rows.nth(1).click();
  assert.match(await detail(), /^Frame 50/);
  // A bar of one without stacks.
  const box = await page.locator('#game .catch').boundingBox();
  await page.mouse.click(box.x + box.width * 0.75, box.y + box.height / 2);
  assert.match(await detail(), /Frame 2,2[45]\d/);
  assert.match(await detail(), /Stacks are kept of the worst frames alone/);
});

pageTest('measures of frames change the bars, and budgets say when they were exceeded', () => madeUp({ ...earlier, game_frames: madeUpGame() }), async (page) => {
  await page.click('[data-tab=game]');
  const highest = () => page.locator('#game .bars rect').evaluateAll((bars) => {
    const top = (bar) => Number(bar.getAttribute('y'));
    return bars.indexOf(bars.reduce((a, b) => (top(b) < top(a) ? b : a))) / bars.length;
  });
  assert.ok(Math.abs(await highest() - 0.333) < 0.01);
  await page.click('[data-measure=duration_ns]');
  assert.ok(Math.abs(await highest() - 0.667) < 0.01);
  assert.match(await text(page, '#worst-frames tbody'), /^2,000/);
  assert.match(await text(page, '#budgets'), /Game\/<Streaming>\s+16\.0 MiB\s+bytes held\s+64\.0 MiB\s+1/);
  assert.equal(await page.locator('#game .offences circle').count(), 1);
  assert.match(await text(page, '[data-offence=held_bytes]'), /64\.0 MiB held, 16\.0 MiB are allowed/);
  await page.click('[data-offence=held_bytes] button');
  assert.match(await text(page, '#game-detail'), /^Frame 1,000/);
});

pageTest('the limit of a budget is a line among the bars of its tag', () => madeUp({ ...earlier, game_frames: madeUpGame() }), async (page) => {
  await page.click('[data-tab=game]');
  const bars = () => page.locator('#game .bars rect').count();
  const line = page.locator('#game .limit');
  assert.equal(await line.count(), 0);
  await page.click('#budgets tbody tr:has-text("bytes held")');
  assert.equal(await line.textContent(), 'budget 16.0 MiB');
  assert.equal(await page.inputValue('#game-tag'), '/Game/<Streaming>');
  assert.equal(await page.getAttribute('[data-measure=held_bytes]', 'aria-pressed'), 'true');
  assert.match(await text(page, '#game-detail'), /^Frame 1,000/);
  const above = await page.evaluate(() => {
    const y = Number(document.querySelector('#game .limit line').getAttribute('y1'));
    return [...document.querySelectorAll('#game .bars rect')].filter((bar) => Number(bar.getAttribute('y')) < y).length;
  });
  assert.equal(above, 1);
  // It did nothing in some frames, but held what it held.
  const held = await bars();
  await page.click('[data-measure=allocated_bytes]');
  assert.ok(await bars() < held - 10);
  // What is inside of a tag counts too.
  await page.selectOption('#game-tag', '/Game');
  await page.click('[data-measure=allocations]');
  assert.equal(await line.textContent(), 'budget 5');
  assert.equal(await page.locator('#game .offences circle').count(), 1);
  await page.selectOption('#game-tag', '');
  assert.equal(await line.count(), 0);
  await page.click('[data-offence=allocations_per_frame] button');
  assert.match(await text(page, '#game-detail'), /^Before the first frame/);
});

pageTest('frames can be told from the highest, counted by what they have, and walked by keys', () => madeUp({ ...earlier, game_frames: madeUpGame() }), async (page) => {
  await page.click('[data-tab=game]');
  assert.match(await text(page, '#worst-frames tbody'), /45 ms, page faults/);
  const heights = (which) => page.locator(which).evaluateAll((bars) => bars.map((bar) => Number(bar.getAttribute('height'))));
  const most = Math.max(...await heights('#game .bars rect'));
  assert.ok((await heights('#game .bars rect')).filter((height) => height > most / 10).length < 3);
  await page.check('#game input[type=checkbox]');
  assert.ok((await heights('#game .bars rect')).filter((height) => height > most / 10).length > 100);
  assert.equal(await page.locator('#game .cut').count(), 1);
  const place = Number(await page.getAttribute('#game .catch', 'height'));
  assert.ok((await heights('#game .bars rect')).every((height) => height <= place));
  const classes = await heights('[data-histogram=allocated_bytes] .bar');
  assert.equal(classes.length, 21);
  assert.deepEqual(classes.map((height) => height > 0), classes.map((_, i) => [0, 2, 20].includes(i)));
  assert.ok(classes[0] > 3 * classes[2] && classes[2] > classes[20] && classes[20] >= 2);
  assert.equal(await page.locator('[data-histogram]').count(), 1);
  await page.focus('#game [data-focus=bars]');
  await page.keyboard.press('End');
  await page.keyboard.press('ArrowLeft');
  assert.match(await text(page, '#game-detail'), /^Frame 2,999/);
  await page.focus('#worst-frames tbody tr >> nth=1');
  await page.keyboard.press('Enter');
  assert.match(await text(page, '#game-detail'), /^Frame 50/);
  await page.click('#worst-frames th:has-text("Duration")');
  assert.match(await text(page, '#worst-frames tbody'), /^2,000/);
  await page.click('[data-measure=peak_bytes]');
  assert.match(await text(page, '#worst-frames tbody'), /^1,000\s.*64\.0 MiB/);
  assert.equal(await page.locator('#game-tag').isDisabled(), true);
});

pageTest('a report without frames of a game has no place for them', () => madeUp(earlier), async (page) => {
  assert.equal(await page.locator('#game-tab').isVisible(), false);
});

pageTest('of a frame whose held bytes are shown, the stack that allocated most is first', () => {
  const game = madeUpGame();
  const stack = (size, allocations) => ({ frames: [3, 1, 0], tag: null, thread: null, allocations, allocated_bytes: size, allocator_ns: 0 });
  const [most] = game.worst;
  game.worst = [{ ...most, measure: 'allocations', stacks: [stack(10, 9), stack(2 ** 26, 1)] },
    { ...most, stacks: [stack(2 ** 26, 1), stack(10, 9)] }];
  return madeUp({ ...earlier, game_frames: game });
}, async (page) => {
  await page.click('[data-tab=game]');
  const first = () => page.locator('#game-detail summary h3').first().innerText();
  await page.click('[data-measure=held_bytes]');
  assert.match(await first(), /^64\.0 MiB in 1 allocation/);
  await page.click('[data-measure=allocations]');
  assert.match(await first(), /^10 B in 9 allocations/);
});

pageTest('tags are told with what is inside of them, and what allocators hold beyond blocks', () => madeUp({ ...earlier, tags: [
  { tag: null, allocations: 1, allocated_bytes: 20, live_allocations: 1, live_bytes: 20, temporary_allocations: 0, live_bytes_with_nested: 20, overhead_bytes: 0 },
  { tag: 'Game/<Arena>', allocations: 2, allocated_bytes: 4096, live_allocations: 1, live_bytes: 2048, temporary_allocations: 0, live_bytes_with_nested: 2048, overhead_bytes: 512 },
  { tag: 'Game', allocations: 1, allocated_bytes: 10, live_allocations: 1, live_bytes: 10, temporary_allocations: 0, live_bytes_with_nested: 2058, overhead_bytes: 0 },
] }), async (page) => {
  await page.click('[data-tab=modules]');
  assert.match(await text(page, '#tags'), /Game\/<Arena>\s+2\.00 KiB\s+2\.00 KiB\s+1\s+2\s+4\.00 KiB\s+512 B/);
  assert.match(await text(page, '#tags'), /Game\s+10 B\s+2\.01 KiB/);
  // A tree, whatever the order of the report.
  const names = await page.locator('#tags tbody td:first-child').allInnerTexts();
  assert.deepEqual(names, ['Game', 'Game/<Arena>', '(no tag)']);
});

pageTest('pools are told with their overhead, most live bytes first', () => madeUp({ ...earlier, pools: { pools: [
  { name: '', destroyed: true, allocations: 9, allocated_bytes: 90, live_allocations: 0, live_bytes: 0, peak_live_bytes: 50, overhead_bytes: 0, stacks: [] },
  { name: '<arena>', destroyed: false, allocations: 3, allocated_bytes: 4096, live_allocations: 2, live_bytes: 2048, peak_live_bytes: 3072, overhead_bytes: 512, stacks: [] },
] } }), async (page) => {
  await page.click('[data-tab=modules]');
  assert.match(await text(page, '#pools'), /<arena>\s+2\.00 KiB\s+2\s+3\.00 KiB\s+3\s+4\.00 KiB\s+512 B/);
  const names = await page.locator('#pools tbody td:first-child').allInnerTexts();
  assert.deepEqual(names, ['<arena>', '(no name) (destroyed)']);
});

pageTest('tags whose outer one is not told stand inside of the one further out', () => madeUp({ ...earlier, tags:
  ['Z', 'A/B/C', 'A', 'A', 'A/D', '/'].map((tag, i) => ({
    tag, allocations: 1, allocated_bytes: 9 - i, live_allocations: 1, live_bytes: 9 - i, temporary_allocations: 0,
    live_bytes_with_nested: 9 - i, overhead_bytes: 0 })),
}), async (page) => {
  await page.click('[data-tab=modules]');
  const cells = await page.locator('#tags tbody td:first-child').evaluateAll((all) =>
    all.map((cell) => [cell.textContent, parseInt(cell.style.paddingLeft, 10)]));
  assert.deepEqual(cells, [['Z', 14], ['A', 14], ['A/B/C', 30], ['A/D', 30], ['A', 14], ['/', 14]]);
});

pageTest('labels below the bars have room on a narrow screen', () => madeUp({ ...earlier, game_frames: madeUpGame() }), async (page) => {
  await page.setViewportSize({ width: 480, height: 900 });
  await page.click('[data-tab=game]');
  const boxes = await page.locator('#game .chart').first().locator('.tick text').evaluateAll((all) =>
    all.filter((one) => one.getAttribute('text-anchor') !== 'end' && one.textContent !== '' && one.getAttribute('y') === '9')
      .map((one) => { const { left, right } = one.getBoundingClientRect(); return { left, right }; }));
  assert.ok(boxes.length >= 2);
  boxes.slice(1).forEach(({ left }, i) => assert.ok(left > boxes[i].right));
});
