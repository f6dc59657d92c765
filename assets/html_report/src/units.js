// Numbers as people read them.
import { format } from 'd3-format';

const groups = format(',d');
const UNITS = ['KiB', 'MiB', 'GiB', 'TiB', 'PiB', 'EiB'];

/** 1536 -> "1.5 KiB"; three digits or four, powers of 1024. */
export function bytes(number) {
  const size = Math.abs(number);
  if (size < 1024) return `${groups(number)} B`;
  let unit = -1;
  let scaled = number;
  do {
    scaled /= 1024;
    ++unit;
  } while (Math.abs(scaled) >= 1023.95 && unit + 1 < UNITS.length);
  const digits = Math.abs(scaled) < 9.995 ? 2 : Math.abs(scaled) < 99.95 ? 1 : 0;
  return `${scaled.toFixed(digits)} ${UNITS[unit]}`;
}

/** 1234567 -> "1,234,567". */
export function count(number) {
  return groups(number);
}

/** A part of a whole: "12.3 %". */
export function percent(part, whole) {
  if (!whole) return '–';
  const share = (100 * part) / whole;
  return `${share > 0 && share < 0.05 ? '< 0.1' : share.toFixed(1)} %`;
}

/** `text` with a sign, for differences. */
export function signed(show) {
  return (number) => (number > 0 ? `+${show(number)}` : number < 0 ? `−${show(-number)}` : show(0));
}

/** Nanoseconds since the Unix epoch as a date and time in UTC. */
export function moment(nanoseconds) {
  return `${new Date(nanoseconds / 1e6).toISOString().replace('T', ' ').slice(0, 19)} UTC`;
}

/** 1234567 nanoseconds -> "1.23 ms". */
export function duration(ns) {
  if (ns === 0) return '0';
  if (ns >= 1e9) return seconds(ns / 1e9);
  if (ns < 1e3) return `${ns} ns`;
  return ns < 999.5e3 ? `${Number((ns / 1e3).toPrecision(3))} µs` : `${Number((ns / 1e6).toPrecision(3))} ms`;
}

/** At most three digits. */
export function seconds(number) {
  if (number < 120) return `${Number(number.toPrecision(3))} s`;
  return number < 7200 ? `${(number / 60).toFixed(1)} min` : `${(number / 3600).toFixed(1)} h`;
}
