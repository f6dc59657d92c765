// What can be shown of a stack: the columns of the table, and the widths in the flame graph.
import { bytes, count } from './units.js';

/** Whether a report has these numbers. */
export function isIn(json, { of }) {
  return of === 'stacks' || (of === 'leaks' ? Boolean(json.leaks) : json[of]?.stacks.length > 0);
}

export const METRICS = [
  {
    key: 'live_bytes', name: 'Live bytes', show: bytes, of: 'stacks', field: 'live_bytes',
    meaning: 'bytes that were allocated and not yet freed when the report was taken',
  },
  {
    key: 'live_allocations', name: 'Live blocks', show: count, of: 'stacks',
    field: 'live_allocations',
    meaning: 'blocks that were allocated and not yet freed when the report was taken',
  },
  {
    key: 'leaked_bytes', name: 'Leaks', show: bytes, of: 'leaks', field: 'live_bytes',
    meaning: 'live bytes that no suppression names, or of those the unreachable ones if they were told',
  },
  {
    key: 'peak_bytes', name: 'At the peak', show: bytes, of: 'peak', field: 'live_bytes',
    meaning: 'bytes that were live when the program held most (within 1 %)',
  },
  {
    key: 'allocations', name: 'Allocations', show: count, of: 'stacks', field: 'allocations',
    meaning: 'calls that handed out a block since the start, freed or not',
  },
  {
    key: 'allocated_bytes', name: 'Allocated bytes', show: bytes, of: 'stacks',
    field: 'allocated_bytes',
    meaning: 'bytes of all allocations since the start, freed or not',
  },
  {
    key: 'temporary_allocations', name: 'Temporary', show: count, of: 'stacks',
    field: 'temporary_allocations',
    meaning: 'allocations that were freed before their thread allocated again: often avoidable',
  },
  {
    key: 'mapped_bytes', name: 'Mapped', show: bytes, of: 'mappings', field: 'live_bytes',
    meaning: 'address space that the program mapped itself (mmap); not part of the other numbers',
  },
];
