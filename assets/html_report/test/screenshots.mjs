// Pictures of pages, as examples/README.md shows them.
// usage: node test/screenshots.mjs DIRECTORY, with PROGRAM.html of each below in it
import path from 'node:path';
import { launch, open } from './browser.mjs';

const directory = path.resolve(process.argv[2]);

/** What is clicked on, and typed, before the picture is taken. */
const PICTURES = [
  { page: 'python3', name: 'python3_flame_graph', act: async (page) => {
    await page.locator('#flame-canvas').hover({ position: { x: 250, y: 400 } });
  } },
  { page: 'sqlite3', name: 'sqlite3_inverted', act: async (page) => {
    await page.click('[data-metric=peak_bytes]');
    await page.click('[data-leaf-first=true]');
    await page.fill('#search', 'sqlite3Btree');
  } },
  { page: 'cc1plus', name: 'cc1plus_stacks', act: async (page) => {
    await page.click('[data-tab=stacks]');
    await page.click('th:has-text("Temporary")');
    await page.click('tr[data-stack] >> nth=2');
  } },
  { page: 'cc1plus', name: 'cc1plus_timeline', act: (page) => page.click('[data-tab=timeline]') },
  { page: 'cc1plus', name: 'cc1plus_sizes', act: (page) => page.click('[data-tab=sizes]') },
  { page: 'game_loop', name: 'game_loop_frames', act: (page) => page.click('[data-tab=game]') },
  { page: 'game_loop', name: 'game_loop_budget', act: async (page) => {
    await page.click('[data-tab=game]');
    await page.click('#budgets tbody tr >> nth=0');
  } },
  { page: 'difference', name: 'difference', act: () => {} },
];

const browser = await launch();
for (const { page: program, name, act } of PICTURES) {
  const page = await open(browser, path.join(directory, `${program}.html`));
  await page.waitForFunction(() => window.alloctap?.view);
  await act(page);
  await page.screenshot({ path: path.join(directory, `${name}.png`) });
  await page.close();
}
await browser.close();
