// A headless Chromium that shows reports, and says what goes wrong in them.
import { execFileSync } from 'node:child_process';
import { chromium } from 'playwright-core';

function chromiumPath() {
  const script = 'command -v chromium || command -v chromium-browser || command -v google-chrome';
  return execFileSync('sh', ['-c', script], { encoding: 'utf8' }).trim();
}

/** For all that has to happen: a busy machine takes its time. */
const PATIENCE_MS = 120_000;

/** The sandbox of Chromium refuses root; all that it opens here is made by the test. */
export function launch() {
  return chromium.launch({ executablePath: chromiumPath(), args: ['--no-sandbox'], timeout: PATIENCE_MS });
}

/** Opens the page in that file on a laptop's screen; `faults` collects errors and requests. */
export async function open(browser, file) {
  const page = await browser.newPage({ viewport: { width: 1366, height: 768 } });
  page.setDefaultTimeout(PATIENCE_MS);
  page.faults = [];
  page.on('pageerror', (error) => page.faults.push(`error: ${error.message}`));
  page.on('console', (message) => {
    if (['error', 'warning'].includes(message.type())) page.faults.push(`console: ${message.text()}`);
  });
  page.on('request', (request) => {
    if (!/^(file|data):/.test(request.url())) page.faults.push(`request: ${request.url()}`);
  });
  await page.goto(`file://${file}`);
  return page;
}

/** The page whose text that is, with other reports in it. */
export function withReports(pageText, report, base) {
  const put = (text, id, json) => {
    const tag = `<script type="application/json" id="${id}">`;
    const begin = text.indexOf(tag) + tag.length;
    return text.slice(0, begin) + json + text.slice(text.indexOf('</script', begin));
  };
  const written = (json) => (json ? JSON.stringify(json).replaceAll('<', '\\u003c') : '');
  return put(put(pageText, 'report', written(report)), 'base', written(base));
}
