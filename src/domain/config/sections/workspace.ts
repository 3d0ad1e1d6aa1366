import { GATE_PROFILES, MERGE_STRATEGIES } from '../../option-values.ts'
import {
  count,
  laterOf,
  lowerLimit,
  lowerOf,
  oneOf,
  onlyTo,
  optionalPath,
  type Setting,
  text,
  texts,
  unionOf,
  word,
} from '../setting.ts'

/** Where the tasks of a run work. */
export const WORKTREE_SETTINGS = {
  'worktrees.mode': oneOf(['auto', 'off'], {
    standard: 'auto',
    about:
      'Give every task of a run a worktree of its own where there is git; "off" lets them work in the project itself',
    project: 'trusted',
  }),
  'worktrees.directory': optionalPath({
    standard: undefined,
    about: 'Folder of the worktrees; unset: "worktrees" beside the config file',
    project: 'never',
  }),
  'worktrees.setup': text({
    standard: undefined,
    about: 'Command that makes a fresh worktree ready, such as "npm ci"',
    project: 'trusted',
  }),
  'worktrees.setup_seconds': count(1, {
    standard: 600,
    about: 'Most seconds that the set-up command may take',
    project: 'trusted',
  }),
  'worktrees.link': texts(
    {
      standard: [],
      about:
        'Dependency directories that are copied into a worktree; empty: those that are found (node_modules, .venv …)',
      project: 'trusted',
    },
    /^(?!\/)(?!.*(^|\/)\.\.?(\/|$))./s,
    'paths within the project',
  ),
  'worktrees.keep_days': count(1, {
    standard: 14,
    about: 'Days for which unused worktrees, and their archives, are kept',
    project: 'never',
  }),
} as const satisfies Record<string, Setting>

const KNOWN_FAILURES = ['allow', 'block'] as const
const UNPROVEN = ['allow', 'ask'] as const
const VERIFIER = ['off', 'auto', 'on'] as const

const command = (what: string): Setting<string | undefined> =>
  text({ standard: undefined, about: `Command that ${what}`, project: 'trusted' })

/** A project that may run commands may also say what they need. */
const cap = (standard: number, about: string) => ({ standard, about, project: 'trusted' }) as const

/** What is checked before a task is done. Commands run code of the project, so they apply only after `pcc trust`. */
export const GATE_SETTINGS = {
  'gates.profile': oneOf(GATE_PROFILES, {
    standard: 'standard',
    about: 'How much is checked before a task is done',
    project: 'tighten',
    tighten: laterOf(GATE_PROFILES),
  }),
  'gates.build': command('builds the project; run by `sh`, in the project'),
  'gates.typecheck': command('checks types'),
  'gates.lint': command('checks the style, without fixing anything'),
  'gates.test': command('runs the tests'),
  'gates.timeout_seconds': count(1, {
    standard: 900,
    about: 'Most seconds that one gate command may take',
    project: 'tighten',
    tighten: lowerOf,
  }),
  'gates.max_memory_mb': count(
    0,
    cap(
      0,
      "Most memory of a gate or set-up command with all that it starts, in MB; 0: three quarters of the machine's",
    ),
  ),
  'gates.max_processes': count(10, cap(1_000, 'Most processes that a gate or set-up command may have at once')),
  'gates.max_written_mb': count(
    1,
    cap(20_000, 'Most that a gate or set-up command may write to disks, in MB; also about the length of one file'),
  ),
  'gates.max_output_mb': count(1, cap(2_000, 'Most that a gate or set-up command may print, in MB')),
  'gates.rounds': count(0, {
    standard: 3,
    about: 'How often failed checks are sent back to the agent in the same conversation',
    project: 'tighten',
    tighten: lowerOf,
  }),
  'gates.known_failures': oneOf(KNOWN_FAILURES, {
    standard: 'block',
    about: 'Whether tests that failed before the work began block it too, or only new failures do',
    project: 'tighten',
    tighten: laterOf(KNOWN_FAILURES),
  }),
  'gates.unproven': oneOf(UNPROVEN, {
    standard: 'ask',
    about: 'Whether work that nothing proves waits for a person, or is merged and counts as done (unverified)',
    project: 'tighten',
    tighten: laterOf(UNPROVEN),
  }),
  'gates.env': texts(
    {
      standard: [],
      about: 'Variables that gate commands see besides the usual few; keys of model vendors never',
      project: 'trusted',
    },
    /^[A-Za-z_][A-Za-z0-9_]*$/,
    'names of variables',
  ),
  'gates.verifier': oneOf(VERIFIER, {
    standard: 'auto',
    about: 'Whether a second, read-only agent reviews the work: as the profile says, always, or never',
    project: 'tighten',
    tighten: laterOf(VERIFIER),
  }),
  'gates.second_opinion': word({
    standard: 'off',
    about: 'Another agent that reviews the work too and must accept it: off, or an agent as for `agent.command`',
    project: 'trusted',
  }),
} as const satisfies Record<string, Setting>

/** What the gates check in the changes themselves. A project may ask for more; less applies only after `pcc trust`. */
export const GATE_DIFF_SETTINGS = {
  'gates.max_changed_lines': count(0, {
    standard: 5_000,
    about: 'Most lines that one task may add and remove, without generated files; 0 for no limit',
    project: 'tighten',
    tighten: lowerLimit,
  }),
  'gates.forbidden_paths': texts(
    {
      standard: [],
      about: 'Files that no task may change: names, folders (`migrations/`) or patterns (`deploy/**`)',
      project: 'tighten',
      tighten: unionOf,
    },
    /^[^\0]{1,300}$/,
    'patterns of paths',
  ),
  'gates.allow': texts(
    {
      standard: [],
      about: 'Findings that do not block: a code (`path.ci`), or a code with files (`test.skipped:test/old/**`)',
      project: 'trusted',
    },
    /^[a-z]+\.[a-z_-]+(:[^\0]{1,300})?$/,
    'codes of findings, each alone or with `:` and a pattern of paths',
  ),
} as const satisfies Record<string, Setting>

/** How verified work reaches its target branch. */
export const MERGE_SETTINGS = {
  'merge.strategy': oneOf(MERGE_STRATEGIES, {
    standard: 'rebase',
    about: 'How verified work is put onto its target: its commits rebased, a merge commit, or all of it as one commit',
    project: 'trusted',
  }),
  'merge.target': text({
    standard: undefined,
    about: 'The branch that work is merged into; unset: the one that is checked out in the project when a task begins',
    project: 'trusted',
  }),
  'merge.mode': oneOf(['auto', 'pr', 'off'], {
    standard: 'auto',
    about: 'Merge automatically, push and open a pull request with `gh`, or leave the work on its branch',
    project: 'trusted',
  }),
  'merge.batch': count(1, {
    standard: 4,
    about: 'Most tasks that are verified and merged together; 1: each alone',
    project: 'trusted',
  }),
  'merge.review': oneOf(['off', 'required'], {
    standard: 'off',
    about: 'Whether a person has to approve work before it is merged',
    project: 'tighten',
    tighten: onlyTo('required'),
  }),
} as const satisfies Record<string, Setting>
