import { count, type Setting, texts } from '../../setting.ts'
import { joined } from '../tighten.ts'

/** 0 is no bound at all. */
const fewerLines = (held: number, proposed: number) =>
  held === 0 ? proposed : proposed === 0 ? held : Math.min(held, proposed)

/** What the gates look for in the changes themselves. A project may ask for more; less counts after `pcc trust`. */
export const GATE_DIFF_SETTINGS = {
  'gates.max_changed_lines': count(0, {
    standard: 5_000,
    about: 'Most lines that one task may add and remove, generated files aside; 0 for no bound',
    project: 'tighten',
    tighten: fewerLines,
    inForce: true,
  }),
  'gates.forbidden_paths': texts(
    {
      standard: [],
      about: 'Files that no task may change: names, folders (`migrations/`) or patterns (`deploy/**`)',
      project: 'tighten',
      tighten: joined,
      inForce: true,
    },
    /^[^\0]{1,300}$/,
    'patterns of paths',
  ),
  'gates.allow': texts(
    {
      standard: [],
      about:
        'Findings that do not stand in the way: a code (`path.ci`), or one with files (`test.skipped:test/old/**`)',
      project: 'trusted',
      inForce: true,
    },
    /^[a-z]+\.[a-z-]+(:[^\0]{1,300})?$/,
    'codes of findings, each alone or with `:` and a pattern of paths',
  ),
} as const satisfies Record<string, Setting>
