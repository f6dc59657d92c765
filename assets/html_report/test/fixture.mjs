// One run of a program that every test shows in pages of its own.
import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { after, before, test } from 'node:test';
import { launch, open, withReports } from './browser.mjs';

const directory = mkdtempSync(path.join(tmpdir(), 'alloctap-page-'));
const PROGRAM = 'import json, email, http.client, os; kept = [json.loads("[1, [2, 3]]") for i in range(999)]; os._exit(0)';

/** The run: its report in JSON, and its page. */
export const run = { json: null, pageText: null };
let browser;

export const file = (name) => path.join(directory, name);

before(async () => {
  execFileSync(process.env.ALLOCTAP_RUN, [
    `--dump=json=${file('run.json')}`, `--dump=html=${file('run.html')}`, '--', 'python3', '-c', PROGRAM]);
  run.json = JSON.parse(readFileSync(file('run.json'), 'utf8'));
  run.pageText = readFileSync(file('run.html'), 'utf8');
  browser = await launch();
});

after(async () => {
  await browser?.close();
  rmSync(directory, { recursive: true });
});

export function openPage(name) {
  return open(browser, file(name));
}

/** The name of a page with these reports. */
export function madeUp(report, base) {
  writeFileSync(file('made_up.html'), withReports(run.pageText, report, base));
  return 'made_up.html';
}

/** A test with a page of its own, which must have no faults in the end. `make()` names the page. */
export function pageTest(name, make, act) {
  test(name, async () => {
    const page = await openPage(make());
    await page.waitForFunction(() => window.alloctap?.view);
    await act(page);
    assert.deepEqual(page.faults, []);
    await page.close();
  });
}

export const realRun = () => 'run.html';

export const text = (page, selector) => page.locator(selector).innerText();

/** 1234567 -> "1,234,567". */
export const grouped = (number) => number.toLocaleString('en-US');

/** The functions of a stack as the page must name them, leaf first. */
export function labelsOf(report, stack) {
  return stack.frames.flatMap((index) => {
    const frame = report.frames[index];
    const nameless = frame.module === null
      ? `0x${frame.address.toString(16)}`
      : `${path.basename(report.modules[frame.module].path)}+0x${frame.offset.toString(16)}`;
    return [...frame.inlined, frame].map((one) => one.function ?? nameless);
  });
}

/** Every row of the table of stacks: those that only mapped memory come last. */
export function rowsOf({ stacks, mappings }) {
  const known = new Set(stacks.map((stack) => stack.frames.join()));
  const others = mappings.stacks.filter((stack) => !known.has(stack.frames.join()));
  return [...stacks, ...others.map(({ frames }) =>
    ({ frames, allocations: 0, live_bytes: 0, live_allocations: 0 }))];
}

export function sum(stacks, key) {
  return stacks.reduce((all, stack) => all + stack[key], 0);
}
