import type { AgentManifest } from '../../domain/agents/manifest.ts'
import { claudeManifest } from './claude.ts'

/** The interactive Claude Code in a window of tmux (`--host tmux`): the same program, known by its hooks and its own files. */
export const claudeTmuxManifest: AgentManifest = {
  ...claudeManifest,
  name: 'Claude Code in tmux',
  host: 'tmux',
  heldBy: 'hooks that see every call in every mode, ask the daemon and refuse where it is away',
  limits: 'as Claude Code writes them down, with window and reset; how full each window is by its status line',
  ownTools: { over: 'mcp', named: 'settings', called: 'mcp__{server}__{tool}' },
  departs: {
    subagent: 'no-words',
    'failure.retries': 'untold',
    'park.call': 'gone',
    'park.question': 'gone',
    'park.batch': 'gone',
    warm: 'none',
  },
  quirks: [
    'A pasted prompt that begins with "!" would be run as a command, one with "/" as a command of Claude Code: words are put before it.',
    'PermissionRequest does not say which call it is about: it is found by tool and input.',
    'No hook tells of a turn that was interrupted: the state file does.',
  ],
}
