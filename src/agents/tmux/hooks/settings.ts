import { fileURLToPath } from 'node:url'
import { shellWord } from '../../../base/shell-word.ts'
import type { OpenSession } from '../../../domain/session.ts'

/** Works from src and from dist alike. */
const BIN = fileURLToPath(new URL('../../../../bin/pcc.js', import.meta.url))

/** Events that decide about a call: whatever goes wrong with their hook, the call does not run. */
const GATES = ['PreToolUse', 'PermissionRequest', 'ConfigChange'] as const
/** Events that tell how far it is. */
const NEWS = ['SessionStart', 'UserPromptSubmit', 'PostToolBatch', 'Stop', 'StopFailure', 'PreCompact', 'PostCompact']

/** Longer than the ask's own deadline, so that our reason reaches the agent and not the vendor's. */
const MARGIN_S = 30
const NEWS_S = 30

interface HookSettings {
  /** Folder of the session. */
  seat: string
  askDeadlineMs: number
  /** Variables that count over those of every settings file. */
  env: Record<string, string>
}

/**
 * The settings of the command line, which win over those of every file. One hook without a matcher sees every call, in every
 * permission mode. No hook of a settings file is switched off by a flag here, because ours would be too: where the project may
 * bring one that changes calls, its settings are not loaded at all (`sourcesFor`).
 */
export function settingsFor({ seat, askDeadlineMs, env }: HookSettings): Record<string, unknown> {
  const words = [process.execPath, BIN, 'hook', 'claude', 'StatusLine', '--seat', seat]
  const hook = (event: string, more: Record<string, unknown>) => [
    {
      hooks: [
        { type: 'command', command: process.execPath, args: [BIN, 'hook', 'claude', event, '--seat', seat], ...more },
      ],
    },
  ]
  const gates = GATES.map(event => [
    event,
    hook(event, { timeout: Math.ceil(askDeadlineMs / 1000) + MARGIN_S, onFailure: 'block' }),
  ])
  const news = NEWS.map(event => [event, hook(event, { timeout: NEWS_S })])
  return {
    disableAllHooks: false,
    disableSkillShellExecution: true,
    env,
    // It tells the cost, which nothing else does before the end; and whoever looks sees who judges.
    statusLine: { type: 'command', command: words.map(shellWord).join(' ') },
    hooks: Object.fromEntries([...gates, ...news]),
  }
}

/** Which settings files are loaded. */
export function sourcesFor({ settingSources, hooksOff }: OpenSession): OpenSession['settingSources'] {
  return hooksOff ? settingSources.filter(source => source === 'user') : settingSources
}
