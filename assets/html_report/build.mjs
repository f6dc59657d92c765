// Builds the page that HtmlDump writes, as a C++ header.
// usage: node build.mjs [OUTPUT]   (default: include/alloctap/dump/html_page.hpp)
import { build } from 'esbuild';
import { readFile, writeFile, readdir } from 'node:fs/promises';
import { fileURLToPath } from 'node:url';
import path from 'node:path';

const here = path.dirname(fileURLToPath(import.meta.url));
const header = path.join(here, '../../include/alloctap/dump/html_page.hpp');
/** Some compilers take no longer literals, in bytes. */
const LONGEST_LITERAL = 15 * 1024;

async function bundle() {
  const result = await build({
    absWorkingDir: here, entryPoints: ['src/main.js'], bundle: true, minify: true, write: false,
    format: 'iife', target: ['chrome100', 'firefox100', 'safari15'], charset: 'ascii', metafile: true,
    legalComments: 'none',
  });
  return { script: result.outputFiles[0].text, inputs: Object.keys(result.metafile.inputs) };
}

async function styles() {
  const result = await build({
    absWorkingDir: here, entryPoints: ['src/style.css'], minify: true, write: false,
    target: ['chrome100', 'firefox100', 'safari15'], charset: 'ascii',
  });
  return result.outputFiles[0].text;
}

/** Every licence text once, below the packages that it is of. */
async function licences(inputs) {
  const names = new Set(inputs.map((file) => /node_modules\/((?:@[^/]+\/)?[^/]+)\//.exec(file)?.[1]));
  names.delete(undefined);
  const byText = new Map();
  for (const name of [...names].sort()) {
    const directory = path.join(here, 'node_modules', name);
    const { version } = JSON.parse(await readFile(path.join(directory, 'package.json'), 'utf8'));
    const file = (await readdir(directory)).find((one) => /^licen[cs]e/i.test(one));
    if (file === undefined) throw new Error(`${name} comes without its licence`);
    const text = (await readFile(path.join(directory, file), 'utf8')).trim();
    byText.set(text, [...(byText.get(text) ?? []), `${name} ${version}`]);
  }
  return [...byText].map(([text, packages]) => `${packages.join(', ')}\n\n${text}`).join('\n\n\n');
}

/** As text of a page; ASCII, so that no compiler needs to know how the header is encoded. */
function escapeHtml(text) {
  return text.replaceAll('&', '&amp;').replaceAll('<', '&lt;');
}

function toAscii(html) {
  return html.replace(/[^\0-\x7f]/gu, (letter) => `&#x${letter.codePointAt(0).toString(16)};`);
}

/** What stands before the report, between it and the report it is compared with, and after both. */
async function page() {
  const { script, inputs } = await bundle();
  if (/<\/script|<!--/i.test(script)) throw new Error('the script holds what would end it');
  const html = toAscii((await readFile(path.join(here, 'src/page.html'), 'utf8')).replace(/\n\s+/g, '\n'));
  const [start, middle, end] = html.split(/<!--(?:REPORT|BASE)-->/);
  const style = await styles();
  const licence = toAscii(escapeHtml(await licences(inputs)));
  return {
    Start: start.replace('/*STYLE*/', () => style.trim()).replace('/*LICENCES*/', () => licence),
    Middle: middle,
    End: end.replace('/*SCRIPT*/', () => script.trim()),
  };
}

function literals(text) {
  if (text.includes(')html"')) throw new Error('the page holds what ends a literal');
  const pieces = [];
  for (let i = 0; i < text.length; i += LONGEST_LITERAL) {
    pieces.push(`    R"html(${text.slice(i, i + LONGEST_LITERAL)})html"`);
  }
  return pieces.join(',\n');
}

const COMMENTS = {
  Start: 'What stands before the report.',
  Middle: 'Between it and the report that it is compared with.',
  End: 'After both.',
};

async function headerText() {
  const arrays = Object.entries(await page()).map(([name, text]) => `/// ${COMMENTS[name]}
inline constexpr std::string_view kHtmlPage${name}[] = {
${literals(text)}};
`);
  return `/// The page that HtmlDump writes, in pieces: some compilers take no long literals. Made by
/// assets/html_report/build.mjs from what stands beside it: do not edit. Licences are in the page.
#pragma once

#include <string_view>

// clang-format off
namespace alloctap {

${arrays.join('\n')}
}  // namespace alloctap
`;
}

await writeFile(process.argv[2] ?? header, await headerText());
