import { AppError } from '../../base/errors.ts'
import { isOthersDoing } from '../git/outlast-others.ts'

export interface Refused {
  why: string
  remedy: string
  /** Another git was at work in the same moment: nobody has to do anything, it only has to be tried again. */
  passes?: boolean
}

/** No worktree, and what to do about it. */
export function refusal(of: { task: string; project: string }, { why, remedy, passes }: Refused): AppError {
  return new AppError(passes ? 'place_busy' : 'place_refused', { task: of.task, project: of.project, why, remedy })
}

/** What git's words mean for a person. */
export function meaningOf(stderr: string): Refused {
  const remedy = REMEDIES.find(([words]) => words.test(stderr))?.[1] ?? 'Mend what git says, then try again.'
  return { why: told(stderr), remedy, passes: isOthersDoing(stderr) }
}

const REMEDIES: [RegExp, string][] = [
  [
    /No space left|Disk quota|File too large/i,
    'Make room on that disk, or name another one: pcc config set worktrees.directory PATH',
  ],
  [
    /Permission denied|Read-only file system|insufficient permission/i,
    'Correct its permissions, or name another directory: pcc config set worktrees.directory PATH',
  ],
  [
    /'refs\/heads\/pcc' exists/,
    'Git cannot have branches pcc/… beside a branch "pcc". Rename it: git branch -m pcc OTHER-NAME',
  ],
  [/dubious ownership/, 'If you trust that repository: git config --global --add safe.directory PATH'],
  [
    /already (checked out|used by worktree)/,
    'Check another branch out there, or remove that worktree: git worktree remove PATH',
  ],
  [
    /\.lock\b|could not lock|another git process/i,
    'Wait until the other git is done; if there is none, delete the lock file that is named.',
  ],
  [/\bworktrees\//, 'Another git was at work in the same repository: try again.'],
]

/** What git says is wrong, on one line. */
export function told(stderr: string): string {
  const lines = stderr
    .trim()
    .split('\n')
    .filter(line => !line.startsWith('hint:'))
  return (lines.findLast(line => /^(fatal|error):/.test(line)) ?? lines.at(-1) ?? 'git failed').replace(/^\w+: /, '')
}
