import { count, oneOf, path, type Setting, text, texts } from '../../setting.ts'

/** Where the tasks of a run work. */
export const WORKTREE_SETTINGS = {
  'worktrees.mode': oneOf(['auto', 'off'], {
    standard: 'auto',
    about:
      'Give every task of a run a worktree of its own where there is git; "off" lets them work in the project itself',
    project: 'trusted',
    inForce: true,
  }),
  'worktrees.directory': path<string | undefined>({
    standard: undefined,
    about: 'Where worktrees are made; unset: the folder "worktrees" beside the config file',
    project: 'never',
    inForce: true,
  }),
  'worktrees.setup': text({
    standard: undefined,
    about: 'Command that makes a fresh worktree ready, such as "npm ci"',
    project: 'trusted',
    inForce: true,
  }),
  'worktrees.setup_seconds': count(1, {
    standard: 600,
    about: 'Seconds after which the set-up command is ended',
    project: 'trusted',
    inForce: true,
  }),
  'worktrees.link': texts(
    {
      standard: [],
      about:
        'Dependency directories that a worktree gets a copy of; empty: those that are found (node_modules, .venv …)',
      project: 'trusted',
      inForce: true,
    },
    /^(?!\/)(?!.*(^|\/)\.\.?(\/|$))./s,
    'paths within the project',
  ),
  'worktrees.keep_days': count(1, {
    standard: 14,
    about: 'Days for which a worktree that nobody works in, and what was archived of one, is kept',
    project: 'never',
    inForce: true,
  }),
} as const satisfies Record<string, Setting>
